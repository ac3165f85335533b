package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
)

// Watch calls each with the workspace as JSON, at once and after every change, until ctx
// ends, each fails, or the actor can no longer see it. Changes in quick succession cause
// one call. Lost hints delay a call but do not lose a change. (WS-24)
func (s *Service) Watch(ctx context.Context, actor access.Subject, id uuid.UUID, each func(json.RawMessage) error) error {
	hints, unsubscribe := s.Hub.Subscribe(notify.Workspace(id))
	defer unsubscribe()
	poll := time.NewTicker(s.WatchPoll)
	defer poll.Stop()
	var last []byte
	for {
		w, err := s.Workspace(ctx, actor, id, true)
		if err != nil {
			return err
		}
		next, err := json.Marshal(w)
		if err != nil {
			return err
		}
		if !bytes.Equal(next, last) {
			last = next
			if err := each(next); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-hints:
		case <-poll.C:
		}
	}
}

// CheckRead checks that the actor can read a workspace, before a watch starts.
func (s *Service) CheckRead(ctx context.Context, actor access.Subject, id uuid.UUID) error {
	_, err := s.find(ctx, actor, codersdk.RBACActionRead, id)
	return err
}
