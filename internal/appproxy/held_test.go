package appproxy_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// TestWebSocketsEndWithRights: users who may no longer open an app lose what
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
	must(t, p.Client.UpdateWorkspaceACL(t.Context(), p.workspace, codersdk.UpdateWorkspaceACL{
		UserRoles: map[uuid.UUID]codersdk.WorkspaceRole{a.ID: codersdk.WorkspaceRoleUse, b.ID: codersdk.WorkspaceRoleUse},
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
		ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
		defer cancel()
		if _, _, err := c.Read(ctx); err == nil || ctx.Err() != nil {
			t.Errorf("%s: it is still open (%v)", what, err)
		}
	}
	must(t, p.Client.UpdateWorkspaceACL(t.Context(), p.workspace, codersdk.UpdateWorkspaceACL{UserRoles: map[uuid.UUID]codersdk.WorkspaceRole{a.ID: ""}}))
	ends("shared no longer", anns)
	_, err := p.Client.SuspendUser(t.Context(), "bob")
	must(t, err)
	ends("suspended", bobs)
	must(t, own.Ping(own.CloseRead(t.Context())))
}

// TestWebSocketsOfPassesEnd: one that was opened with what the browser carries,
// without asking any user, ends with its session too; and with the sharing of a
// port ends what nobody signed in for.
func TestWebSocketsOfPassesEnd(t *testing.T) {
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
	share := map[uuid.UUID]codersdk.WorkspaceRole{a.ID: codersdk.WorkspaceRoleUse, b.ID: codersdk.WorkspaceRoleUse}
	must(t, p.Client.UpdateWorkspaceACL(t.Context(), p.workspace, codersdk.UpdateWorkspaceACL{UserRoles: share}))
	dial := func(br *browser, url string) *websocket.Conn {
		t.Helper()
		c, resp, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPClient: br.Client})
		if err != nil {
			t.Fatal(err, resp)
		}
		return c
	}
	ends := func(what string, c *websocket.Conn) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
		defer cancel()
		if _, _, err := c.Read(ctx); err == nil || ctx.Err() != nil {
			t.Errorf("%s: it is still open (%v)", what, err)
		}
	}
	var open []*websocket.Conn
	for _, token := range []string{ann.SessionToken, bob.SessionToken} {
		br := p.browser(token)
		br.open(p.on("code", "/")).want(t, 200, "GET") // which leaves it with a pass
		open = append(open, dial(br, p.on("code", "/ws")))
	}
	must(t, ann.Logout(t.Context()))
	ends("logged out", open[0])
	_, err := p.Client.SuspendUser(t.Context(), "bob")
	must(t, err)
	ends("suspended", open[1])
	port, err := strconv.ParseInt(p.app.port(), 10, 32)
	must(t, err)
	level := func(l codersdk.WorkspaceAgentPortShareLevel) {
		t.Helper()
		_, err := p.Client.SharePort(t.Context(), p.workspace, codersdk.UpsertWorkspaceAgentPortShareRequest{
			AgentName: "main", Port: int32(port), ShareLevel: l, Protocol: "http",
		})
		must(t, err)
	}
	level("public")
	public := dial(p.browser(""), p.on(p.app.port(), "/ws"))
	level("owner")
	ends("shared with nobody any more", public)
}
