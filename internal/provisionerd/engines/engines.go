// Package engines creates the engines that a provisioner on this machine runs.
package engines

import (
	"fmt"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/terraform"
)

// New returns an engine for each name: terraform, configured by c, or echo.
func New(names []string, c terraform.Config) (map[string]provisioner.Engine, error) {
	engines := map[string]provisioner.Engine{}
	for _, name := range names {
		switch name {
		case "terraform":
			e, err := terraform.New(c)
			if err != nil {
				return nil, fmt.Errorf("set up Terraform: %w", err)
			}
			engines[name] = e
		case "echo":
			engines[name] = echo.New()
		default:
			return nil, codersdk.Errorf(codersdk.CodeInvalid, "unknown provisioner type %q; use terraform or echo", name)
		}
	}
	return engines, nil
}
