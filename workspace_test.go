package coder_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

func TestNewWorkspaceStatus(t *testing.T) {
	const (
		start  = coder.WorkspaceTransitionStart
		stop   = coder.WorkspaceTransitionStop
		remove = coder.WorkspaceTransitionDelete
	)
	for _, c := range []struct {
		job                       coder.ProvisionerJobStatus
		onStart, onStop, onDelete coder.WorkspaceStatus
	}{
		{coder.ProvisionerJobStatusPending, "pending", "pending", "pending"},
		{coder.ProvisionerJobStatusRunning, "starting", "stopping", "deleting"},
		{coder.ProvisionerJobStatusSucceeded, "running", "stopped", "deleted"},
		{coder.ProvisionerJobStatusCanceling, "canceling", "canceling", "canceling"},
		{coder.ProvisionerJobStatusCanceled, "canceled", "canceled", "canceled"},
		{coder.ProvisionerJobStatusFailed, "failed", "failed", "failed"},
		{coder.ProvisionerJobStatusUnknown, "failed", "failed", "failed"},
	} {
		for transition, want := range map[coder.WorkspaceTransition]coder.WorkspaceStatus{start: c.onStart, stop: c.onStop, remove: c.onDelete} {
			if got := coder.NewWorkspaceStatus(transition, c.job); got != want {
				t.Errorf("%s whose job is %s: %s, want %s", transition, c.job, got, want)
			}
		}
	}
}

func TestNewWorkspaceHealth(t *testing.T) {
	well := coder.WorkspaceAgent{ID: uuid.New(), Health: coder.WorkspaceAgentHealth{Healthy: true}}
	ill := coder.WorkspaceAgent{ID: uuid.New()}
	if h := coder.NewWorkspaceHealth(nil); !h.Healthy || h.FailingAgents == nil {
		t.Errorf("without agents: %+v", h)
	}
	h := coder.NewWorkspaceHealth([]coder.WorkspaceResource{{Agents: []coder.WorkspaceAgent{well}}, {Agents: []coder.WorkspaceAgent{ill}}})
	if h.Healthy || len(h.FailingAgents) != 1 || h.FailingAgents[0] != ill.ID.String() {
		t.Errorf("with one of two agents ill: %+v", h)
	}
	inner := coder.WorkspaceAgent{ID: uuid.New(), ParentID: &well.ID}
	if h := coder.NewWorkspaceHealth([]coder.WorkspaceResource{{Agents: []coder.WorkspaceAgent{well, inner}}}); !h.Healthy {
		t.Errorf("with an ill one in a dev container: %+v", h)
	}
}
