package template

import (
	"fmt"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// showPlan prints the resources of a workspace on that version.
func showPlan(a *command.Run, all []codersdk.WorkspaceResource) error {
	p := a.Painter(a.Stdout)
	var rows [][]string
	for _, r := range all {
		if r.WorkspaceTransition == codersdk.WorkspaceTransitionStop || r.Hide {
			continue
		}
		keeps := "persistent"
		if !inStop(all, r) {
			keeps = "ephemeral"
		}
		rows = append(rows, []string{r.Type + "." + r.Name, keeps, ""})
		for i, agent := range r.Agents {
			mark := "├─ "
			if i == len(r.Agents)-1 {
				mark = "└─ "
			}
			rows = append(rows, []string{mark + agent.Name + " (" + agent.OperatingSystem + ", " + agent.Architecture + ")", "", appNames(agent)})
		}
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "A workspace would have no resources.")
		return err
	}
	fmt.Fprintln(a.Stdout, "A workspace would have these resources:")
	return terminal.Table(a.Stdout, p, []string{"RESOURCE", "ON STOP", "APPS"}, rows)
}

// inStop reports whether r is kept when the workspace stops.
func inStop(all []codersdk.WorkspaceResource, r codersdk.WorkspaceResource) bool {
	for _, o := range all {
		if o.WorkspaceTransition == codersdk.WorkspaceTransitionStop && o.Type == r.Type && o.Name == r.Name {
			return true
		}
	}
	return false
}

func appNames(agent codersdk.WorkspaceAgent) string {
	var names []string
	for _, app := range agent.Apps {
		names = append(names, app.Slug)
	}
	return strings.Join(names, ",")
}
