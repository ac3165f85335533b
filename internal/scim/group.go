package scim

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/identity/profile"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// maxMembers is the maximum number of members in one response.
const maxMembers = 20_000

// Groups returns a page of the groups that a filter matches, the oldest first.
func (s *Service) Groups(ctx context.Context, q Query) (Resource, error) {
	var f *Filter
	if q.Filter != "" {
		var err error
		if f, err = ParseFilter(&groupSchema, q.Filter); err != nil {
			return nil, err
		}
	}
	rows, err := s.groupRows(ctx, nil)
	if err != nil {
		return nil, err
	}
	found := make([]Resource, 0, len(rows))
	for _, r := range rows {
		found = append(found, s.shownGroup(r))
	}
	if f != nil {
		if f.reads("members") {
			if err := s.addMembers(ctx, found); err != nil {
				return nil, err
			}
		}
		found = slices.DeleteFunc(found, func(r Resource) bool { return !f.Matches(r) })
	}
	page := cut(found, q)
	if !f.reads("members") && q.wants("members") {
		if err := s.addMembers(ctx, page); err != nil {
			return nil, err
		}
	}
	return list(&groupSchema, q, len(found), page), nil
}

// reads reports whether a filter depends on an attribute.
func (f *Filter) reads(attribute string) bool {
	return f != nil && (f.path.attribute != nil && f.path.attribute.Name == attribute || f.left.reads(attribute) || f.right.reads(attribute))
}

// wants reports whether a query asks for an attribute.
func (q Query) wants(attribute string) bool {
	has := func(names string) bool {
		return slices.ContainsFunc(strings.Split(names, ","), func(n string) bool {
			return strings.EqualFold(strings.TrimSpace(n), attribute)
		})
	}
	if q.Attributes != "" {
		return strings.Contains(strings.ToLower(q.Attributes), attribute)
	}
	return !has(q.Excluded)
}

func (s *Service) groupRows(ctx context.Context, ids []uuid.UUID) ([]sqlc.ScimGroupsRow, error) {
	org, err := s.defaultOrganization(ctx)
	if err != nil {
		return nil, err
	}
	return s.c.Store.ScimGroups(ctx, org, ids)
}

// shownGroup returns the resource of a row, without members.
func (s *Service) shownGroup(r sqlc.ScimGroupsRow) Resource {
	out := Resource{
		"schemas": []string{groupURN}, "id": r.Group.ID.String(), "displayName": r.ShownName,
		"meta": Resource{
			"resourceType": "Group", "created": rfc3339(r.Group.CreatedAt), "lastModified": rfc3339(r.Group.UpdatedAt),
			"location": s.location("Groups", r.Group.ID.String()),
		},
	}
	if r.ExternalID != "" {
		out["externalId"] = r.ExternalID
	}
	return out
}

// addMembers adds the members of groups, with one query.
func (s *Service) addMembers(ctx context.Context, groups []Resource) error {
	ids, at := make([]uuid.UUID, len(groups)), map[uuid.UUID]Resource{}
	for i, g := range groups {
		ids[i] = uuid.MustParse(g.str("id"))
		at[ids[i]] = g
	}
	rows, err := s.c.Store.ScimGroupMembers(ctx, ids, maxMembers+1)
	if err != nil {
		return err
	}
	if len(rows) > maxMembers {
		return invalid(tooMany, "The groups have more than %d members; send excludedAttributes=members, or ask for fewer groups", maxMembers)
	}
	for _, r := range rows {
		g := at[r.GroupID]
		g["members"] = append(elements(g["members"]), Resource{
			"value": r.UserID.String(), "display": r.Username, "type": "User", "$ref": s.location("Users", r.UserID.String()),
		})
	}
	return nil
}

// Group returns a group with the attributes that a request asks for.
func (s *Service) Group(ctx context.Context, id string, q Query) (Resource, error) {
	uid, ok := parseID(id)
	if !ok {
		return nil, missing("Group", id)
	}
	rows, err := s.groupRows(ctx, []uuid.UUID{uid})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, missing("Group", id)
	}
	out := []Resource{s.shownGroup(rows[0])}
	if q.wants("members") {
		if err := s.addMembers(ctx, out); err != nil {
			return nil, err
		}
	}
	return out[0].project(&groupSchema, q.Attributes, q.Excluded), nil
}

// CreateGroup creates a group of the default organization with members.
func (s *Service) CreateGroup(ctx context.Context, actor access.Subject, body map[string]any) (Resource, error) {
	r, err := read(&groupSchema, body)
	if err != nil {
		return nil, err
	}
	org, err := s.defaultOrganization(ctx)
	if err != nil {
		return nil, err
	}
	name, err := s.freeName(ctx, org, uuid.Nil, r.str("displayName"))
	if err != nil {
		return nil, err
	}
	members, err := s.members(ctx, r, nil)
	if err != nil {
		return nil, err
	}
	g, err := s.c.Organizations.CreateGroup(ctx, actor, org, codersdk.CreateGroupRequest{Name: name, DisplayName: profile.FullName(r.str("displayName"))})
	if err != nil {
		return nil, err
	}
	return s.storeGroup(ctx, actor, g.ID, r, codersdk.PatchGroupRequest{AddUsers: members})
}

