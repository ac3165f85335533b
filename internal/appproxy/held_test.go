package appproxy_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

// TestWebSocketsEndWithRights: whoever may no longer open an app loses what
// they have open of it, and others do not.
func TestWebSocketsEndWithRights(t *testing.T) {
	p := newPlace(t, nil)
	p.app.page("/ws", func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
		if err != nil {
			return
		}
		for {
			if _, _, err := c.Read(r.Context()); err != nil {
				return
			}
		}
	})
	ann, a := p.Member(t, "ann")
	bob, b := p.Member(t, "bob")
	must(t, p.Client.UpdateWorkspaceACL(t.Context(), p.workspace, coder.UpdateWorkspaceACL{
		UserRoles: map[uuid.UUID]coder.WorkspaceRole{a.ID: coder.WorkspaceRoleUse, b.ID: coder.WorkspaceRoleUse},
	}))
	dial := func(token string) *websocket.Conn {
		t.Helper()
		br := p.browser(token)
		c, resp, err := websocket.Dial(t.Context(), p.on("code", "/ws"), &websocket.DialOptions{HTTPClient: br.Client, HTTPHeader: http.Header{"Coder-Session-Token": {token}}})
		if err != nil {
			t.Fatal(err, resp)
		}
		return c
	}
	own, anns, bobs := dial(p.Client.SessionToken), dial(ann.SessionToken), dial(bob.SessionToken)
	ends := func(what string, c *websocket.Conn) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if _, _, err := c.Read(ctx); err == nil || ctx.Err() != nil {
			t.Errorf("%s: it is still open (%v)", what, err)
		}
	}
	must(t, p.Client.UpdateWorkspaceACL(t.Context(), p.workspace, coder.UpdateWorkspaceACL{UserRoles: map[uuid.UUID]coder.WorkspaceRole{a.ID: ""}}))
	ends("shared no longer", anns)
	_, err := p.Client.SuspendUser(t.Context(), "bob")
	must(t, err)
	ends("suspended", bobs)
	must(t, own.Ping(own.CloseRead(t.Context())))
}
