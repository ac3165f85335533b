package coder_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder"
)

var update = flag.Bool("update", false, "write docs/state-machines.md anew")

const machinesFile = "docs/state-machines.md"

var jobStatuses = []coder.ProvisionerJobStatus{
	coder.ProvisionerJobStatusPending, coder.ProvisionerJobStatusRunning, coder.ProvisionerJobStatusCanceling,
	coder.ProvisionerJobStatusSucceeded, coder.ProvisionerJobStatusCanceled, coder.ProvisionerJobStatusFailed,
}

var lifecycles = []coder.WorkspaceAgentLifecycle{
	coder.WorkspaceAgentLifecycleCreated, coder.WorkspaceAgentLifecycleStarting, coder.WorkspaceAgentLifecycleStartTimeout,
	coder.WorkspaceAgentLifecycleStartError, coder.WorkspaceAgentLifecycleReady, coder.WorkspaceAgentLifecycleShuttingDown,
	coder.WorkspaceAgentLifecycleShutdownTimeout, coder.WorkspaceAgentLifecycleShutdownError, coder.WorkspaceAgentLifecycleOff,
}

// TestStateMachinesAreDrawn holds the drawing to the tables.
func TestStateMachinesAreDrawn(t *testing.T) {
	want := drawing()
	if *update {
		if err := os.WriteFile(machinesFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(machinesFile)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what the tables say (%v); draw it anew with: go test -run StateMachines . -update", machinesFile, err)
	}
}

func drawing() string {
	var b strings.Builder
	b.WriteString("# State machines\n\nDrawn by `go test -run StateMachines . -update` from the tables in the root package; do not edit.\n")
	b.WriteString("\n## Job\n\nTable: `JobTransitions` in `job.go`; `internal/queue` has a test that makes each of them happen. A job's status is no column that somebody sets: the database computes it from `started_at`, `canceled_at`, `completed_at` and `error`, and refuses rows that no status describes. Whoever changes a running job proves with its fence that it still holds the job; a lease that runs out ends the holding.\n\n")
	drawJob(&b)
	b.WriteString("\n## Workspace\n\nA workspace has no state of its own: `NewWorkspaceStatus` in `workspace.go` derives it from its latest build.\n\n")
	b.WriteString("| job of the latest build | start | stop | delete |\n|---|---|---|---|\n")
	for _, j := range jobStatuses {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", j, coder.NewWorkspaceStatus(coder.WorkspaceTransitionStart, j),
			coder.NewWorkspaceStatus(coder.WorkspaceTransitionStop, j), coder.NewWorkspaceStatus(coder.WorkspaceTransitionDelete, j))
	}
	b.WriteString("\nA next build can be asked for once the job is succeeded, canceled or failed; after a delete that succeeded there is none.\n")
	b.WriteString("\n## Agent: life cycle\n\nTable: `WorkspaceAgentLifecycle.Next` in `agent.go`. The agent reports it.\n\n")
	draw(&b, lifecycles, coder.WorkspaceAgentLifecycle.Next)
	b.WriteString("\n## Agent: status\n\nNever stored: `AgentStatus` in `agent.go` derives it from times. An agent is `connecting` until it was there once, `timeout` when that takes longer than its connection timeout, then `connected` while it gives signs of life and else `disconnected`. The server that holds its connection asks for a sign of life every 10 seconds and ends a connection that has been silent for 20; every 10 seconds it tells the database, in one statement, which agents are alive. An agent of which nothing was told for 25 seconds, because its server died with it, is `disconnected` too.\n")
	return b.String()
}

// nextJob gives the states that may follow, each once.
func nextJob(s coder.ProvisionerJobStatus) []coder.ProvisionerJobStatus {
	var next []coder.ProvisionerJobStatus
	for _, t := range coder.JobTransitions() {
		if t.From == s && !slices.Contains(next, t.To) {
			next = append(next, t.To)
		}
	}
	return next
}

// drawJob prints the machine of jobs with what moves them.
func drawJob(b *strings.Builder) {
	b.WriteString("```mermaid\nstateDiagram-v2\n    [*] --> pending\n")
	for _, t := range coder.JobTransitions() {
		fmt.Fprintf(b, "    %s --> %s: %s\n", t.From, t.To, t.Event)
	}
	for _, s := range jobStatuses {
		if len(nextJob(s)) == 0 {
			fmt.Fprintf(b, "    %s --> [*]\n", s)
		}
	}
	b.WriteString("```\n")
}

// draw prints a machine, the first state its beginning.
func draw[S ~string](b *strings.Builder, states []S, next func(S) []S) {
	fmt.Fprintf(b, "```mermaid\nstateDiagram-v2\n    [*] --> %s\n", states[0])
	for _, s := range states {
		for _, n := range next(s) {
			fmt.Fprintf(b, "    %s --> %s\n", s, n)
		}
		if len(next(s)) == 0 {
			fmt.Fprintf(b, "    %s --> [*]\n", s)
		}
	}
	b.WriteString("```\n")
}

// TestEveryStateIsReached finds states that a table forgot.
func TestEveryStateIsReached(t *testing.T) {
	reached(t, jobStatuses, nextJob)
	reached(t, lifecycles, coder.WorkspaceAgentLifecycle.Next)
}

func reached[S ~string](t *testing.T, states []S, next func(S) []S) {
	t.Helper()
	seen, queue := map[S]bool{states[0]: true}, []S{states[0]}
	for len(queue) > 0 {
		for _, n := range next(queue[0]) {
			if !seen[n] {
				seen[n] = true
				queue = append(queue, n)
			}
		}
		queue = queue[1:]
	}
	for _, s := range states {
		if !seen[s] {
			t.Errorf("nothing leads to %s", s)
		}
	}
	if len(seen) != len(states) {
		t.Errorf("the table knows %d states, the list %d", len(seen), len(states))
	}
}
