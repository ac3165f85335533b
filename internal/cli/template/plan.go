package template

import (
	"fmt"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// showPlan says what a workspace of a version would be made of.
func showPlan(a *app.Run, all []coder.WorkspaceResource) error {
	p := a.Painter(a.Stdout)
	var rows [][]string
	for _, r := range all {
		if r.WorkspaceTransition == coder.WorkspaceTransitionStop || r.Hide {
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
		_, err := fmt.Fprintln(a.Stdout, "A workspace would be made of no resources.")
		return err
	}
	fmt.Fprintln(a.Stdout, "A workspace would be made of:")
	return terminal.Table(a.Stdout, p, []string{"RESOURCE", "ON STOP", "APPS"}, rows)
}

// inStop says whether r survives a stop.
func inStop(all []coder.WorkspaceResource, r coder.WorkspaceResource) bool {
	for _, o := range all {
		if o.WorkspaceTransition == coder.WorkspaceTransitionStop && o.Type == r.Type && o.Name == r.Name {
			return true
		}
	}
	return false
}

func appNames(agent coder.WorkspaceAgent) string {
	var names []string
	for _, app := range agent.Apps {
		names = append(names, app.Slug)
	}
	return strings.Join(names, ",")
}