// freeName checks the name of a group, and returns an available name that is valid in paths. A group keeps its own.
func (s *Service) freeName(ctx context.Context, org, self uuid.UUID, shown string) (string, error) {
	if strings.TrimSpace(shown) == "" {
		return "", invalid(invalidValue, "The attribute displayName is required")
	}
	rows, err := s.c.Store.ScimGroups(ctx, org, nil)
	if err != nil {
		return "", err
	}
	used := map[string]bool{"everyone": true}
	for _, r := range rows {
		if r.Group.ID == self {
			continue
		}
		if strings.EqualFold(r.ShownName, shown) {
			return "", conflict("A group with the displayName %.80q already exists", shown)
		}
		used[strings.ToLower(r.Group.Name)] = true
	}
	return freeGroupName(shown, used), nil
}

// ReplaceGroup changes a group to what the body of a PUT says.
func (s *Service) ReplaceGroup(ctx context.Context, actor access.Subject, id string, body map[string]any) (Resource, error) {
	return s.updateGroup(ctx, actor, id, func(Resource) (Resource, error) { return read(&groupSchema, body) })
}

// PatchGroup applies the operations of a PATCH.
func (s *Service) PatchGroup(ctx context.Context, actor access.Subject, id string, body map[string]any) (Resource, error) {
	return s.updateGroup(ctx, actor, id, func(old Resource) (Resource, error) { return patch(&groupSchema, old, body) })
}

// updateGroup applies the resource that fn makes of the current one. Only the difference of the members is written,
// so that concurrent requests do not undo each other.
func (s *Service) updateGroup(ctx context.Context, actor access.Subject, id string, fn func(Resource) (Resource, error)) (Resource, error) {
	old, err := s.Group(ctx, id, Query{})
	if err != nil {
		return nil, err
	}
	r, err := fn(old)
	if err != nil {
		return nil, err
	}
	org, err := s.defaultOrganization(ctx)
	if err != nil {
		return nil, err
	}
	uid := uuid.MustParse(id)
	var req codersdk.PatchGroupRequest
	if shown := r.str("displayName"); shown != old.str("displayName") {
		if req.Name, err = s.freeName(ctx, org, uid, shown); err != nil {
			return nil, err
		}
		req.DisplayName = new(profile.FullName(shown))
	}
	was, is := memberIDs(old), memberIDs(r)
	if req.AddUsers, err = s.members(ctx, r, was); err != nil {
		return nil, err
	}
	for m := range was {
		if !is[m] {
			req.RemoveUsers = append(req.RemoveUsers, m)
		}
	}
	slices.Sort(req.RemoveUsers)
	return s.storeGroup(ctx, actor, uid, r, req)
}

// memberIDs returns the IDs of the members of a resource.
func memberIDs(r Resource) map[string]bool {
	out := map[string]bool{}
	for _, m := range elements(r["members"]) {
		out[strings.ToLower(m.str("value"))] = true
	}
	return out
}

// members returns the IDs of the users of a resource who are not among those before. All must exist.
func (s *Service) members(ctx context.Context, r Resource, before map[string]bool) ([]string, error) {
	var ids []uuid.UUID
	for m := range memberIDs(r) {
		if before[m] {
			continue
		}
		id, ok := parseID(m)
		if !ok {
			return nil, invalid(invalidValue, "The member %.64q does not exist", m)
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := s.c.Store.ScimUsersByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(ids))
	for _, row := range rows {
		out = append(out, row.User.ID.String())
	}
	for _, id := range ids {
		if !slices.Contains(out, id.String()) {
			return nil, invalid(invalidValue, "The member %s does not exist", id)
		}
	}
	slices.Sort(out)
	return out, nil
}

// storeGroup applies a change of a group and stores the provider's data. New members become members of the
// organization.
func (s *Service) storeGroup(ctx context.Context, actor access.Subject, id uuid.UUID, r Resource, req codersdk.PatchGroupRequest) (Resource, error) {
	org, err := s.defaultOrganization(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.join(ctx, actor, org, req.AddUsers); err != nil {
		return nil, err
	}
	if req.Name != "" || req.DisplayName != nil || len(req.AddUsers)+len(req.RemoveUsers) > 0 {
		if _, err := s.c.Organizations.UpdateGroup(ctx, actor, id, req); err != nil {
			return nil, err
		}
	}
	err = s.c.Store.ScimGroupPut(ctx, sqlc.ScimGroupPutParams{GroupID: id, DisplayName: r.str("displayName"), ExternalID: r.str("externalId"), Now: s.now()})
	if err != nil {
		return nil, err
	}
	s.changed(codersdk.RBACResourceGroup)
	return s.Group(ctx, id.String(), Query{})
}

// join adds users to the organization if they are not members of it.
func (s *Service) join(ctx context.Context, actor access.Subject, org uuid.UUID, users []string) error {
	if len(users) == 0 {
		return nil
	}
	ids := make([]uuid.UUID, len(users))
	for i, u := range users {
		ids[i] = uuid.MustParse(u)
	}
	in, err := s.c.Store.OrganizationMembersAmong(ctx, org, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if slices.Contains(in, id) {
			continue
		}
		if _, err := s.c.Identity.AddMember(ctx, actor, org.String(), id.String()); err != nil && !codersdk.Is(err, codersdk.CodeConflict) {
			return err
		}
	}
	return nil
}

// DeleteGroup deletes a group.
func (s *Service) DeleteGroup(ctx context.Context, actor access.Subject, id string) error {
	if _, err := s.Group(ctx, id, Query{Excluded: "members"}); err != nil {
		return err
	}
	if err := s.c.Organizations.DeleteGroup(ctx, actor, uuid.MustParse(id)); err != nil {
		return err
	}
	s.changed(codersdk.RBACResourceGroup)
	return nil
}
