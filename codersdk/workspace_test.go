package codersdk_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func TestNewWorkspaceStatus(t *testing.T) {
	const (
		start  = codersdk.WorkspaceTransitionStart
		stop   = codersdk.WorkspaceTransitionStop
		remove = codersdk.WorkspaceTransitionDelete
	)
	for _, c := range []struct {
		job                       codersdk.ProvisionerJobStatus
		onStart, onStop, onDelete codersdk.WorkspaceStatus
	}{
		{codersdk.ProvisionerJobStatusPending, "pending", "pending", "pending"},
		{codersdk.ProvisionerJobStatusRunning, "starting", "stopping", "deleting"},
		{codersdk.ProvisionerJobStatusSucceeded, "running", "stopped", "deleted"},
		{codersdk.ProvisionerJobStatusCanceling, "canceling", "canceling", "canceling"},
		{codersdk.ProvisionerJobStatusCanceled, "canceled", "canceled", "canceled"},
		{codersdk.ProvisionerJobStatusFailed, "failed", "failed", "failed"},
		{codersdk.ProvisionerJobStatusUnknown, "failed", "failed", "failed"},
	} {
		for transition, want := range map[codersdk.WorkspaceTransition]codersdk.WorkspaceStatus{start: c.onStart, stop: c.onStop, remove: c.onDelete} {
			if got := codersdk.NewWorkspaceStatus(transition, c.job); got != want {
				t.Errorf("%s whose job is %s: %s, want %s", transition, c.job, got, want)
			}
		}
	}
}

func TestNewWorkspaceHealth(t *testing.T) {
	well := codersdk.WorkspaceAgent{ID: uuid.New(), Health: codersdk.WorkspaceAgentHealth{Healthy: true}}
	ill := codersdk.WorkspaceAgent{ID: uuid.New()}
	if h := codersdk.NewWorkspaceHealth(nil); !h.Healthy || h.FailingAgents == nil {
		t.Errorf("without agents: %+v", h)
	}
	h := codersdk.NewWorkspaceHealth([]codersdk.WorkspaceResource{{Agents: []codersdk.WorkspaceAgent{well}}, {Agents: []codersdk.WorkspaceAgent{ill}}})
	if h.Healthy || len(h.FailingAgents) != 1 || h.FailingAgents[0] != ill.ID.String() {
		t.Errorf("with one of two agents ill: %+v", h)
	}
	inner := codersdk.WorkspaceAgent{ID: uuid.New(), ParentID: &well.ID}
	if h := codersdk.NewWorkspaceHealth([]codersdk.WorkspaceResource{{Agents: []codersdk.WorkspaceAgent{well, inner}}}); !h.Healthy {
		t.Errorf("with an ill one in a dev container: %+v", h)
	}
}
