package breakdown

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// maxVersions bounds each list of versions.
const maxVersions = 500

// Versions returns which versions of templates, agents and clients are in use. The
// scope's user is ignored.
func (s *Service) Versions(ctx context.Context, actor access.Subject, scope Scope) (codersdk.InsightsVersions, error) {
	now := s.c.Now()
	out := codersdk.InsightsVersions{
		TemplateVersions: []codersdk.TemplateVersionUse{}, Agents: []codersdk.VersionUse{}, Clients: []codersdk.VersionUse{}, ClientsSince: now.Add(-clientPeriod),
	}
	if err := s.may(ctx, actor, scope); err != nil {
		return out, err
	}
	ctx, release, err := s.reserve(ctx)
	if err != nil {
		return out, err
	}
	defer release()
	versions, err := s.c.Store.BreakdownVersions(ctx, scope.Organization, scope.Template, maxVersions)
	if err != nil {
		return out, err
	}
	for _, v := range versions {
		out.TemplateVersions = append(out.TemplateVersions, codersdk.TemplateVersionUse(v))
	}
	agents, err := s.c.Store.BreakdownAgents(ctx, sqlc.BreakdownAgentsParams{
		Heard: now.Add(-heardWithin), OrganizationID: scope.Organization, TemplateID: scope.Template, Most: maxVersions,
	})
	if err != nil {
		return out, err
	}
	for _, a := range agents {
		out.Agents = append(out.Agents, codersdk.VersionUse{Version: a.Version, Count: a.Agents})
	}
	if scope.Template != uuid.Nil {
		return out, nil
	}
	clients, err := s.c.Store.BreakdownClients(ctx, out.ClientsSince, scope.Organization, maxVersions)
	for _, c := range clients {
		out.Clients = append(out.Clients, codersdk.VersionUse{Version: c.Version, Count: c.Users})
	}
	return out, err
}
