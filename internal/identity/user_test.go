package identity

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
)

func TestCreateUserRefuses(t *testing.T) {
	h := newHouse(t, Config{})
	good := coder.CreateUserRequestWithOrgs{Email: "ann@example.com", Username: "ann", LoginType: coder.LoginTypeNone}
	for name, c := range map[string]struct {
		edit func(*coder.CreateUserRequestWithOrgs)
		code coder.Code
	}{
		"no e-mail":              {func(r *coder.CreateUserRequestWithOrgs) { r.Email = "" }, coder.CodeInvalid},
		"a name for an e-mail":   {func(r *coder.CreateUserRequestWithOrgs) { r.Email = "Ann <ann@example.com>" }, coder.CodeInvalid},
		"double hyphen":          {func(r *coder.CreateUserRequestWithOrgs) { r.Username = "a--b" }, coder.CodeInvalid},
		"long name":              {func(r *coder.CreateUserRequestWithOrgs) { r.Username = strings.Repeat("a", 33) }, coder.CodeInvalid},
		"no password":            {func(r *coder.CreateUserRequestWithOrgs) { r.LoginType = "" }, coder.CodeInvalid},
		"headless with password": {func(r *coder.CreateUserRequestWithOrgs) { r.Password = password }, coder.CodeInvalid},
		"unknown login type":     {func(r *coder.CreateUserRequestWithOrgs) { r.LoginType = "magic" }, coder.CodeInvalid},
		"born suspended":         {func(r *coder.CreateUserRequestWithOrgs) { r.UserStatus = coder.UserStatusSuspended }, coder.CodeInvalid},
		"no such organization":   {func(r *coder.CreateUserRequestWithOrgs) { r.OrganizationIDs = []uuid.UUID{uuid.New()} }, coder.CodeInvalid},
		"e-mail taken":           {func(r *coder.CreateUserRequestWithOrgs) { r.Email = "Root@Example.com" }, coder.CodeConflict},
		"name taken":             {func(r *coder.CreateUserRequestWithOrgs) { r.Username = "ROOT" }, coder.CodeConflict},
	} {
		req := good
		c.edit(&req)
		_, err := h.CreateUser(t.Context(), h.root, req)
		want(t, name, err, c.code)
	}
	member := h.user("mel")
	_, err := h.CreateUser(t.Context(), member, good)
	want(t, "a member makes a user", err, coder.CodeForbidden)
	_, err = h.CreateUser(t.Context(), h.root, good)
	want(t, "after all these", err, "")
}

func TestOwnerProtection(t *testing.T) {
	h := newHouse(t, Config{})
	ctx := t.Context()
	admin := h.user("una", access.RoleUserAdmin)
	ann := h.user("ann")
	for name, err := range map[string]error{
		"last owner gives up":  second(h.UpdateRoles(ctx, h.root, "me", coder.UpdateRoles{})),
		"user admin promotes":  second(h.UpdateRoles(ctx, admin, "ann", coder.UpdateRoles{Roles: []string{"owner"}})),
		"member promotes self": second(h.UpdateRoles(ctx, ann, "me", coder.UpdateRoles{Roles: []string{"owner"}})),
		"admin suspends owner": second(h.SetStatus(ctx, admin, "root", coder.UserStatusSuspended)),
		"admin deletes owner":  h.DeleteUser(ctx, admin, "root"),
		"admin renames owner":  second(h.UpdateProfile(ctx, admin, "root", coder.UpdateUserProfileRequest{Username: "toor"})),
		"owner deletes self":   h.DeleteUser(ctx, h.root, "root"),
		"member sees another":  second(h.UserByRef(ctx, ann, "root")),
		"unknown role":         second(h.UpdateRoles(ctx, h.root, "ann", coder.UpdateRoles{Roles: []string{"king"}})),
	} {
		if err == nil {
			t.Errorf("%s: went through", name)
		}
	}
	_, err := h.UserByRef(ctx, ann, "root")
	want(t, "a user hidden", err, coder.CodeNotFound)
	if _, err := h.UpdateRoles(ctx, h.root, "ann", coder.UpdateRoles{Roles: []string{"owner", "member", "owner"}}); err != nil {
		t.Fatal(err)
	}
	ann = h.as(ann.UserID)
	if !ann.IsOwner() {
		t.Fatal("ann is no owner")
	}
	want(t, "with two, one may go", second(h.UpdateRoles(ctx, h.root, "me", coder.UpdateRoles{})), "")
	want(t, "but not the other", second(h.UpdateRoles(ctx, ann, "me", coder.UpdateRoles{})), coder.CodeConflict)
}

func second[T any](_ T, err error) error { return err }

func TestDeleteUser(t *testing.T) {
	h := newHouse(t, Config{})
	ann := h.user("ann")
	key, err := h.CreateToken(t.Context(), ann, "me", coder.CreateTokenRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "delete", h.DeleteUser(t.Context(), h.root, "ann"), "")
	_, err = h.Authenticate(t.Context(), key.Key, here)
	want(t, "token of the deleted", err, coder.CodeUnauthenticated)
	_, err = h.UserByRef(t.Context(), h.root, "ann")
	want(t, "the deleted", err, coder.CodeNotFound)
	h.user("ann") // the name is free again
}

