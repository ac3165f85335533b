package identity

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

func TestTokens(t *testing.T) {
	h := newHouse(t, Config{MaxTokenLifetime: 1000 * time.Hour})
	ctx := t.Context()
	ann, bob := h.user("ann"), h.user("bob")
	k, err := h.CreateToken(ctx, ann, "me", coder.CreateTokenRequest{TokenName: "ci", Lifetime: 2 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		req  coder.CreateTokenRequest
		code coder.Code
	}{
		"name taken":    {coder.CreateTokenRequest{TokenName: "ci"}, coder.CodeConflict},
		"name illegal":  {coder.CreateTokenRequest{TokenName: "a b"}, coder.CodeInvalid},
		"too long":      {coder.CreateTokenRequest{Lifetime: 1001 * time.Hour}, coder.CodeInvalid},
		"negative":      {coder.CreateTokenRequest{Lifetime: -time.Hour}, coder.CodeInvalid},
		"unknown scope": {coder.CreateTokenRequest{Scopes: []coder.APIKeyScope{"workspace:fly"}}, coder.CodeInvalid},
		"unknown type":  {coder.CreateTokenRequest{AllowList: []coder.APIAllowListTarget{{Type: "moon", ID: "*"}}}, coder.CodeInvalid},
		"broken id":     {coder.CreateTokenRequest{AllowList: []coder.APIAllowListTarget{{Type: "workspace", ID: "1"}}}, coder.CodeInvalid},
	} {
		_, err := h.CreateToken(ctx, ann, "me", c.req)
		want(t, name, err, c.code)
	}
	want(t, "for another", second(h.CreateToken(ctx, bob, "ann", coder.CreateTokenRequest{})), coder.CodeForbidden)
	want(t, "owner for another", second(h.CreateToken(ctx, h.root, "ann", coder.CreateTokenRequest{TokenName: "by-root"})), "")
	want(t, "owner's own is short", second(h.CreateToken(ctx, h.root, "me", coder.CreateTokenRequest{Lifetime: 200 * time.Hour})), coder.CodeInvalid)
	want(t, "another lists", second(h.Tokens(ctx, bob, "ann", false, false, coder.Page{})), coder.CodeNotFound)
	got, err := h.Token(ctx, ann, "me", "ci")
	if err != nil || got.LifetimeSeconds != 7200 || got.Scope != coder.APIKeyScopeAll || len(got.AllowList) != 1 {
		t.Errorf("token: %+v %v", got, err)
	}
	h.clock.pass(2 * time.Hour)
	_, err = h.Authenticate(ctx, k.Key, here)
	want(t, "expired", err, coder.CodeUnauthenticated)
	for expired, n := range map[bool]int{false: 1, true: 2} {
		if list, err := h.Tokens(ctx, ann, "me", false, expired, coder.Page{}); err != nil || len(list) != n {
			t.Errorf("tokens with expired %v: %d, want %d (%v)", expired, len(list), n, err)
		}
	}
	want(t, "delete", h.DeleteKey(ctx, ann, "me", got.ID), "")
	want(t, "delete again", h.DeleteKey(ctx, ann, "me", got.ID), coder.CodeNotFound)
	if all, err := h.Tokens(ctx, h.root, "me", true, true, coder.Page{}); err != nil || len(all) != 1 {
		t.Errorf("owner sees %d tokens, want 1 (%v)", len(all), err)
	}
	if n, err := h.PurgeKeys(ctx, 0); err != nil || n != 0 {
		t.Errorf("purged %d (%v)", n, err)
	}
}

// TestScopes holds a token of the owner, who may do everything, to what its
// scopes and allow list name.
func TestScopes(t *testing.T) {
	h := newHouse(t, Config{})
	w1, w2 := uuid.New(), uuid.New()
	workspace := func(id uuid.UUID) access.Object {
		return access.Object{Type: coder.RBACResourceWorkspace, ID: id, OwnerID: h.root.UserID, OrganizationID: h.org}
	}
	template := access.Object{Type: coder.RBACResourceTemplate, ID: uuid.New(), OrganizationID: h.org}
	reader := h.token(h.root, coder.CreateTokenRequest{Scopes: []coder.APIKeyScope{"workspace:read"}})
	listed := h.token(h.root, coder.CreateTokenRequest{AllowList: []coder.APIAllowListTarget{{Type: "workspace", ID: w1.String()}}})
	connect := h.token(h.root, coder.CreateTokenRequest{Scope: "application_connect"})
	all := h.token(h.root, coder.CreateTokenRequest{Scope: "all"})
	for _, c := range []struct {
		name   string
		who    access.Subject
		action coder.RBACAction
		object access.Object
		may    bool
	}{
		{"reader reads", reader, coder.RBACActionRead, workspace(w1), true},
		{"reader updates", reader, coder.RBACActionUpdate, workspace(w1), false},
		{"reader reads a template", reader, coder.RBACActionRead, template, false},
		{"reader is no owner", reader, coder.RBACActionAssign, access.Object{Type: coder.RBACResourceAssignRole}, false},
		{"listed deletes the one", listed, coder.RBACActionDelete, workspace(w1), true},
		{"listed reads the other", listed, coder.RBACActionRead, workspace(w2), false},
		{"listed makes one", listed, coder.RBACActionCreate, workspace(uuid.Nil), false},
		{"listed reads a template", listed, coder.RBACActionRead, template, false},
		{"listed reads itself", listed, coder.RBACActionRead, userObject(h.root.UserID), true},
		{"connect connects", connect, coder.RBACActionApplicationConnect, workspace(w1), true},
		{"connect reads", connect, coder.RBACActionRead, workspace(w1), false},
		{"all", all, coder.RBACActionDelete, workspace(w2), true},
	} {
		if got := c.who.Can(c.action, c.object); got != c.may {
			t.Errorf("%s: %v, want %v", c.name, got, c.may)
		}
	}
	if f := listed.Filter(coder.RBACResourceWorkspace); len(f.IDs) != 1 || f.IDs[0] != w1 {
		t.Errorf("filter of an allow list: %+v", f)
	}
	if f := reader.Filter(coder.RBACResourceTemplate); f.All || f.OwnerID != uuid.Nil || len(f.OrganizationIDs)+len(f.MemberOf) != 0 {
		t.Errorf("filter of a scope that names another type: %+v", f)
	}
	self := h.token(h.root, coder.CreateTokenRequest{Scopes: []coder.APIKeyScope{"coder:apikeys.manage_self"}})
	want(t, "a narrow token widens", second(h.CreateToken(t.Context(), self, "me", coder.CreateTokenRequest{Scope: "all"})), coder.CodeForbidden)
	want(t, "a narrow token makes a session", second(h.CreateSessionKey(t.Context(), self, "me")), coder.CodeForbidden)
	child := h.token(self, coder.CreateTokenRequest{})
	if !child.Narrowed() || child.Can(coder.RBACActionRead, workspace(w1)) {
		t.Error("the token of a narrow token is wide")
	}
}

func TestBuildToken(t *testing.T) {
	h := newHouse(t, Config{})
	ann := h.user("ann")
	build := uuid.New()
	var first, again string
	err := h.c.Store.Tx(t.Context(), func(q *sqlc.Queries) (err error) {
		if first, err = h.BuildToken(t.Context(), q, ann.UserID, build, "all"); err != nil {
			return err
		}
		again, err = h.BuildToken(t.Context(), q, ann.UserID, build, "")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Authenticate(t.Context(), first, here)
	want(t, "replaced", err, coder.CodeUnauthenticated)
	who, err := h.Authenticate(t.Context(), again, here)
	if err != nil || who.UserID != ann.UserID {
		t.Errorf("build token: %+v %v", who, err)
	}
	if list, err := h.Tokens(t.Context(), ann, "me", false, true, coder.Page{}); err != nil || len(list) != 0 {
		t.Errorf("a build's token is listed: %v %v", list, err)
	}
	want(t, "delete", h.DeleteBuildToken(t.Context(), h.c.Store.Queries, ann.UserID, build), "")
	_, err = h.Authenticate(t.Context(), again, here)
	want(t, "deleted", err, coder.CodeUnauthenticated)
}

func TestAuthCheck(t *testing.T) {
	h := newHouse(t, Config{})
	ann := h.user("ann")
	out, err := h.AuthCheck(t.Context(), ann, coder.AuthorizationRequest{Checks: map[string]coder.AuthorizationCheck{
		"own":      {Action: coder.RBACActionCreate, Object: coder.AuthorizationObject{ResourceType: coder.RBACResourceWorkspace, OwnerID: "me", OrganizationID: h.org.String()}},
		"anywhere": {Action: coder.RBACActionCreate, Object: coder.AuthorizationObject{ResourceType: coder.RBACResourceWorkspace, OwnerID: "me", AnyOrg: true}},
		"another":  {Action: coder.RBACActionCreate, Object: coder.AuthorizationObject{ResourceType: coder.RBACResourceWorkspace, OwnerID: h.root.UserID.String(), OrganizationID: h.org.String()}},
		"absent":   {Action: coder.RBACActionRead, Object: coder.AuthorizationObject{ResourceType: coder.RBACResourceTemplate, ResourceID: uuid.NewString()}},
		"audit":    {Action: coder.RBACActionRead, Object: coder.AuthorizationObject{ResourceType: coder.RBACResourceAuditLog}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, may := range map[string]bool{"own": true, "anywhere": true, "another": false, "absent": false, "audit": false} {
		if out[name] != may {
			t.Errorf("%s: %v, want %v", name, out[name], may)
		}
	}
	_, err = h.AuthCheck(t.Context(), ann, coder.AuthorizationRequest{Checks: map[string]coder.AuthorizationCheck{
		"x": {Object: coder.AuthorizationObject{ResourceType: "moon"}},
	}})
	want(t, "unknown type", err, coder.CodeInvalid)
}
