package scim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/identity/profile"
)

// storedAttributes are those of users that only SCIM has.
var storedAttributes = []string{"name", "displayName", "emails"}

// Users returns a page of the users that a filter matches, the oldest first.
func (s *Service) Users(ctx context.Context, q Query) (Resource, error) {
	if q.Filter == "" {
		offset, count := q.bounds()
		rows, err := s.c.Store.ScimUsersPage(ctx, int32(min(offset, 1<<30)), int32(max(count, 1)))
		if err == nil && len(rows) == 0 && offset > 0 { // beyond the end: the count comes with rows
			rows, err = s.c.Store.ScimUsersPage(ctx, 0, 1)
			count = 0
		}
		if err != nil {
			return nil, err
		}
		total, users := 0, make([]userRow, 0, len(rows))
		for _, r := range rows {
			total = int(r.Count)
			users = append(users, userRow{User: r.User, UserName: r.UserName, ExternalID: r.ExternalID, Profile: r.Profile})
		}
		page, err := s.shownUsers(ctx, users[:min(count, len(users))])
		return list(&userSchema, q, total, page), err
	}
	f, err := ParseFilter(&userSchema, q.Filter)
	if err != nil {
		return nil, err
	}
	found, err := s.findUsers(ctx, f)
	if err != nil {
		return nil, err
	}
	return list(&userSchema, q, len(found), cut(found, q)), nil
}

// findUsers returns all users that a filter matches. A filter for one value of userName, id, externalId or an email
// address reads only users with that value; all others read every user.
func (s *Service) findUsers(ctx context.Context, f *Filter) (found []Resource, err error) {
	ids, narrow, err := s.candidates(ctx, f)
	if err != nil {
		return nil, err
	}
	keep := func(rows []userRow) error {
		users, err := s.shownUsers(ctx, rows)
		for _, u := range users {
			if f.Matches(u) {
				found = append(found, u)
			}
		}
		return err
	}
	if narrow {
		rows, err := s.c.Store.ScimUsersByID(ctx, ids)
		if err != nil {
			return nil, err
		}
		return found, keep(rows)
	}
	const batch = 1000
	after, last := time.Time{}, uuid.Nil
	for {
		rows, err := s.c.Store.ScimUsersAfter(ctx, after, last, batch)
		if err != nil {
			return nil, err
		}
		users := make([]userRow, len(rows))
		for i, r := range rows {
			users[i] = userRow(r)
		}
		if err := keep(users); err != nil || len(rows) < batch {
			return found, err
		}
		after, last = rows[batch-1].User.CreatedAt, rows[batch-1].User.ID
	}
}

// candidates returns the users that can match a filter, and whether the filter narrows them at all.
func (s *Service) candidates(ctx context.Context, f *Filter) (ids []uuid.UUID, narrow bool, err error) {
	if v, ok := f.equals("id"); ok {
		if id, ok := parseID(v); ok {
			ids = append(ids, id)
		}
		return ids, true, nil
	}
	if v, ok := f.equals("externalId"); ok && v != "" {
		ids, err = s.c.Store.ScimUserIDsByExternalID(ctx, v)
		return ids, true, err
	}
	if v, ok := f.equals("userName"); ok {
		ids, err = s.c.Store.ScimUserIDsByName(ctx, v)
		return ids, true, err
	}
	return nil, false, nil
}

// User returns a user.
func (s *Service) User(ctx context.Context, id string) (Resource, error) {
	uid, ok := parseID(id)
	if !ok {
		return nil, missing("User", id)
	}
	rows, err := s.c.Store.ScimUsersByID(ctx, []uuid.UUID{uid})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, missing("User", id)
	}
	users, err := s.shownUsers(ctx, rows)
	if err != nil {
		return nil, err
	}
	return users[0], nil
}

// ShownUser returns the user with the attributes that a request asks for.
func (s *Service) ShownUser(ctx context.Context, id string, q Query) (Resource, error) {
	r, err := s.User(ctx, id)
	return r.project(&userSchema, q.Attributes, q.Excluded), err
}

// shownUsers returns the resources of rows, with their groups in one query.
func (s *Service) shownUsers(ctx context.Context, rows []userRow) ([]Resource, error) {
	if len(rows) == 0 {
		return []Resource{}, nil
	}
	org, err := s.defaultOrganization(ctx)
	if err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, len(rows))
	for i, r := range rows {
		ids[i] = r.User.ID
	}
	memberships, err := s.c.Store.ScimGroupsOfUsers(ctx, ids, org)
	if err != nil {
		return nil, err
	}
	groups := map[uuid.UUID][]Resource{}
	for _, m := range memberships {
		groups[m.UserID] = append(groups[m.UserID], Resource{
			"value": m.ID.String(), "display": m.DisplayName, "type": "direct", "$ref": s.location("Groups", m.ID.String()),
		})
	}
	out := make([]Resource, len(rows))
	for i, r := range rows {
		if out[i], err = s.shownUser(r); err != nil {
			return nil, err
		}
		if g := groups[r.User.ID]; len(g) > 0 {
			out[i]["groups"] = g
		}
	}
	return out, nil
}

