package appproxy

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/internal/access"
)

// held has a WebSocket end soon after its visitor may no longer open the app:
// their session has ended, they were suspended, or the app is not shared with
// them any more, with nobody perhaps. The caller calls end when it has ended.
func (p *Proxy) held(r *http.Request, v *visit) (held *http.Request, end func()) {
	if r.Header.Get("Upgrade") == "" {
		return r, func() {}
	}
	ctx, end := p.c.Door.Hold(r.Context(), Stay{
		User: v.user, Key: v.key, Method: v.method, Name: v.name, Target: v.target,
		Origin: access.Origin{IP: p.c.ClientIP(r), UserAgent: r.UserAgent()},
	})
	return r.WithContext(ctx), end
}
