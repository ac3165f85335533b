package login

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// sync applies the claims to a user in the transaction of the sign-in: site roles, memberships
// of organizations, and groups and roles in each organization. If the settings name a claim,
// manual changes are overwritten; if not, nothing is changed. (AU-14)
func (s *Service) sync(ctx context.Context, q *sqlc.Queries, u sqlc.User, c claims) error {
	if err := s.syncSite(ctx, q, u, c); err != nil {
		return err
	}
	in, err := s.syncOrganizations(ctx, q, u, c)
	if err != nil || len(in) == 0 {
		return err
	}
	rows, err := q.SyncSettings(ctx, in)
	if err != nil {
		return err
	}
	standard, err := q.DefaultOrganization(ctx)
	if err != nil {
		return err
	}
	for _, id := range in {
		groups, roles := codersdk.GroupSyncSettings{}, codersdk.RoleSyncSettings{}
		if id == standard.ID {
			groups = s.flagGroups()
		}
		for _, r := range rows {
			if r.OrganizationID != id {
				continue
			}
			into := any(&groups)
			if r.Kind == kindRoles {
				into = &roles
			} else {
				groups = codersdk.GroupSyncSettings{}
			}
			if err := json.Unmarshal(r.Value, into); err != nil {
				return err
			}
		}
		if err := s.syncGroups(ctx, q, u, id, groups, c); err != nil {
			return err
		}
		if err := s.syncRoles(ctx, q, u, id, roles, c); err != nil {
			return err
		}
	}
	return nil
}

// flagGroups returns the settings of the default organization from the server's options.
func (s *Service) flagGroups() codersdk.GroupSyncSettings {
	o := s.c.OIDC
	g := codersdk.GroupSyncSettings{Field: o.GroupField, AutoCreateMissing: o.GroupAutoCreate, LegacyNameMapping: o.GroupMapping, Mapping: map[string][]string{}}
	if o.GroupRegex != "" && o.GroupRegex != ".*" {
		g.RegexFilter, _ = regexp.Compile(o.GroupRegex) // New has checked it
	}
	return g
}

// syncSite returns the site roles from a claim, or the default ones.
func (s *Service) syncSite(ctx context.Context, q *sqlc.Queries, u sqlc.User, c claims) error {
	o := s.c.OIDC
	if o.UserRoleField == "" {
		return nil
	}
	roles := slices.Clone(o.UserRoleDefault)
	for _, name := range c.list(o.UserRoleField) {
		if mapped, ok := o.UserRoleMapping[name]; ok {
			roles = append(roles, mapped...)
		} else {
			roles = append(roles, name)
		}
	}
	return s.c.Identity.SetSiteRoles(ctx, q, u, roles)
}

// syncOrganizations makes the user a member of exactly the organizations in a claim, and returns
// the memberships.
func (s *Service) syncOrganizations(ctx context.Context, q *sqlc.Queries, u sqlc.User, c claims) ([]uuid.UUID, error) {
	members, err := q.UserOrganizationIDs(ctx, []uuid.UUID{u.ID})
	if err != nil {
		return nil, err
	}
	var in []uuid.UUID
	for _, m := range members {
		in = append(in, m.OrganizationID)
	}
	set, err := organizationSettings(ctx, q)
	if err != nil || set.Field == "" {
		return in, err
	}
	want := map[uuid.UUID]sqlc.Organization{}
	if set.AssignDefault {
		o, err := q.DefaultOrganization(ctx)
		if err != nil {
			return nil, err
		}
		want[o.ID] = o
	}
	for _, name := range c.list(set.Field) {
		for _, id := range set.Mapping[name] {
			o, err := q.OrganizationByID(ctx, id)
			if codersdk.Is(err, codersdk.CodeNotFound) {
				continue // deleted in the meantime
			}
			if err != nil {
				return nil, err
			}
			want[id] = o
		}
	}
	out := []uuid.UUID{}
	for id := range want {
		out = append(out, id)
		if slices.Contains(in, id) {
			continue
		}
		member := sqlc.InsertOrganizationMemberParams{OrganizationID: id, UserID: u.ID, Roles: []string{}, Now: s.now()}
		if _, err := q.InsertOrganizationMember(ctx, member); err != nil {
			return nil, err
		}
		if err := recordMember(ctx, q, u, id, codersdk.AuditActionCreate, audit.Diff(nil, map[string]any{"roles": []string{}})); err != nil {
			return nil, err
		}
	}
	for _, m := range members {
		if _, ok := want[m.OrganizationID]; ok {
			continue
		}
		if _, err := organization.Forget(ctx, q, m.OrganizationID, u.ID); err != nil {
			return nil, err
		}
		if _, err := q.DeleteOrganizationMember(ctx, m.OrganizationID, u.ID); err != nil {
			return nil, err
		}
		if err := recordMember(ctx, q, u, m.OrganizationID, codersdk.AuditActionDelete, audit.Diff(map[string]any{"roles": m.Roles}, nil)); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) })
	return out, nil
}

func recordMember(ctx context.Context, q *sqlc.Queries, u sqlc.User, org uuid.UUID, action codersdk.AuditAction, d codersdk.AuditDiff) error {
	return audit.Record(ctx, q, access.System(), audit.Entry{
		Action: action, ResourceType: codersdk.ResourceTypeOrganizationMember, ResourceID: u.ID, OrganizationID: org, Target: u.Username, Diff: d,
		Fields: automatic(),
	})
}

func automatic() map[string]any { return map[string]any{"automatic_actor": "identity provider"} }

var notInGroups = regexp.MustCompile(`[^a-zA-Z0-9]+`)

