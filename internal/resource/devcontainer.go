package resource

import (
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisioner"
)

// devcontainers gives the dev containers that a template declares for an agent.
func devcontainers(a *provisioner.Agent) []coder.DeclaredDevcontainer {
	out := []coder.DeclaredDevcontainer{}
	for _, d := range a.Devcontainers {
		out = append(out, coder.DeclaredDevcontainer{
			ID: uuid.New(), Name: d.Name, WorkspaceFolder: d.WorkspaceFolder, ConfigPath: d.ConfigPath,
		})
	}
	return out
}
