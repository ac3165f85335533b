package identity

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
)

func TestCreateUserRefuses(t *testing.T) {
	h := newHouse(t, Config{})
	good := codersdk.CreateUserRequestWithOrgs{Email: "ann@example.com", Username: "ann", LoginType: codersdk.LoginTypeNone}
	for name, c := range map[string]struct {
		edit func(*codersdk.CreateUserRequestWithOrgs)
		code codersdk.Code
	}{
		"no email":               {func(r *codersdk.CreateUserRequestWithOrgs) { r.Email = "" }, codersdk.CodeInvalid},
		"a name for an email":    {func(r *codersdk.CreateUserRequestWithOrgs) { r.Email = "Ann <ann@example.com>" }, codersdk.CodeInvalid},
		"double hyphen":          {func(r *codersdk.CreateUserRequestWithOrgs) { r.Username = "a--b" }, codersdk.CodeInvalid},
		"long name":              {func(r *codersdk.CreateUserRequestWithOrgs) { r.Username = strings.Repeat("a", 33) }, codersdk.CodeInvalid},
		"no password":            {func(r *codersdk.CreateUserRequestWithOrgs) { r.LoginType = "" }, codersdk.CodeInvalid},
		"headless with password": {func(r *codersdk.CreateUserRequestWithOrgs) { r.Password = password }, codersdk.CodeInvalid},
		"unknown login type":     {func(r *codersdk.CreateUserRequestWithOrgs) { r.LoginType = "magic" }, codersdk.CodeInvalid},
		"born suspended":         {func(r *codersdk.CreateUserRequestWithOrgs) { r.UserStatus = codersdk.UserStatusSuspended }, codersdk.CodeInvalid},
		"no such organization":   {func(r *codersdk.CreateUserRequestWithOrgs) { r.OrganizationIDs = []uuid.UUID{uuid.New()} }, codersdk.CodeInvalid},
		"email taken":            {func(r *codersdk.CreateUserRequestWithOrgs) { r.Email = "Root@Example.com" }, codersdk.CodeConflict},
		"name taken":             {func(r *codersdk.CreateUserRequestWithOrgs) { r.Username = "ROOT" }, codersdk.CodeConflict},
	} {
		req := good
		c.edit(&req)
		_, err := h.CreateUser(t.Context(), h.root, req)
		want(t, name, err, c.code)
	}
	member := h.user("mel")
	_, err := h.CreateUser(t.Context(), member, good)
	want(t, "a member makes a user", err, codersdk.CodeForbidden)
	_, err = h.CreateUser(t.Context(), h.root, good)
	want(t, "after all these", err, "")
}

func TestOwnerProtection(t *testing.T) {
	h := newHouse(t, Config{})
	ctx := t.Context()
	admin := h.user("una", access.RoleUserAdmin)
	ann := h.user("ann")
	for name, err := range map[string]error{
		"last owner gives up":  second(h.UpdateRoles(ctx, h.root, "me", codersdk.UpdateRoles{})),
		"user admin promotes":  second(h.UpdateRoles(ctx, admin, "ann", codersdk.UpdateRoles{Roles: []string{"owner"}})),
		"member promotes self": second(h.UpdateRoles(ctx, ann, "me", codersdk.UpdateRoles{Roles: []string{"owner"}})),
		"admin suspends owner": second(h.SetStatus(ctx, admin, "root", codersdk.UserStatusSuspended)),
		"admin deletes owner":  h.DeleteUser(ctx, admin, "root"),
		"admin renames owner":  second(h.UpdateProfile(ctx, admin, "root", codersdk.UpdateUserProfileRequest{Username: "toor"})),
		"owner deletes self":   h.DeleteUser(ctx, h.root, "root"),
		"member sees another":  second(h.UserByRef(ctx, ann, "root")),
		"unknown role":         second(h.UpdateRoles(ctx, h.root, "ann", codersdk.UpdateRoles{Roles: []string{"king"}})),
	} {
		if err == nil {
			t.Errorf("%s: went through", name)
		}
	}
	_, err := h.UserByRef(ctx, ann, "root")
	want(t, "a user hidden", err, codersdk.CodeNotFound)
	if _, err := h.UpdateRoles(ctx, h.root, "ann", codersdk.UpdateRoles{Roles: []string{"owner", "member", "owner"}}); err != nil {
		t.Fatal(err)
	}
	ann = h.as(ann.UserID)
	if !ann.IsOwner() {
		t.Fatal("ann is no owner")
	}
	want(t, "with two, one may go", second(h.UpdateRoles(ctx, h.root, "me", codersdk.UpdateRoles{})), "")
	want(t, "but not the other", second(h.UpdateRoles(ctx, ann, "me", codersdk.UpdateRoles{})), codersdk.CodeConflict)
}

func second[T any](_ T, err error) error { return err }

