package cli

import (
	"fmt"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// showPlan says what a workspace of a version would be made of.
func (a *app) showPlan(all []coder.WorkspaceResource) error {
	p := a.painter(a.stdout)
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
		_, err := fmt.Fprintln(a.stdout, "A workspace would be made of no resources.")
		return err
	}
	fmt.Fprintln(a.stdout, "A workspace would be made of:")
	return terminal.Table(a.stdout, p, []string{"RESOURCE", "ON STOP", "APPS"}, rows)
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

// showResources shows what a workspace is made of now, and how its agents are.
func (a *app) showResources(w coder.Workspace, details bool) error {
	p := a.painter(a.stdout)
	var rows [][]string
	for _, r := range w.LatestBuild.Resources {
		if r.Hide && !details {
			continue
		}
		rows = append(rows, []string{r.Type + "." + r.Name, "", ""})
		for i, agent := range r.Agents {
			mark := "├─ "
			if i == len(r.Agents)-1 && !details {
				mark = "└─ "
			}
			access := "coder ssh " + w.Name
			if agentCount(w) > 1 {
				access += "." + agent.Name
			}
			rows = append(rows, []string{mark + agent.Name, agentState(agent), access})
			if !agent.Health.Healthy && agent.Health.Reason != "" {
				rows = append(rows, []string{"   " + agent.Health.Reason, "", ""})
			}
		}
		if !details {
			continue
		}
		for _, m := range r.Metadata {
			value := m.Value
			if m.Sensitive {
				value = "(secret)"
			}
			rows = append(rows, []string{"   " + m.Key, value, ""})
		}
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(a.stdout, "There are no resources.")
		return err
	}
	return terminal.Table(a.stdout, p, []string{"RESOURCE", "STATUS", "ACCESS"}, rows)
}

func agentCount(w coder.Workspace) int {
	n := 0
	for _, r := range w.LatestBuild.Resources {
		n += len(r.Agents)
	}
	return n
}

// agentState is whether an agent is there, and how far its start has come
// unless it is ready.
func agentState(agent coder.WorkspaceAgent) string {
	s := string(agent.Status)
	if agent.Status == coder.WorkspaceAgentStatusConnected && agent.LifecycleState != coder.WorkspaceAgentLifecycleReady {
		s += ", " + strings.ReplaceAll(string(agent.LifecycleState), "_", " ")
	}
	if agent.Version != "" {
		s += " (" + agent.Version + ")"
	}
	return s
}
