package identity

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

func TestTokens(t *testing.T) {
	h := newHouse(t, Config{MaxTokenLifetime: 1000 * time.Hour})
	ctx := t.Context()
	ann, bob := h.user("ann"), h.user("bob")
	k, err := h.CreateToken(ctx, ann, "me", codersdk.CreateTokenRequest{TokenName: "ci", Lifetime: 2 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		req  codersdk.CreateTokenRequest
		code codersdk.Code
	}{
		"name taken":    {codersdk.CreateTokenRequest{TokenName: "ci"}, codersdk.CodeConflict},
		"name illegal":  {codersdk.CreateTokenRequest{TokenName: "a b"}, codersdk.CodeInvalid},
		"too long":      {codersdk.CreateTokenRequest{Lifetime: 1001 * time.Hour}, codersdk.CodeInvalid},
		"negative":      {codersdk.CreateTokenRequest{Lifetime: -time.Hour}, codersdk.CodeInvalid},
		"unknown scope": {codersdk.CreateTokenRequest{Scopes: []codersdk.APIKeyScope{"workspace:fly"}}, codersdk.CodeInvalid},
		"unknown type":  {codersdk.CreateTokenRequest{AllowList: []codersdk.APIAllowListTarget{{Type: "moon", ID: "*"}}}, codersdk.CodeInvalid},
		"broken id":     {codersdk.CreateTokenRequest{AllowList: []codersdk.APIAllowListTarget{{Type: "workspace", ID: "1"}}}, codersdk.CodeInvalid},
	} {
		_, err := h.CreateToken(ctx, ann, "me", c.req)
		want(t, name, err, c.code)
	}
	want(t, "for another", second(h.CreateToken(ctx, bob, "ann", codersdk.CreateTokenRequest{})), codersdk.CodeForbidden)
	want(t, "owner for another", second(h.CreateToken(ctx, h.root, "ann", codersdk.CreateTokenRequest{TokenName: "by-root"})), "")
	want(t, "owner's own is short", second(h.CreateToken(ctx, h.root, "me", codersdk.CreateTokenRequest{Lifetime: 200 * time.Hour})), codersdk.CodeInvalid)
	want(t, "another lists", second(h.Tokens(ctx, bob, "ann", false, false, codersdk.Page{})), codersdk.CodeNotFound)
	got, err := h.Token(ctx, ann, "me", "ci")
	if err != nil || got.LifetimeSeconds != 7200 || got.Scope != codersdk.APIKeyScopeAll || len(got.AllowList) != 1 {
		t.Errorf("token: %+v %v", got, err)
	}
	h.clock.pass(2 * time.Hour)
	_, err = h.Authenticate(ctx, k.Key, here)
	want(t, "expired", err, codersdk.CodeUnauthenticated)
	for expired, n := range map[bool]int{false: 1, true: 2} {
		if list, err := h.Tokens(ctx, ann, "me", false, expired, codersdk.Page{}); err != nil || len(list) != n {
			t.Errorf("tokens with expired %v: %d, want %d (%v)", expired, len(list), n, err)
		}
	}
	for range 2 {
		again, err := h.CreateToken(ctx, ann, "me", codersdk.CreateTokenRequest{TokenName: "ci"})
		want(t, "name of an expired token", err, "")
		_, err = h.Authenticate(ctx, again.Key, here)
		want(t, "token with the name of an expired one", err, "")
		got, err = h.Token(ctx, ann, "me", "ci")
		want(t, "its row", err, "")
		want(t, "expire", h.ExpireKey(ctx, ann, "me", got.ID), "")
		_, err = h.Authenticate(ctx, again.Key, here)
		want(t, "expired by its owner", err, codersdk.CodeUnauthenticated)
	}
	want(t, "delete", h.DeleteKey(ctx, ann, "me", got.ID), "")
	want(t, "delete again", h.DeleteKey(ctx, ann, "me", got.ID), codersdk.CodeNotFound)
	if all, err := h.Tokens(ctx, h.root, "me", true, true, codersdk.Page{}); err != nil || len(all) != 1 {
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
		return access.Object{Type: codersdk.RBACResourceWorkspace, ID: id, OwnerID: h.root.UserID, OrganizationID: h.org}
	}
	template := access.Object{Type: codersdk.RBACResourceTemplate, ID: uuid.New(), OrganizationID: h.org}
	reader := h.token(h.root, codersdk.CreateTokenRequest{Scopes: []codersdk.APIKeyScope{"workspace:read"}})
	listed := h.token(h.root, codersdk.CreateTokenRequest{AllowList: []codersdk.APIAllowListTarget{{Type: "workspace", ID: w1.String()}}})
	connect := h.token(h.root, codersdk.CreateTokenRequest{Scope: "application_connect"})
	all := h.token(h.root, codersdk.CreateTokenRequest{Scope: "all"})
	for _, c := range []struct {
		name   string
		who    access.Subject
		action codersdk.RBACAction
		object access.Object
		may    bool
	}{
		{"reader reads", reader, codersdk.RBACActionRead, workspace(w1), true},
		{"reader updates", reader, codersdk.RBACActionUpdate, workspace(w1), false},
		{"reader reads a template", reader, codersdk.RBACActionRead, template, false},
		{"reader is no owner", reader, codersdk.RBACActionAssign, access.Object{Type: codersdk.RBACResourceAssignRole}, false},
		{"listed deletes the one", listed, codersdk.RBACActionDelete, workspace(w1), true},
		{"listed reads the other", listed, codersdk.RBACActionRead, workspace(w2), false},
		{"listed makes one", listed, codersdk.RBACActionCreate, workspace(uuid.Nil), false},
		{"listed reads a template", listed, codersdk.RBACActionRead, template, false},
		{"listed reads itself", listed, codersdk.RBACActionRead, userObject(h.root.UserID), true},
		{"connect connects", connect, codersdk.RBACActionApplicationConnect, workspace(w1), true},
		{"connect reads", connect, codersdk.RBACActionRead, workspace(w1), false},
		{"all", all, codersdk.RBACActionDelete, workspace(w2), true},
	} {
		if got := c.who.Can(c.action, c.object); got != c.may {
			t.Errorf("%s: %v, want %v", c.name, got, c.may)
		}
	}
	if f := listed.Filter(codersdk.RBACResourceWorkspace); len(f.IDs) != 1 || f.IDs[0] != w1 {
		t.Errorf("filter of an allow list: %+v", f)
	}
	if f := reader.Filter(codersdk.RBACResourceTemplate); f.All || f.OwnerID != uuid.Nil || len(f.OrganizationIDs)+len(f.MemberOf) != 0 {
		t.Errorf("filter of a scope that names another type: %+v", f)
	}
	self := h.token(h.root, codersdk.CreateTokenRequest{Scopes: []codersdk.APIKeyScope{"coder:apikeys.manage_self"}})
	want(t, "a narrow token widens", second(h.CreateToken(t.Context(), self, "me", codersdk.CreateTokenRequest{Scope: "all"})), codersdk.CodeForbidden)
	want(t, "a narrow token makes a session", second(h.CreateSessionKey(t.Context(), self, "me")), codersdk.CodeForbidden)
	child := h.token(self, codersdk.CreateTokenRequest{})
	if !child.Narrowed() || child.Can(codersdk.RBACActionRead, workspace(w1)) {
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
	want(t, "replaced", err, codersdk.CodeUnauthenticated)
	who, err := h.Authenticate(t.Context(), again, here)
	if err != nil || who.UserID != ann.UserID {
		t.Errorf("build token: %+v %v", who, err)
	}
	if list, err := h.Tokens(t.Context(), ann, "me", false, true, codersdk.Page{}); err != nil || len(list) != 0 {
		t.Errorf("a build's token is listed: %v %v", list, err)
	}
	want(t, "delete", h.DeleteBuildToken(t.Context(), h.c.Store.Queries, ann.UserID, build), "")
	_, err = h.Authenticate(t.Context(), again, here)
	want(t, "deleted", err, codersdk.CodeUnauthenticated)
}

func TestAuthCheck(t *testing.T) {
	h := newHouse(t, Config{})
	ann := h.user("ann")
	out, err := h.AuthCheck(t.Context(), ann, codersdk.AuthorizationRequest{Checks: map[string]codersdk.AuthorizationCheck{
		"own":      {Action: codersdk.RBACActionCreate, Object: codersdk.AuthorizationObject{ResourceType: codersdk.RBACResourceWorkspace, OwnerID: "me", OrganizationID: h.org.String()}},
		"anywhere": {Action: codersdk.RBACActionCreate, Object: codersdk.AuthorizationObject{ResourceType: codersdk.RBACResourceWorkspace, OwnerID: "me", AnyOrg: true}},
		"another":  {Action: codersdk.RBACActionCreate, Object: codersdk.AuthorizationObject{ResourceType: codersdk.RBACResourceWorkspace, OwnerID: h.root.UserID.String(), OrganizationID: h.org.String()}},
		"absent":   {Action: codersdk.RBACActionRead, Object: codersdk.AuthorizationObject{ResourceType: codersdk.RBACResourceTemplate, ResourceID: uuid.NewString()}},
		"audit":    {Action: codersdk.RBACActionRead, Object: codersdk.AuthorizationObject{ResourceType: codersdk.RBACResourceAuditLog}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, may := range map[string]bool{"own": true, "anywhere": true, "another": false, "absent": false, "audit": false} {
		if out[name] != may {
			t.Errorf("%s: %v, want %v", name, out[name], may)
		}
	}
	_, err = h.AuthCheck(t.Context(), ann, codersdk.AuthorizationRequest{Checks: map[string]codersdk.AuthorizationCheck{
		"x": {Object: codersdk.AuthorizationObject{ResourceType: "moon"}},
	}})
	want(t, "unknown type", err, codersdk.CodeInvalid)
}
