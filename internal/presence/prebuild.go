package presence

import (
	"context"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
)

// claimPoll is how often it is looked without a hint whether a workspace was
// claimed.
const claimPoll = 30 * time.Second

// AwaitClaim waits until somebody has claimed the workspace that was built ahead
// for an agent, and it is built for them. alive is called now and then while it
// waits; its error ends that. CodeConflict is a workspace that was not built
// ahead, or that is its owner's already. (WS-20)
func (s *Service) AwaitClaim(ctx context.Context, a Agent, alive func() error) error {
	changes, done := s.hub.Subscribe(notify.Workspace(a.WorkspaceID))
	defer done()
	tick := time.NewTicker(claimPoll)
	defer tick.Stop()
	for {
		now, err := s.store.PrebuildOfAgent(ctx, a.BuildID)
		switch {
		case err != nil:
			return err
		case !now.Prebuilt:
			return coder.Errorf(coder.CodeConflict, "This workspace was not built ahead: there is nothing to wait for")
		case now.Claimed:
			return nil
		}
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
