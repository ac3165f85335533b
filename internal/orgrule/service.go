package orgrule

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

const (
	maxProviders = 100 // of an organization's rules
	maxGroups    = 100 // of a provider
	maxSeconds   = 100 * 365 * 24 * 60 * 60
)

// Service reads and changes the rules of organizations. It is safe for concurrent use.
type Service struct {
	Store     *postgres.Store
	Hub       *notify.Hub      // is notified of changes; nil notifies nobody
	Now       func() time.Time // nil: time.Now
	Providers []string         // IDs of the external authentication providers of the deployment
}

func (s *Service) now() time.Time {
	now := s.Now
	if now == nil {
		now = time.Now
	}
	return now().UTC().Truncate(time.Microsecond)
}

func object(id uuid.UUID) access.Object {
	return access.Object{Type: codersdk.RBACResourceOrganization, ID: id, OrganizationID: id}
}

// Get returns the rules of an organization to its members.
func (s *Service) Get(ctx context.Context, actor access.Subject, organizationID uuid.UUID) (codersdk.OrganizationRules, error) {
	if err := actor.Check(codersdk.RBACActionRead, object(organizationID)); err != nil {
		return codersdk.OrganizationRules{}, err
	}
	return read(ctx, s.Store.Queries, organizationID)
}

// read returns the rules of an organization, the zero rules if it has none.
func read(ctx context.Context, q *sqlc.Queries, organizationID uuid.UUID) (codersdk.OrganizationRules, error) {
	row, err := q.OrganizationRules(ctx, organizationID)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		err = nil
	}
	return view(row), err
}

func view(r sqlc.OrganizationRule) codersdk.OrganizationRules {
	return codersdk.OrganizationRules{
		TokenScopes: access.ParseScopes(r.TokenScopes), MaxTokenLifetimeSeconds: r.MaxTokenLifetimeSeconds,
		ExternalAuthRestricted: r.ExternalAuthRestricted, ExternalAuth: append([]codersdk.ExternalAuthRule{}, r.ExternalAuth...),
	}
}

// Update replaces the rules of an organization.
func (s *Service) Update(
	ctx context.Context,
	actor access.Subject,
	organizationID uuid.UUID,
	req codersdk.OrganizationRules,
) (codersdk.OrganizationRules, error) {
	if err := actor.Check(codersdk.RBACActionUpdate, object(organizationID)); err != nil {
		return codersdk.OrganizationRules{}, err
	}
	var out codersdk.OrganizationRules
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		o, err := q.OrganizationForUpdate(ctx, organizationID)
		if err != nil {
			return err
		}
		before, err := read(ctx, q, o.ID)
		if err != nil {
			return err
		}
		p, err := s.check(ctx, q, before, o.ID, req)
		if err != nil {
			return err
		}
		p.Now = s.now()
		row, err := q.OrganizationRulesPut(ctx, p)
		if err != nil {
			return err
		}
		out = view(row)
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeOrganization, ResourceID: o.ID,
			OrganizationID: o.ID, Target: o.Name, Icon: o.Icon, Diff: audit.Diff(before, out),
		})
	})
	if err == nil && s.Hub != nil {
		s.Hub.Publish(notify.AllRights()) // connections of tokens that the rules forbid end
	}
	return out, err
}

// check returns the row of valid rules. Providers and groups that no longer exist are valid if the current rules have
// them.
func (s *Service) check(
	ctx context.Context,
	q *sqlc.Queries,
	current codersdk.OrganizationRules,
	organizationID uuid.UUID,
	req codersdk.OrganizationRules,
) (p sqlc.OrganizationRulesPutParams, err error) {
	p = sqlc.OrganizationRulesPutParams{
		OrganizationID: organizationID, TokenScopes: []string{}, MaxTokenLifetimeSeconds: req.MaxTokenLifetimeSeconds,
		ExternalAuthRestricted: req.ExternalAuthRestricted, ExternalAuth: []codersdk.ExternalAuthRule{},
	}
	for _, sc := range req.TokenScopes {
		if !access.KnownScope(sc) {
			return p, codersdk.Invalid("token_scopes", "scope %.64q not found; GET /api/v2/auth/scopes lists the scopes", sc)
		}
	}
	if len(req.TokenScopes) > 0 {
		if p.TokenScopes, err = access.TokenScopes(access.Subject{}, codersdk.CreateTokenRequest{Scopes: req.TokenScopes}); err != nil {
			return p, err
		}
	}
	switch {
	case req.MaxTokenLifetimeSeconds < 0 || req.MaxTokenLifetimeSeconds > maxSeconds:
		return p, codersdk.Invalid("max_token_lifetime_seconds", "must be between 0 and %d", int64(maxSeconds))
	case len(req.ExternalAuth) > maxProviders:
		return p, codersdk.Invalid("external_auth", "must have at most %d providers", maxProviders)
	}
	for _, r := range req.ExternalAuth {
		if slices.ContainsFunc(p.ExternalAuth, func(o codersdk.ExternalAuthRule) bool { return o.ProviderID == r.ProviderID }) {
			return p, codersdk.Invalid("external_auth", "has the provider %s twice", r.ProviderID)
		}
		if err := s.checkProvider(ctx, q, current, organizationID, r); err != nil {
			return p, err
		}
		r.GroupIDs = append([]uuid.UUID{}, r.GroupIDs...)
		p.ExternalAuth = append(p.ExternalAuth, r)
	}
	return p, nil
}

// checkProvider checks that the provider and the groups of a rule exist.
func (s *Service) checkProvider(
	ctx context.Context,
	q *sqlc.Queries,
	current codersdk.OrganizationRules,
	organizationID uuid.UUID,
	r codersdk.ExternalAuthRule,
) error {
	i := slices.IndexFunc(current.ExternalAuth, func(o codersdk.ExternalAuthRule) bool { return o.ProviderID == r.ProviderID })
	switch {
	case i < 0 && !slices.Contains(s.Providers, r.ProviderID):
		return codersdk.Invalid("external_auth", "provider %.64q not found; the deployment has: %s", r.ProviderID, cmp.Or(strings.Join(s.Providers, ", "), "none"))
	case len(r.GroupIDs) > maxGroups:
		return codersdk.Invalid("external_auth", "the provider %s must have at most %d groups", r.ProviderID, maxGroups)
	}
	for _, id := range r.GroupIDs {
		if i >= 0 && slices.Contains(current.ExternalAuth[i].GroupIDs, id) {
			continue
		}
		g, err := q.GroupByID(ctx, id)
		if codersdk.Is(err, codersdk.CodeNotFound) || err == nil && g.OrganizationID != organizationID {
			return codersdk.Invalid("external_auth", "group %s of the provider %s is not a group of the organization", id, r.ProviderID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
