package resource

import (
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// devcontainers returns the dev containers that a template declares for an agent, with the apps and
// scripts of the agents in them.
func devcontainers(a *provisioner.Agent) []codersdk.DeclaredDevcontainer {
	out := []codersdk.DeclaredDevcontainer{}
	for _, d := range a.Devcontainers {
		one := codersdk.DeclaredDevcontainer{ID: uuid.New(), Name: d.Name, WorkspaceFolder: d.WorkspaceFolder, ConfigPath: d.ConfigPath}
		for _, p := range d.Apps {
			one.Apps = append(one.Apps, codersdk.WorkspaceApp{
				Slug: p.Slug, DisplayName: p.DisplayName, Icon: p.Icon, Command: p.Command, URL: p.Url, External: p.External, Subdomain: p.Subdomain,
				SharingLevel: codersdk.WorkspaceAppSharingLevel(sharingLevel(p.SharingLevel)), OpenIn: codersdk.WorkspaceAppOpenIn(openIn(p.OpenIn)),
				Group: p.Group, Tooltip: p.Tooltip, Hidden: p.Hidden, Statuses: []codersdk.WorkspaceAppStatus{},
				Healthcheck: codersdk.Healthcheck{
					URL:       p.GetHealthcheck().GetUrl(),
					Interval:  p.GetHealthcheck().GetInterval(),
					Threshold: p.GetHealthcheck().GetThreshold(),
				},
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
