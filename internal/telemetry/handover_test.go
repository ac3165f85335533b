package telemetry_test

import (
	"context"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

func TestHandOver(t *testing.T) {
	for name, c := range map[string]struct {
		handler func(ctx context.Context) (later func())
		during  int // calls when the handler has returned
	}{
		"an ordinary request":          {func(context.Context) func() { return func() {} }, 1},
		"a connection that lives on":   {func(ctx context.Context) func() { return telemetry.Detach(ctx) }, 0},
		"one that ends before Then is": {func(ctx context.Context) func() { telemetry.Detach(ctx)(); return func() {} }, 1},
	} {
		ctx, h := telemetry.WithHandOver(t.Context())
		later := c.handler(ctx)
		calls := 0
		h.Then(func() { calls++ })
		if calls != c.during {
			t.Errorf("%s: %d calls after the handler, want %d", name, calls, c.during)
		}
		if later(); calls != 1 {
			t.Errorf("%s: %d calls in the end", name, calls)
		}
	}
	telemetry.Detach(t.Context())() // nobody asks
}
