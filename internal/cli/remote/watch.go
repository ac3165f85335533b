package remote

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// Limits of the wait for a disconnected agent: the time since its
// disconnection, and the minimum wait for one that disconnected earlier.
const (
	goneLimit = 2 * time.Minute
	goneLeast = 5 * time.Second
)

// agentWatch watches the agent that a connection waits for, and ends the wait
// when the agent cannot be expected to connect.
type agentWatch struct {
	client   *codersdk.Client
	agent    uuid.UUID
	every    time.Duration // interval between requests
	patient  bool          // --wait=yes: wait for an agent that is not connected without limit
	hint     string        // reported while the agent is not connected; "" means none
	now      func() time.Time
	report   func(string)
	end      context.CancelCauseFunc
	reported bool
}

func (w *agentWatch) run(ctx context.Context) {
	if w.every <= 0 || w.every > 5*time.Second {
		w.every = 2 * time.Second
	}
	for began := w.now(); ; {
		agent, err := w.client.WorkspaceAgent(ctx, w.agent)
		switch {
		case codersdk.Is(err, codersdk.CodeNotFound):
			w.end(codersdk.Errorf(codersdk.CodePrecondition, "the workspace was stopped, deleted or rebuilt"))
		case err == nil:
			w.check(agent, began)
		}
		if command.Pause(ctx, w.every) != nil {
			return
		}
	}
}

// check ends the wait when the agent did not connect in time, or is
// disconnected for too long.
func (w *agentWatch) check(agent codersdk.WorkspaceAgent, began time.Time) {
	if w.hint != "" && agent.Status != codersdk.WorkspaceAgentStatusConnected {
		w.reportOnce(w.hint)
	}
	switch agent.Status {
	case codersdk.WorkspaceAgentStatusTimeout:
		at := goneSince(agent.CreatedAt, w.now())
		problem := fmt.Sprintf("agent %s did not connect within %d s of its creation at %s; check the logs of the machine it runs on",
			agent.Name, agent.ConnectionTimeoutSeconds, at)
		if w.patient {
			w.reportOnce("The " + problem + ".")
			return
		}
		w.end(troubleshooting(agent, "%s, or use --wait=yes to wait for the agent", problem))
	case codersdk.WorkspaceAgentStatusDisconnected:
		since := disconnectedSince(agent, began)
		at := goneSince(since, w.now())
		w.reportOnce(fmt.Sprintf("Agent %s is disconnected since %s; its machine may be off, restarting or without network.", agent.Name, at))
		if !w.patient && !w.now().Before(goneDeadline(since, began)) {
			w.end(troubleshooting(agent, "agent %s is disconnected since %s: its machine may be off or without network; restart the workspace "+
				"with 'coder restart', or use --wait=yes to wait for the agent", agent.Name, at))
		}
	}
}

// reportOnce shows the first of the texts about the wait.
func (w *agentWatch) reportOnce(text string) {
	if !w.reported {
		w.reported = true
		w.report(text)
	}
}

// disconnectedSince returns the time of the agent's disconnection, or began
// when the server does not know it.
func disconnectedSince(agent codersdk.WorkspaceAgent, began time.Time) time.Time {
	switch {
	case agent.DisconnectedAt != nil:
		return *agent.DisconnectedAt
	case agent.LastConnectedAt != nil:
		return *agent.LastConnectedAt
	}
	return began
}

// goneDeadline returns when to give up on an agent that is disconnected since
// since. began is the start of the wait.
func goneDeadline(since, began time.Time) time.Time {
	deadline := since.Add(goneLimit)
	if least := began.Add(goneLeast); deadline.Before(least) {
		return least
	}
	if most := began.Add(goneLimit); deadline.After(most) { // clock skew
		return most
	}
	return deadline
}

// goneSince formats a past time with its age.
func goneSince(since, now time.Time) string {
	text := command.Date(since)
	if d := now.Sub(since); d >= time.Second {
		text += " (" + terminal.Span(d) + " ago)"
	}
	return text
}

// troubleshooting returns an error about an agent, with the troubleshooting URL
// of its template.
func troubleshooting(agent codersdk.WorkspaceAgent, format string, args ...any) error {
	e := codersdk.Errorf(codersdk.CodeUnavailable, format, args...)
	if agent.TroubleshootingURL != "" {
		e.Detail = "see " + agent.TroubleshootingURL
	}
	return e
}