// groupName derives a valid group name from a claim value.
func groupName(s string) string {
	s = strings.Trim(notInGroups.ReplaceAllString(s, "-"), "-")
	return strings.Trim(s[:min(len(s), 32)], "-")
}

// syncGroups makes the user a member of exactly the groups of the organization in a claim.
func (s *Service) syncGroups(ctx context.Context, q *sqlc.Queries, u sqlc.User, org uuid.UUID, set codersdk.GroupSyncSettings, c claims) error {
	if set.Field == "" {
		return nil
	}
	have, err := q.SyncGroups(ctx, u.ID, org)
	if err != nil {
		return err
	}
	want := map[uuid.UUID]bool{}
	for _, name := range c.list(set.Field) {
		if set.RegexFilter != nil && !set.RegexFilter.MatchString(name) {
			continue
		}
		if ids, ok := set.Mapping[name]; ok {
			for _, text := range ids {
				if id, err := uuid.Parse(text); err == nil {
					want[id] = true
				}
			}
			continue
		}
		called := either(set.LegacyNameMapping[name], name)
		at := slices.IndexFunc(have, func(g sqlc.SyncGroupsRow) bool {
			return strings.EqualFold(g.Name, called) || strings.EqualFold(g.Name, groupName(called))
		})
		if at < 0 && set.AutoCreateMissing {
			made, err := s.makeGroup(ctx, q, org, called)
			if err != nil {
				return err
			}
			if made != nil {
				have, at = append(have, *made), len(have)
			}
		}
		if at >= 0 {
			want[have[at].ID] = true
		}
	}
	for _, g := range have {
		if err := s.moveGroup(ctx, q, u, org, g, want[g.ID]); err != nil {
			return err
		}
	}
	return nil
}

// makeGroup creates a group; nil if no valid name can be derived.
func (s *Service) makeGroup(ctx context.Context, q *sqlc.Queries, org uuid.UUID, called string) (*sqlc.SyncGroupsRow, error) {
	name := groupName(called)
	if codersdk.CheckName("name", name) != nil || strings.EqualFold(name, "everyone") {
		s.c.Log.WarnContext(ctx, "cannot create a group with the name from the identity provider", "name", called)
		return nil, nil
	}
	g := sqlc.GroupInsertParams{ID: uuid.New(), OrganizationID: org, Name: name, Source: string(codersdk.GroupSourceOIDC), Now: s.now()}
	if name != called && codersdk.CheckDisplayName("", called) == nil {
		g.DisplayName = called
	}
	if err := q.GroupInsert(ctx, g); err != nil {
		return nil, err
	}
	return &sqlc.SyncGroupsRow{ID: g.ID, Name: name}, audit.Record(ctx, q, access.System(), audit.Entry{
		Action: codersdk.AuditActionCreate, ResourceType: codersdk.ResourceTypeGroup, ResourceID: g.ID, OrganizationID: org, Target: name,
		Diff: audit.Diff(nil, map[string]any{"name": name, "display_name": g.DisplayName, "source": g.Source}), Fields: automatic(),
	})
}

// moveGroup adds the user to a group or removes the user from it.
func (s *Service) moveGroup(ctx context.Context, q *sqlc.Queries, u sqlc.User, org uuid.UUID, g sqlc.SyncGroupsRow, in bool) error {
	if g.IsMember == in {
		return nil
	}
	was, is := []string{u.Username}, []string{}
	var err error
	if in {
		was, is = is, was
		_, err = q.GroupAddMembers(ctx, g.ID, org, []uuid.UUID{u.ID})
	} else {
		_, err = q.GroupRemoveMembers(ctx, g.ID, []uuid.UUID{u.ID})
	}
	if err != nil {
		return err
	}
	return audit.Record(ctx, q, access.System(), audit.Entry{
		Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeGroup, ResourceID: g.ID, OrganizationID: org, Target: g.Name,
		Diff: codersdk.AuditDiff{"members": {Old: was, New: is}}, Fields: automatic(),
	})
}

// syncRoles sets the user's roles in an organization from a claim.
func (s *Service) syncRoles(ctx context.Context, q *sqlc.Queries, u sqlc.User, org uuid.UUID, set codersdk.RoleSyncSettings, c claims) error {
	if set.Field == "" {
		return nil
	}
	names := []string{}
	for _, name := range c.list(set.Field) {
		if mapped, ok := set.Mapping[name]; ok {
			names = append(names, mapped...)
		} else {
			names = append(names, name)
		}
	}
	known, err := rolesOf(ctx, q, org)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == access.RoleOrganizationMember || known[n].Name == "" })
	slices.Sort(names)
	names = slices.Compact(names)
	old, err := q.OrganizationMemberForUpdate(ctx, org, u.ID)
	if err != nil || slices.Equal(old.Roles, names) {
		return err
	}
	roles := sqlc.UpdateOrganizationMemberRolesParams{OrganizationID: org, UserID: u.ID, Roles: names, Now: s.now()}
	if _, err := q.UpdateOrganizationMemberRoles(ctx, roles); err != nil {
		return err
	}
	return recordMember(ctx, q, u, org, codersdk.AuditActionWrite, audit.Diff(map[string]any{"roles": old.Roles}, map[string]any{"roles": names}))
}

// rolesOf returns the roles of an organization by name.
func rolesOf(ctx context.Context, q *sqlc.Queries, org uuid.UUID) (map[string]codersdk.Role, error) {
	out := map[string]codersdk.Role{}
	for _, r := range access.OrganizationRoles(org) {
		out[r.Name] = r
	}
	own, err := q.CustomRoles(ctx, org)
	for _, r := range own {
		out[r.Name] = codersdk.Role{Name: r.Name, OrganizationPermissions: r.OrganizationPermissions, OrganizationMemberPermissions: r.MemberPermissions}
	}
	return out, err
}
