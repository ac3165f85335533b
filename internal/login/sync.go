package login

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// sync arranges a user as the claims have it, in the transaction of the login:
// the site's roles, memberships of organizations, and in each of these groups
// and roles. What people arranged otherwise by hand is overwritten, where the
// settings name a claim; where they name none, nothing is touched. (AU-14)
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
		groups, roles := coder.GroupSyncSettings{}, coder.RoleSyncSettings{}
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
				groups = coder.GroupSyncSettings{}
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

// flagGroups are the settings of the default organization by the options.
func (s *Service) flagGroups() coder.GroupSyncSettings {
	o := s.c.OIDC
	g := coder.GroupSyncSettings{Field: o.GroupField, AutoCreateMissing: o.GroupAutoCreate, LegacyNameMapping: o.GroupMapping, Mapping: map[string][]string{}}
	if o.GroupRegex != "" && o.GroupRegex != ".*" {
		g.RegexFilter, _ = regexp.Compile(o.GroupRegex) // New has compiled it, too
	}
	return g
}

// syncSite gives the roles of the site that a claim names, or the usual ones.
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

// syncOrganizations makes the user a member of the organizations that a claim
// names, and of no others. It gives where they are members.
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
			if coder.Is(err, coder.CodeNotFound) {
				continue // deleted since
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
		if _, err := q.InsertOrganizationMember(ctx, sqlc.InsertOrganizationMemberParams{OrganizationID: id, UserID: u.ID, Roles: []string{}, Now: s.now()}); err != nil {
			return nil, err
		}
		if err := recordMember(ctx, q, u, id, coder.AuditActionCreate, audit.Diff(nil, map[string]any{"roles": []string{}})); err != nil {
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
		if err := recordMember(ctx, q, u, m.OrganizationID, coder.AuditActionDelete, audit.Diff(map[string]any{"roles": m.Roles}, nil)); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) })
	return out, nil
}

func recordMember(ctx context.Context, q *sqlc.Queries, u sqlc.User, org uuid.UUID, action coder.AuditAction, d coder.AuditDiff) error {
	return audit.Record(ctx, q, access.System(), audit.Entry{
		Action: action, ResourceType: coder.ResourceTypeOrganizationMember, ResourceID: u.ID, OrganizationID: org, Target: u.Username, Diff: d,
		Fields: automatic(),
	})
}

func automatic() map[string]any { return map[string]any{"automatic_actor": "identity provider"} }

var notInGroups = regexp.MustCompile(`[^a-zA-Z0-9]+`)

// groupName makes of what a provider calls a group a name that one may have.
func groupName(s string) string {
	s = strings.Trim(notInGroups.ReplaceAllString(s, "-"), "-")
	return strings.Trim(s[:min(len(s), 32)], "-")
}

// syncGroups puts the user into the groups that a claim names, and takes them
// out of the others of the organization.
func (s *Service) syncGroups(ctx context.Context, q *sqlc.Queries, u sqlc.User, org uuid.UUID, set coder.GroupSyncSettings, c claims) error {
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

// makeGroup makes a group; nil where no name can be made of what it is called.
func (s *Service) makeGroup(ctx context.Context, q *sqlc.Queries, org uuid.UUID, called string) (*sqlc.SyncGroupsRow, error) {
	name := groupName(called)
	if coder.CheckName("name", name) != nil || strings.EqualFold(name, "everyone") {
		s.c.Log.WarnContext(ctx, "no group can have the name that the identity provider sent", "name", called)
		return nil, nil
	}
	g := sqlc.GroupInsertParams{ID: uuid.New(), OrganizationID: org, Name: name, Source: string(coder.GroupSourceOIDC), Now: s.now()}
	if name != called && coder.CheckDisplayName("", called) == nil {
		g.DisplayName = called
	}
	if err := q.GroupInsert(ctx, g); err != nil {
		return nil, err
	}
	return &sqlc.SyncGroupsRow{ID: g.ID, Name: name}, audit.Record(ctx, q, access.System(), audit.Entry{
		Action: coder.AuditActionCreate, ResourceType: coder.ResourceTypeGroup, ResourceID: g.ID, OrganizationID: org, Target: name,
		Diff: audit.Diff(nil, map[string]any{"name": name, "display_name": g.DisplayName, "source": g.Source}), Fields: automatic(),
	})
}

// moveGroup has the user in a group, or not.
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
		Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeGroup, ResourceID: g.ID, OrganizationID: org, Target: g.Name,
		Diff: coder.AuditDiff{"members": {Old: was, New: is}}, Fields: automatic(),
	})
}

// syncRoles gives the user the roles in an organization that a claim names.
func (s *Service) syncRoles(ctx context.Context, q *sqlc.Queries, u sqlc.User, org uuid.UUID, set coder.RoleSyncSettings, c claims) error {
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
	if _, err := q.UpdateOrganizationMemberRoles(ctx, sqlc.UpdateOrganizationMemberRolesParams{OrganizationID: org, UserID: u.ID, Roles: names, Now: s.now()}); err != nil {
		return err
	}
	return recordMember(ctx, q, u, org, coder.AuditActionWrite, audit.Diff(map[string]any{"roles": old.Roles}, map[string]any{"roles": names}))
}

// rolesOf are the roles that there are in an organization, by name.
func rolesOf(ctx context.Context, q *sqlc.Queries, org uuid.UUID) (map[string]coder.Role, error) {
	out := map[string]coder.Role{}
	for _, r := range access.OrganizationRoles(org) {
		out[r.Name] = r
	}
	own, err := q.CustomRoles(ctx, org)
	for _, r := range own {
		out[r.Name] = coder.Role{Name: r.Name, OrganizationPermissions: r.OrganizationPermissions, OrganizationMemberPermissions: r.MemberPermissions}
	}
	return out, err
}
