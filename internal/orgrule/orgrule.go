// Package orgrule holds the rules that an organization sets for its members: which scopes API tokens can have, how long
// they are valid, and which external authentication providers members can link.
//
// Tokens and links belong to a user, not to an organization, and a user can be a member of several organizations. All
// of their rules apply, so the strictest one counts. A rule applies when a token is created or a provider is linked, and
// whenever the token or the link is used. So a stricter rule applies to tokens and links that exist, and nothing is lost
// when it is removed.
package orgrule

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Set is the rules of all organizations of a user, by the name of the organization. The zero Set permits everything.
type Set []member

// member is the rules of one organization.
type member struct {
	organization string
	groups       []uuid.UUID // of the user in the organization
	codersdk.OrganizationRules
}

// Of returns the rules for a user.
func Of(ctx context.Context, q *sqlc.Queries, userID uuid.UUID) (Set, error) {
	rows, err := q.OrganizationRulesOfUser(ctx, userID)
	out := make(Set, 0, len(rows))
	for _, r := range rows {
		groups := append(r.Groups, r.OrganizationRule.OrganizationID) // the group of all members
		out = append(out, member{r.OrganizationName, groups, view(r.OrganizationRule)})
	}
	return out, err
}

// hint names the users who can change a rule.
const hint = "An administrator of the organization can change this rule."

// CheckScopes returns an error if a token cannot have one of the scopes.
func (s Set) CheckScopes(scopes []string) error {
	if reason := s.forbidden(scopes); reason != "" {
		return codersdk.Invalid("scopes", "%s", reason)
	}
	return nil
}

// forbidden returns why a token cannot have the scopes; "" if it can.
func (s Set) forbidden(scopes []string) (reason string) {
	for _, m := range s {
		for _, sc := range scopes {
			if !m.permits(codersdk.APIKeyScope(sc)) {
				return fmt.Sprintf("organization %s does not permit tokens with the scope %s, only with %s. %s", m.organization, sc, list(m.TokenScopes), hint)
			}
		}
	}
	return ""
}

// CheckToken returns an error if a token that was created before cannot be used now.
func (s Set) CheckToken(scopes []string, created, now time.Time) error {
	if reason := s.forbidden(scopes); reason != "" {
		return codersdk.Errorf(codersdk.CodeForbidden, "This token cannot be used: %s", reason)
	}
	if longest, organization := s.MaxLifetime(); longest > 0 && !now.Before(created.Add(longest)) {
		return codersdk.Errorf(codersdk.CodeUnauthenticated,
			"This token cannot be used: organization %s permits tokens for at most %s, and this one is older. Create a new token.", organization, longest)
	}
	return nil
}

func (m member) permits(sc codersdk.APIKeyScope) bool {
	return len(m.TokenScopes) == 0 || access.ScopeCovers(m.TokenScopes, sc)
}

// Scopes returns the scopes that tokens can have, sorted; limited is false if they can have all.
func (s Set) Scopes() (scopes []codersdk.APIKeyScope, limited bool) {
	for _, m := range s {
		limited = limited || len(m.TokenScopes) > 0
		for _, sc := range m.TokenScopes {
			if !slices.ContainsFunc(s, func(other member) bool { return !other.permits(sc) }) {
				scopes = append(scopes, sc)
			}
		}
	}
	slices.Sort(scopes)
	return slices.Compact(scopes), limited
}

// Permitted returns those of the scopes that tokens can have, or all of them if there is none.
func (s Set) Permitted(scopes []codersdk.APIKeyScope) []codersdk.APIKeyScope {
	some := slices.DeleteFunc(slices.Clone(scopes), func(sc codersdk.APIKeyScope) bool { return s.forbidden([]string{string(sc)}) != "" })
	if len(some) == 0 {
		return scopes
	}
	return some
}

// MaxLifetime returns the maximum lifetime of a token, and the name of the organization with this rule; 0 for none.
func (s Set) MaxLifetime() (longest time.Duration, organization string) {
	for _, m := range s {
		if d := time.Duration(m.MaxTokenLifetimeSeconds) * time.Second; d > 0 && (longest == 0 || d < longest) {
			longest, organization = d, m.organization
		}
	}
	return longest, organization
}

// Shorten returns the lifetime, or the maximum lifetime of a token if that is shorter.
func (s Set) Shorten(lifetime time.Duration) time.Duration {
	if longest, _ := s.MaxLifetime(); longest > 0 {
		return min(lifetime, longest)
	}
	return lifetime
}

// CheckLifetime returns an error if a token cannot be valid for the time.
func (s Set) CheckLifetime(lifetime time.Duration) error {
	if longest, organization := s.MaxLifetime(); longest > 0 && lifetime > longest {
		return codersdk.Invalid("lifetime", "organization %s permits tokens for at most %s. %s", organization, longest, hint)
	}
	return nil
}

// CheckLink returns an error if the user cannot link a provider, or use a link to it.
func (s Set) CheckLink(id, displayName string) error {
	for _, m := range s {
		if !m.ExternalAuthRestricted {
			continue
		}
		i := slices.IndexFunc(m.ExternalAuth, func(r codersdk.ExternalAuthRule) bool { return r.ProviderID == id })
		switch name := cmp.Or(displayName, id); {
		case i < 0:
			return codersdk.Errorf(codersdk.CodeForbidden, "Organization %s does not permit its members to link %s. %s", m.organization, name, hint)
		case !permitsGroup(m.ExternalAuth[i].GroupIDs, m.groups):
			return codersdk.Errorf(codersdk.CodeForbidden, "Organization %s permits only members of certain groups to link %s. %s", m.organization, name, hint)
		}
	}
	return nil
}

// permitsGroup reports whether a provider with these groups is for a member of the others.
func permitsGroup(permitted, groups []uuid.UUID) bool {
	return len(permitted) == 0 || slices.ContainsFunc(groups, func(id uuid.UUID) bool { return slices.Contains(permitted, id) })
}

func list(scopes []codersdk.APIKeyScope) string {
	words := make([]string, len(scopes))
	for i, sc := range scopes {
		words[i] = string(sc)
	}
	return strings.Join(words, ", ")
}
