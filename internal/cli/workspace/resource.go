package workspace

import (
	"fmt"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// showResources prints the resources of a workspace and the state of its
// agents.
func showResources(a *command.Run, w codersdk.Workspace, details bool) error {
	p := a.Painter(a.Stdout)
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
			if agentCount(w) > 1 || agent.ParentID != nil {
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
		_, err := fmt.Fprintln(a.Stdout, "The workspace has no resources.")
		return err
	}
	return terminal.Table(a.Stdout, p, []string{"RESOURCE", "STATUS", "ACCESS"}, rows)
}

// agentCount counts the agents of a build, without those of dev containers.
func agentCount(w codersdk.Workspace) int {
	n := 0
	for _, r := range w.LatestBuild.Resources {
		for _, agent := range r.Agents {
			if agent.ParentID == nil {
				n++
			}
		}
	}
	return n
}

// agentState returns the connection status of an agent, and its lifecycle state
// unless that is ready.
func agentState(agent codersdk.WorkspaceAgent) string {
	s := string(agent.Status)
	if agent.Status == codersdk.WorkspaceAgentStatusConnected && agent.LifecycleState != codersdk.WorkspaceAgentLifecycleReady {
		s += ", " + strings.ReplaceAll(string(agent.LifecycleState), "_", " ")
	}
	if agent.Version != "" {
		s += " (" + agent.Version + ")"
	}
	return s
}