// shownUser returns the resource of a row, without groups.
func (s *Service) shownUser(r userRow) (Resource, error) {
	out := Resource{}
	stored := map[string]any{}
	if err := json.Unmarshal(r.Profile, &stored); err != nil {
		return nil, fmt.Errorf("read the SCIM profile of %s: %w", r.User.Username, err)
	}
	for name, v := range stored {
		if a := userSchema.attribute(name); a != nil {
			parsed, err := a.parse(v)
			if err != nil {
				return nil, err
			}
			out.store(a, parsed)
		}
	}
	out["schemas"], out["id"], out["userName"] = []string{userURN}, r.User.ID.String(), r.UserName
	out["active"] = r.User.Status != string(codersdk.UserStatusSuspended)
	if r.ExternalID != "" {
		out["externalId"] = r.ExternalID
	}
	if r.UserName == "" { // the provider does not manage it yet
		out["userName"] = r.User.Email
		if r.User.Name != "" {
			out["displayName"], out["name"] = r.User.Name, Resource{"formatted": r.User.Name}
		}
	}
	if out["emails"] == nil && r.User.Email != "" {
		out["emails"] = []Resource{{"value": r.User.Email, "type": "work", "primary": true}}
	}
	out["meta"] = Resource{
		"resourceType": "User", "created": rfc3339(r.User.CreatedAt), "lastModified": rfc3339(r.User.UpdatedAt),
		"location": s.location("Users", r.User.ID.String()),
	}
	return out, nil
}

func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// userChange is what a resource asks of an account.
type userChange struct {
	userName, externalID, email, name string
	profile                           json.RawMessage
	active                            bool
}

// change reads a resource. The email address is the primary one, else the first one for work, else the first one,
// else the userName, else that of the account.
func change(r Resource, account string) (userChange, error) {
	c := userChange{userName: strings.TrimSpace(r.str("userName")), externalID: r.str("externalId"), email: emailOf(r), active: r["active"] != false}
	if c.userName == "" {
		return c, invalid(invalidValue, "The attribute userName is required")
	}
	if c.email == "" && codersdk.CheckEmail("userName", c.userName) == nil {
		c.email = c.userName
	}
	if c.email == "" {
		c.email = account
	}
	if err := codersdk.CheckEmail("emails", c.email); err != nil {
		return c, invalid(invalidValue, "The attribute emails needs a valid email address, because the userName is none")
	}
	n, _ := r["name"].(Resource)
	for _, name := range []string{r.str("displayName"), n.str("formatted"), n.str("givenName") + " " + n.str("familyName")} {
		if c.name = profile.FullName(name); c.name != "" {
			break
		}
	}
	stored := Resource{}
	for _, name := range storedAttributes {
		if v := r[name]; v != nil {
			stored[name] = v
		}
	}
	var err error
	c.profile, err = json.Marshal(stored)
	return c, err
}

func emailOf(r Resource) string {
	list := elements(r["emails"])
	for _, fits := range []func(e Resource) bool{
		func(e Resource) bool { return e["primary"] == true },
		func(e Resource) bool { return strings.EqualFold(e.str("type"), "work") },
		func(Resource) bool { return true },
	} {
		if i := slices.IndexFunc(list, fits); i >= 0 {
			return strings.TrimSpace(list[i].str("value"))
		}
	}
	return ""
}

// ReplaceUser changes a user to what the body of a PUT says. A user stays active or not if the body does not say.
func (s *Service) ReplaceUser(ctx context.Context, actor access.Subject, id string, body map[string]any) (Resource, error) {
	return s.updateUser(ctx, actor, id, func(old Resource) (Resource, error) {
		r, err := read(&userSchema, body)
		if err == nil && r["active"] == nil {
			r["active"] = old["active"]
		}
		return r, err
	})
}

// PatchUser applies the operations of a PATCH.
func (s *Service) PatchUser(ctx context.Context, actor access.Subject, id string, body map[string]any) (Resource, error) {
	return s.updateUser(ctx, actor, id, func(old Resource) (Resource, error) { return patch(&userSchema, old, body) })
}
