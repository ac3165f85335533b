package operator_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
)

// hold is a build that goes on when the test says so.
type hold struct {
	begun, end chan struct{}
}

// held is the engine of a town's provisioners. The next plan that begins is
// the one that is held, if one is to be.
type held struct {
	echo.Engine
	w *town
}

func (h held) Open(ctx context.Context, c *provisioner.Config, log func(*provisioner.Log)) (provisioner.Session, error) {
	s, err := h.Engine.Open(ctx, c, log)
	return heldSession{s, h.w}, err
}

type heldSession struct {
	provisioner.Session
	w *town
}

func (s heldSession) Plan(ctx context.Context, r *provisioner.PlanRequest) (*provisioner.PlanComplete, error) {
	if h := s.w.next.Swap(nil); h != nil {
		close(h.begun)
		select {
		case <-h.end:
		case <-ctx.Done():
		}
	}
	return s.Session.Plan(ctx, r)
}

// longJob has a job of tags run until it is released.
func (w *town) longJob(t *testing.T, tags map[string]string) (v codersdk.TemplateVersion, release func()) {
	t.Helper()
	h := &hold{begun: make(chan struct{}), end: make(chan struct{})}
	release = sync.OnceFunc(func() { close(h.end) })
	t.Cleanup(release)
	w.next.Store(h)
	v = w.job(t, tags, `{"log":{"output":"x"}}`)
	select {
	case <-h.begun:
	case <-time.After(wait):
		t.Fatal("nobody runs the job of the tags ", tags)
	}
	return v, release
}