func TestDeleteUser(t *testing.T) {
	h := newHouse(t, Config{})
	ann := h.user("ann")
	key, err := h.CreateToken(t.Context(), ann, "me", codersdk.CreateTokenRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "delete", h.DeleteUser(t.Context(), h.root, "ann"), "")
	_, err = h.Authenticate(t.Context(), key.Key, here)
	want(t, "token of the deleted", err, codersdk.CodeUnauthenticated)
	_, err = h.UserByRef(t.Context(), h.root, "ann")
	want(t, "the deleted", err, codersdk.CodeNotFound)
	h.user("ann") // the name is free again
}

func TestUsersList(t *testing.T) {
	h := newHouse(t, Config{})
	h.user("ann", access.RoleAuditor)
	h.clock.pass(24 * time.Hour)
	bob := h.user("bob")
	h.user("cy")
	if _, err := h.SetStatus(t.Context(), h.root, "cy", codersdk.UserStatusSuspended); err != nil {
		t.Fatal(err)
	}
	later := h.clock.now().Add(-time.Hour)
	names := func(actor access.Subject, f UserSearch) []string {
		t.Helper()
		f.Limit = max(f.Limit, 1)
		if f.Limit == 1 && f.AfterID == uuid.Nil && f.Offset == 0 {
			f.Limit = 100
		}
		out, err := h.Users(t.Context(), actor, f)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, u := range out.Users {
			got = append(got, u.Username)
		}
		return got
	}
	for name, c := range map[string]struct {
		actor access.Subject
		f     UserSearch
		want  []string
	}{
		"all":         {h.root, UserSearch{}, []string{"ann", "bob", "cy", "root"}},
		"member":      {bob, UserSearch{}, []string{"bob"}},
		"text":        {h.root, UserSearch{Text: "BO"}, []string{"bob"}},
		"like sign":   {h.root, UserSearch{Text: "%"}, []string{}},
		"status":      {h.root, UserSearch{Statuses: []string{"suspended"}}, []string{"cy"}},
		"role":        {h.root, UserSearch{Roles: []string{"owner", "auditor"}}, []string{"ann", "root"}},
		"login type":  {h.root, UserSearch{LoginTypes: []string{"password"}}, []string{"root"}},
		"created":     {h.root, UserSearch{CreatedAfter: &later}, []string{"bob", "cy"}},
		"offset":      {h.root, UserSearch{Limit: 2, Offset: 1}, []string{"bob", "cy"}},
		"after an id": {h.root, UserSearch{Limit: 2, AfterID: bob.UserID}, []string{"cy", "root"}},
	} {
		if got := names(c.actor, c.f); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestOrganizations(t *testing.T) {
	h := newHouse(t, Config{})
	ctx := t.Context()
	ann, bob := h.user("ann"), h.user("bob")
	_, err := h.CreateOrganization(ctx, ann, codersdk.CreateOrganizationRequest{Name: "lab"})
	want(t, "a member makes an organization", err, codersdk.CodeForbidden)
	lab, err := h.CreateOrganization(ctx, h.root, codersdk.CreateOrganizationRequest{Name: "lab"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]codersdk.Code{"lab": codersdk.CodeConflict, "LAB": codersdk.CodeConflict, "default": codersdk.CodeInvalid, "a b": codersdk.CodeInvalid, "": codersdk.CodeInvalid} {
		_, err := h.CreateOrganization(ctx, h.root, codersdk.CreateOrganizationRequest{Name: name})
		want(t, "organization "+name, err, c)
	}
	for field, text := range map[string]codersdk.CreateOrganizationRequest{
		"icon": {Name: "other", Icon: strings.Repeat("x", 2049)}, "description": {Name: "other", Description: strings.Repeat("x", 1001)}, "display_name": {Name: "other", DisplayName: strings.Repeat("x", 65)},
	} {
		_, err := h.CreateOrganization(ctx, h.root, text)
		want(t, "too much "+field, err, codersdk.CodeInvalid)
	}
	_, err = h.OrganizationByRef(ctx, ann, "lab")
	want(t, "an organization hidden", err, codersdk.CodeNotFound)
	if o, err := h.OrganizationByRef(ctx, ann, "default"); err != nil || !o.IsDefault {
		t.Errorf("default: %+v %v", o, err)
	}
	want(t, "add", second(h.AddMember(ctx, h.root, "lab", "ann")), "")
	twice := second(h.AddMember(ctx, h.root, "lab", "ann"))
	want(t, "add twice", twice, codersdk.CodeConflict)
	if !strings.Contains(twice.Error(), "already exists") { // clients look for these words
		t.Error(twice)
	}
	want(t, "member adds", second(h.AddMember(ctx, h.as(ann.UserID), "lab", "bob")), codersdk.CodeForbidden)
	want(t, "make admin", second(h.UpdateMemberRoles(ctx, h.root, "lab", "ann", codersdk.UpdateRoles{Roles: []string{access.RoleOrganizationAdmin}})), "")
	ann = h.as(ann.UserID)
	want(t, "admin adds", second(h.AddMember(ctx, ann, "lab", "bob")), "")
	want(t, "admin adds elsewhere", second(h.AddMember(ctx, ann, "default", "bob")), codersdk.CodeForbidden)
	want(t, "own roles", second(h.UpdateMemberRoles(ctx, ann, "lab", "ann", codersdk.UpdateRoles{})), codersdk.CodeInvalid)
	want(t, "site role in an organization", second(h.UpdateMemberRoles(ctx, ann, "lab", "bob", codersdk.UpdateRoles{Roles: []string{"owner"}})), codersdk.CodeInvalid)
	members, err := h.Members(ctx, h.as(bob.UserID), "lab", MemberSearch{Limit: 2})
	if err != nil || members.Count != 3 || len(members.Members) != 2 || members.Members[0].Username != "ann" {
		t.Errorf("members: %+v %v", members, err)
	}
	want(t, "remove", h.RemoveMember(ctx, ann, "lab", "bob"), "")
	want(t, "remove again", h.RemoveMember(ctx, ann, "lab", "bob"), codersdk.CodeNotFound)
	_, err = h.UpdateOrganization(ctx, ann, "lab", codersdk.UpdateOrganizationRequest{DisplayName: "The Lab"})
	want(t, "admin edits", err, "")
	want(t, "the default one", h.DeleteOrganization(ctx, h.root, "default"), codersdk.CodeInvalid)
	want(t, "delete", h.DeleteOrganization(ctx, h.root, "lab"), "")
	_, err = h.OrganizationByRef(ctx, h.root, lab.ID.String())
	want(t, "deleted", err, codersdk.CodeNotFound)
	if got := h.as(ann.UserID); len(got.OrganizationRoles) != 1 {
		t.Errorf("membership of a deleted organization counts: %v", got.OrganizationRoles)
	}
}

func TestAuditLog(t *testing.T) {
	h := newHouse(t, Config{})
	ctx := t.Context()
	ann := h.user("ann")
	want(t, "member reads", second(h.AuditLogs(ctx, ann, AuditSearch{Search: audit.Search{Limit: 10}})), codersdk.CodeForbidden)
	if err := h.UpdatePassword(ctx, h.root, "me", codersdk.UpdateUserPasswordRequest{OldPassword: password, Password: password + " 2"}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.login("root@example.com", "wrong horse"); err == nil {
		t.Fatal("a wrong password fits")
	}
	auditor := h.user("olga", access.RoleAuditor)
	if err := h.DeleteUser(ctx, h.root, "ann"); err != nil {
		t.Fatal(err)
	}
	out, err := h.AuditLogs(ctx, auditor, AuditSearch{Search: audit.Search{Limit: 100}})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range out.AuditLogs {
		for name, d := range l.Diff {
			if name == "hashed_password" && (!d.Secret || d.Old != "" || d.New != "") {
				t.Errorf("a password is in the log: %+v", d)
			}
		}
		if l.IP != "192.0.2.1" || l.RequestID != "r1" || l.User == nil || l.Description == "" {
			t.Errorf("incomplete row: %+v", l)
		}
	}
	count := func(f AuditSearch) int {
		t.Helper()
		f.Limit = 100
		out, err := h.AuditLogs(ctx, auditor, f)
		if err != nil {
			t.Fatal(err)
		}
		return out.Count
	}
	now := time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		f    AuditSearch
		want int
	}{
		"creations":       {AuditSearch{Search: audit.Search{Action: "create", ResourceType: "user"}}, 3},
		"of one user":     {AuditSearch{Search: audit.Search{ResourceType: "user", ResourceID: ann.UserID}}, 2},
		"by name":         {AuditSearch{Search: audit.Search{ResourceTarget: "ann", Action: "delete"}}, 1},
		"refused logins":  {AuditSearch{Search: audit.Search{Action: "login"}}, 1},
		"by nobody":       {AuditSearch{Search: audit.Search{Username: "nobody"}}, 0},
		"by me":           {AuditSearch{Search: audit.Search{Username: "me"}}, 0},
		"in the future":   {AuditSearch{Search: audit.Search{DateFrom: &now}}, 0},
		"by organization": {AuditSearch{Organization: "default"}, 0},
	} {
		if got := count(c.f); got != c.want {
			t.Errorf("%s: %d rows, want %d", name, got, c.want)
		}
	}
	for _, l := range out.AuditLogs {
		if l.ResourceType == codersdk.ResourceTypeUser && l.ResourceTarget == "ann" && !l.IsDeleted {
			t.Error("the row about a deleted user does not say so")
		}
	}
}