func TestUsersList(t *testing.T) {
	h := newHouse(t, Config{})
	h.user("ann", access.RoleAuditor)
	h.clock.pass(24 * time.Hour)
	bob := h.user("bob")
	h.user("cy")
	if _, err := h.SetStatus(t.Context(), h.root, "cy", coder.UserStatusSuspended); err != nil {
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
	_, err := h.CreateOrganization(ctx, ann, coder.CreateOrganizationRequest{Name: "lab"})
	want(t, "a member makes an organization", err, coder.CodeForbidden)
	lab, err := h.CreateOrganization(ctx, h.root, coder.CreateOrganizationRequest{Name: "lab"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]coder.Code{"lab": coder.CodeConflict, "LAB": coder.CodeConflict, "default": coder.CodeInvalid, "a b": coder.CodeInvalid, "": coder.CodeInvalid} {
		_, err := h.CreateOrganization(ctx, h.root, coder.CreateOrganizationRequest{Name: name})
		want(t, "organization "+name, err, c)
	}
	for field, text := range map[string]coder.CreateOrganizationRequest{
		"icon": {Name: "other", Icon: strings.Repeat("x", 2049)}, "description": {Name: "other", Description: strings.Repeat("x", 1001)}, "display_name": {Name: "other", DisplayName: strings.Repeat("x", 65)},
	} {
		_, err := h.CreateOrganization(ctx, h.root, text)
		want(t, "too much "+field, err, coder.CodeInvalid)
	}
	_, err = h.OrganizationByRef(ctx, ann, "lab")
	want(t, "an organization hidden", err, coder.CodeNotFound)
	if o, err := h.OrganizationByRef(ctx, ann, "default"); err != nil || !o.IsDefault {
		t.Errorf("default: %+v %v", o, err)
	}
	want(t, "add", second(h.AddMember(ctx, h.root, "lab", "ann")), "")
	want(t, "add twice", second(h.AddMember(ctx, h.root, "lab", "ann")), coder.CodeConflict)
	want(t, "member adds", second(h.AddMember(ctx, h.as(ann.UserID), "lab", "bob")), coder.CodeForbidden)
	want(t, "make admin", second(h.UpdateMemberRoles(ctx, h.root, "lab", "ann", coder.UpdateRoles{Roles: []string{access.RoleOrganizationAdmin}})), "")
	ann = h.as(ann.UserID)
	want(t, "admin adds", second(h.AddMember(ctx, ann, "lab", "bob")), "")
	want(t, "admin adds elsewhere", second(h.AddMember(ctx, ann, "default", "bob")), coder.CodeForbidden)
	want(t, "own roles", second(h.UpdateMemberRoles(ctx, ann, "lab", "ann", coder.UpdateRoles{})), coder.CodeInvalid)
	want(t, "site role in an organization", second(h.UpdateMemberRoles(ctx, ann, "lab", "bob", coder.UpdateRoles{Roles: []string{"owner"}})), coder.CodeInvalid)
	members, err := h.Members(ctx, h.as(bob.UserID), "lab", MemberSearch{Limit: 2})
	if err != nil || members.Count != 3 || len(members.Members) != 2 || members.Members[0].Username != "ann" {
		t.Errorf("members: %+v %v", members, err)
	}
	want(t, "remove", h.RemoveMember(ctx, ann, "lab", "bob"), "")
	want(t, "remove again", h.RemoveMember(ctx, ann, "lab", "bob"), coder.CodeNotFound)
	_, err = h.UpdateOrganization(ctx, ann, "lab", coder.UpdateOrganizationRequest{DisplayName: "The Lab"})
	want(t, "admin edits", err, "")
	want(t, "the default one", h.DeleteOrganization(ctx, h.root, "default"), coder.CodeInvalid)
	want(t, "delete", h.DeleteOrganization(ctx, h.root, "lab"), "")
	_, err = h.OrganizationByRef(ctx, h.root, lab.ID.String())
	want(t, "deleted", err, coder.CodeNotFound)
	if got := h.as(ann.UserID); len(got.OrganizationRoles) != 1 {
		t.Errorf("membership of a deleted organization counts: %v", got.OrganizationRoles)
	}
}

// TestSSHKeys lets OpenSSH itself read what we write.
func TestSSHKeys(t *testing.T) {
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("no ssh-keygen on this machine")
	}
	for _, algorithm := range []string{"ed25519", "ecdsa", "rsa4096"} {
		public, private, err := newSSHKey(algorithm)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, []byte(private), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(keygen, "-y", "-P", "", "-f", path).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", algorithm, err, out)
		}
		if got, want := strings.Fields(string(out)), strings.Fields(public); !slices.Equal(got[:2], want) {
			t.Errorf("%s: OpenSSH derives %s, we wrote %s", algorithm, got[:2], want)
		}
	}
	want(t, "unknown algorithm", CheckSSHKeyAlgorithm("dsa"), coder.CodeInvalid)
}

func TestAuditLog(t *testing.T) {
	h := newHouse(t, Config{})
	ctx := t.Context()
	ann := h.user("ann")
	want(t, "member reads", second(h.AuditLogs(ctx, ann, AuditSearch{Search: audit.Search{Limit: 10}})), coder.CodeForbidden)
	if err := h.UpdatePassword(ctx, h.root, "me", coder.UpdateUserPasswordRequest{OldPassword: password, Password: password + " 2"}); err != nil {
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
		if l.ResourceType == coder.ResourceTypeUser && l.ResourceTarget == "ann" && !l.IsDeleted {
			t.Error("the row about a deleted user does not say so")
		}
	}
}
