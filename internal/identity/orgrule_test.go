package identity

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/orgrule"
)

// TestTokensFollowRulesOfOrganizations checks that the rules of an organization limit the tokens of its members.
func TestTokensFollowRulesOfOrganizations(t *testing.T) {
	h := newHouse(t, Config{MaxTokenLifetime: 1000 * time.Hour, MaxAdminTokenLifetime: 1000 * time.Hour, DefaultTokenLifetime: 100 * time.Hour})
	ctx := t.Context()
	ann, _ := h.person("ann")
	o, err := h.OrganizationByRef(ctx, h.root, "default")
	want(t, "organization", err, "")
	service := orgrule.Service{Store: h.c.Store, Providers: []string{"github", "gitlab"}}
	set := func(actor access.Subject, r codersdk.OrganizationRules) error {
		_, err := service.Update(ctx, actor, o.ID, r)
		return err
	}
	want(t, "a member", set(ann, codersdk.OrganizationRules{}), codersdk.CodeForbidden)
	link := func(id string, groups ...uuid.UUID) codersdk.OrganizationRules {
		return codersdk.OrganizationRules{ExternalAuth: []codersdk.ExternalAuthRule{{ProviderID: id, GroupIDs: groups}}}
	}
	for message, r := range map[string]codersdk.OrganizationRules{
		`token_scopes: scope "workspace:fly" not found; GET /api/v2/auth/scopes`:        {TokenScopes: []codersdk.APIKeyScope{"workspace:fly"}},
		"max_token_lifetime_seconds: must be between 0 and":                             {MaxTokenLifetimeSeconds: -1},
		`external_auth: provider "gitea" not found; the deployment has: github, gitlab`: link("gitea"),
		"is not a group of the organization":                                            link("github", uuid.New()),
	} {
		if err := set(h.root, r); !codersdk.Is(err, codersdk.CodeInvalid) || !strings.Contains(err.Error(), message) {
			t.Errorf("want %q, got %v", message, err)
		}
	}
	want(t, "a provider", set(h.root, link("github")), "")
	service.Providers = nil
	want(t, "a provider that is no longer configured", set(h.root, link("github")), "")
	r := codersdk.OrganizationRules{TokenScopes: []codersdk.APIKeyScope{"workspace:*"}, MaxTokenLifetimeSeconds: 3600}
	want(t, "set", set(h.root, r), "")
	logs, err := h.AuditLogs(ctx, h.root, AuditSearch{Search: audit.Search{ResourceType: "organization", Limit: 1}})
	if err != nil || len(logs.AuditLogs) == 0 || logs.AuditLogs[0].Diff["max_token_lifetime_seconds"].New != float64(3600) {
		t.Errorf("audit: %+v, %v", logs, err)
	}
	if got, err := service.Get(ctx, ann, o.ID); err != nil || len(got.TokenScopes) != 1 || got.MaxTokenLifetimeSeconds != 3600 {
		t.Errorf("a member reads %+v, %v", got, err)
	}

	create := func(req codersdk.CreateTokenRequest) error {
		_, err := h.CreateToken(ctx, ann, "me", req)
		return err
	}
	want(t, "permitted", create(codersdk.CreateTokenRequest{TokenName: "ci", Scopes: []codersdk.APIKeyScope{"workspace:read"}, Lifetime: time.Hour}), "")
	err = create(codersdk.CreateTokenRequest{Scopes: []codersdk.APIKeyScope{"template:read"}})
	if !codersdk.Is(err, codersdk.CodeInvalid) || !strings.Contains(err.Error(), "organization "+o.Name) {
		t.Errorf("another scope: %v", err)
	}
	err = create(codersdk.CreateTokenRequest{Lifetime: 2 * time.Hour})
	if !codersdk.Is(err, codersdk.CodeInvalid) || !strings.Contains(err.Error(), "at most 1h0m0s") {
		t.Errorf("a longer lifetime: %v", err)
	}
	want(t, "defaults", create(codersdk.CreateTokenRequest{TokenName: "plain"}), "")
	k, err := h.Token(ctx, ann, "me", "plain")
	if err != nil || len(k.Scopes) != 1 || k.Scopes[0] != "workspace:*" || k.LifetimeSeconds != 3600 {
		t.Errorf("a token without a request for scopes: %+v, %v", k, err)
	}
	if c, err := h.TokenConfig(ctx, ann, "me"); err != nil || c.MaxTokenLifetime != time.Hour {
		t.Errorf("maximum lifetime %s, %v", c.MaxTokenLifetime, err)
	}
	want(t, "remove", set(h.root, codersdk.OrganizationRules{}), "")
	want(t, "without rules", create(codersdk.CreateTokenRequest{Lifetime: 500 * time.Hour}), "")
}

// TestUseOfTokensFollowsRules checks that a rule applies to tokens that exist, in every organization of the user, and
// not to sessions.
func TestUseOfTokensFollowsRules(t *testing.T) {
	h := newHouse(t, Config{MaxTokenLifetime: 1000 * time.Hour, DefaultTokenLifetime: 100 * time.Hour})
	ctx := t.Context()
	ann, session := h.person("ann")
	create := func(scope codersdk.APIKeyScope) string {
		t.Helper()
		k, err := h.CreateToken(ctx, ann, "me", codersdk.CreateTokenRequest{Scopes: []codersdk.APIKeyScope{scope}})
		want(t, "create", err, "")
		return k.Key
	}
	all, reader := create(codersdk.APIKeyScopeCoderAll), create("workspace:read")
	other, err := h.CreateOrganization(ctx, h.root, codersdk.CreateOrganizationRequest{Name: "acme"})
	want(t, "organization", err, "")
	set := func(r codersdk.OrganizationRules) {
		t.Helper()
		_, err := (&orgrule.Service{Store: h.c.Store}).Update(ctx, h.root, other.ID, r)
		want(t, "set", err, "")
	}
	use := func(what, token, message string) {
		t.Helper()
		_, err := h.Authenticate(ctx, token, here)
		if (err == nil) != (message == "") || err != nil && !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v, want %q", what, err, message)
		}
	}

	set(codersdk.OrganizationRules{TokenScopes: []codersdk.APIKeyScope{"workspace:*"}})
	use("an organization of others", all, "")
	want(t, "member", second(h.AddMember(ctx, h.root, "acme", "ann")), "")
	use("a scope", all, "organization acme does not permit tokens with the scope coder:all, only with workspace:*")
	use("a permitted scope", reader, "")
	use("a session", session, "")

	set(codersdk.OrganizationRules{MaxTokenLifetimeSeconds: 3600})
	h.clock.pass(time.Hour - time.Second)
	use("a lifetime", all, "")
	h.clock.pass(time.Second)
	use("a longer lifetime", all, "organization acme permits tokens for at most 1h0m0s, and this one is older")
	use("an older session", session, "")
	set(codersdk.OrganizationRules{})
	use("without the rule", all, "")

	set(codersdk.OrganizationRules{MaxTokenLifetimeSeconds: 60})
	use("again with a rule", reader, "acme")
	want(t, "remove", h.RemoveMember(ctx, h.root, "acme", "ann"), "")
	use("after the membership", reader, "")
	want(t, "add again", second(h.AddMember(ctx, h.root, "acme", "ann")), "")
	want(t, "remove", h.RemoveMember(ctx, h.root, "acme", "ann"), "")
	want(t, "delete", h.DeleteOrganization(ctx, h.root, "acme"), "")
	use("of a deleted organization", reader, "")
}
