package presence

import (
	"context"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
)

// claimPoll is the interval between checks for a claim without a hint.
const claimPoll = 30 * time.Second

// AwaitClaim waits until a user has claimed the prebuilt workspace of an agent: until the workspace was
// handed over, or else until the build of the claim has finished. The agent of a workspace that was
// handed over waits for the end of its build, which can change the agent's manifest. AwaitClaim calls
// alive from time to time and returns its error. CodeConflict means that the workspace is not a
// prebuilt one or was claimed and built before. (WS-20)
func (s *Service) AwaitClaim(ctx context.Context, a Agent, alive func() error) error {
	changes, done := s.hub.Subscribe(notify.Workspace(a.WorkspaceID))
	defer done()
	tick := time.NewTicker(claimPoll)
	defer tick.Stop()
	unbuilt := false // the workspace was handed over, and its build had not succeeded before
	for {
		now, err := s.store.PrebuildOfAgent(ctx, a.BuildID)
		built := err == nil && now.JobStatus == string(codersdk.ProvisionerJobStatusSucceeded)
		switch {
		case err != nil:
			return err
		case now.Claimed, unbuilt && built:
			return nil
		case !now.Prebuilt && (!now.HandedOver || built):
			return codersdk.Errorf(codersdk.CodeConflict, "This workspace is not an unclaimed prebuilt workspace")
		}
		unbuilt = now.HandedOver
		if err := alive(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changes:
		case <-tick.C:
		}
	}
}
