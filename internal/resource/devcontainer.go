package resource

import (
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisioner"
)

// devcontainers gives the dev containers that a template declares for an agent,
// with what it gives the agents in them.
func devcontainers(a *provisioner.Agent) []coder.DeclaredDevcontainer {
	out := []coder.DeclaredDevcontainer{}
	for _, d := range a.Devcontainers {
		one := coder.DeclaredDevcontainer{ID: uuid.New(), Name: d.Name, WorkspaceFolder: d.WorkspaceFolder, ConfigPath: d.ConfigPath}
		for _, p := range d.Apps {
			one.Apps = append(one.Apps, coder.WorkspaceApp{
				Slug: p.Slug, DisplayName: p.DisplayName, Icon: p.Icon, Command: p.Command, URL: p.Url, External: p.External, Subdomain: p.Subdomain,
				SharingLevel: coder.WorkspaceAppSharingLevel(sharingLevel(p.SharingLevel)), OpenIn: coder.WorkspaceAppOpenIn(openIn(p.OpenIn)),
				Group: p.Group, Tooltip: p.Tooltip, Hidden: p.Hidden, Statuses: []coder.WorkspaceAppStatus{},
				Healthcheck: coder.Healthcheck{URL: p.GetHealthcheck().GetUrl(), Interval: p.GetHealthcheck().GetInterval(), Threshold: p.GetHealthcheck().GetThreshold()},
			})
		}
		for _, s := range d.Scripts {
			one.Scripts = append(one.Scripts, newScript(s))
		}
		for _, e := range d.Envs {
			if one.Environment == nil {
				one.Environment = map[string]string{}
			}
			one.Environment[e.Name] = e.Value
		}
		out = append(out, one)
	}
	return out
}
