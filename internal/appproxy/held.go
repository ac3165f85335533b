package appproxy

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
)

// held has the WebSocket of somebody who is signed in end soon after they may
// no longer open the app. The caller calls end when it has ended.
func (p *Proxy) held(r *http.Request, v *visit) (held *http.Request, end func()) {
	if r.Header.Get("Upgrade") == "" || v.user == uuid.Nil {
		return r, func() {}
	}
	ctx, end := p.c.Identity.Hold(r.Context(), access.Subject{UserID: v.user}, func(ctx context.Context, now access.Subject) error {
		t, err := p.c.Apps.Find(ctx, v.name)
		if err == nil && !t.Allows(now, v.method, p.c.Rules) {
			err = hidden(now)
		}
		return err
	}, notify.Sharing(v.target.WorkspaceID))
	return r.WithContext(ctx), end
}
