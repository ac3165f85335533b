package orgrule

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func rules(name string, r codersdk.OrganizationRules, groups ...uuid.UUID) member {
	return member{organization: name, groups: groups, OrganizationRules: r}
}

func scopes(s ...codersdk.APIKeyScope) codersdk.OrganizationRules {
	return codersdk.OrganizationRules{TokenScopes: s}
}

// TestScopesOfAllOrganizations checks that a token can have only scopes that every organization permits.
func TestScopesOfAllOrganizations(t *testing.T) {
	set := Set{rules("acme", scopes("workspace:*", "template:read")), rules("beta", scopes("workspace:read", "workspace:start", "template:*")), rules("open", scopes())}
	got, limited := set.Scopes()
	if want := []codersdk.APIKeyScope{"template:read", "workspace:read", "workspace:start"}; !limited || !slices.Equal(got, want) {
		t.Errorf("scopes %v, %v; want %v", got, limited, want)
	}
	for scope, organization := range map[string]string{
		"workspace:read": "", "template:read": "", "template:update": "acme", "workspace:delete": "beta", "coder:all": "acme",
	} {
		err := set.CheckScopes([]string{"workspace:read", scope})
		if (err == nil) != (organization == "") || err != nil && (!codersdk.Is(err, codersdk.CodeInvalid) || !strings.Contains(err.Error(), "organization "+organization)) {
			t.Errorf("%s: %v, want %q to refuse it", scope, err, organization)
		}
	}
	if err := (Set{}).CheckScopes([]string{"coder:all"}); err != nil {
		t.Errorf("without rules: %v", err)
	}
	if err := (Set{rules("open", scopes("coder:all"))}).CheckScopes([]string{"coder:all", "user:read"}); err != nil {
		t.Errorf("with all scopes: %v", err)
	}
}

// TestLifetimeOfAllOrganizations checks that the shortest maximum lifetime applies.
func TestLifetimeOfAllOrganizations(t *testing.T) {
	set := Set{
		rules("acme", codersdk.OrganizationRules{MaxTokenLifetimeSeconds: 7200}), rules("beta", codersdk.OrganizationRules{MaxTokenLifetimeSeconds: 3600}),
		rules("open", codersdk.OrganizationRules{}),
	}
	if got := set.Shorten(24 * time.Hour); got != time.Hour {
		t.Errorf("a day becomes %s", got)
	}
	if got := set.Shorten(time.Minute); got != time.Minute {
		t.Errorf("a minute becomes %s", got)
	}
	if err := set.CheckLifetime(time.Hour); err != nil {
		t.Errorf("an hour: %v", err)
	}
	if err := set.CheckLifetime(time.Hour + time.Second); !codersdk.Is(err, codersdk.CodeInvalid) || !strings.Contains(err.Error(), "beta permits tokens for at most 1h0m0s") {
		t.Errorf("more than an hour: %v", err)
	}
	if got := (Set{}).Shorten(time.Hour); got != time.Hour {
		t.Errorf("without rules an hour becomes %s", got)
	}
}

// TestLinks checks which providers a user can link, by provider and by group.
func TestLinks(t *testing.T) {
	group, other := uuid.New(), uuid.New()
	restricted := codersdk.OrganizationRules{ExternalAuthRestricted: true, ExternalAuth: []codersdk.ExternalAuthRule{
		{ProviderID: "gitlab"}, {ProviderID: "github", GroupIDs: []uuid.UUID{group}},
	}}
	unused := codersdk.OrganizationRules{ExternalAuth: []codersdk.ExternalAuthRule{{ProviderID: "gitea"}}}
	for _, c := range []struct {
		name, provider, want string
		set                  Set
	}{
		{"no rules", "github", "", nil},
		{"not restricted", "github", "", Set{rules("open", unused)}},
		{"all members", "gitlab", "", Set{rules("acme", restricted, other)}},
		{"a member of the group", "github", "", Set{rules("acme", restricted, other, group)}},
		{"not in the group", "github", "acme permits only members of certain groups", Set{rules("acme", restricted, other)}},
		{"not listed", "gitea", "acme does not permit its members to link", Set{rules("open", unused), rules("acme", restricted, group)}},
	} {
		err := c.set.CheckLink(c.provider, "")
		if (err == nil) != (c.want == "") || err != nil && (!codersdk.Is(err, codersdk.CodeForbidden) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestPermitted checks which of the scopes of an account its tokens get.
func TestPermitted(t *testing.T) {
	set := Set{rules("acme", scopes("workspace:*", "template:read"))}
	for _, c := range []struct{ own, want []codersdk.APIKeyScope }{
		{[]codersdk.APIKeyScope{"workspace:read", "template:update"}, []codersdk.APIKeyScope{"workspace:read"}},
		{[]codersdk.APIKeyScope{"template:update"}, []codersdk.APIKeyScope{"template:update"}}, // and is refused later
	} {
		if got := set.Permitted(c.own); !slices.Equal(got, c.want) {
			t.Errorf("%v becomes %v, want %v", c.own, got, c.want)
		}
	}
}
