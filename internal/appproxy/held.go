package appproxy

import (
	"context"
	"net/http"

	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
)

// held has a WebSocket end soon after its visitor may no longer open the app:
// their session has ended, they were suspended, or the app is not shared with
// them any more, with nobody perhaps. The caller calls end when it has ended.
func (p *Proxy) held(r *http.Request, v *visit) (held *http.Request, end func()) {
	if r.Header.Get("Upgrade") == "" {
		return r, func() {}
	}
	actor := access.Subject{UserID: v.user, KeyID: v.key, Origin: access.Origin{IP: p.c.ClientIP(r), UserAgent: r.UserAgent()}}
	ctx, end := p.c.Identity.Hold(r.Context(), actor, func(ctx context.Context, now access.Subject) error {
		t, err := p.c.Apps.Find(ctx, v.name)
		if err == nil && !t.Allows(now, v.method, p.c.Rules) {
			err = hidden(now)
		}
		return err
	}, notify.Sharing(v.target.WorkspaceID))
	return r.WithContext(ctx), end
}
