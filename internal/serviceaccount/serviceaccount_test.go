package serviceaccount_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/serviceaccount"
)

// deployment has an owner named root, and a clock.
type deployment struct {
	*serviceaccount.Service
	t     *testing.T
	store *postgres.Store
	users *identity.Service
	root  access.Subject
	now   time.Time
}

func newDeployment(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{t: t, store: postgrestest.New(t), now: time.Now().UTC().Truncate(time.Second)}
	clock := func() time.Time { return d.now }
	d.users = identity.New(identity.Config{Store: d.store, Now: clock})
	d.Service = serviceaccount.New(serviceaccount.Config{Store: d.store, Identity: d.users, Now: clock})
	first, err := d.users.CreateFirstUser(t.Context(), access.Origin{}, codersdk.CreateFirstUserRequest{Email: "root@example.com", Username: "root", Password: "correct horse battery"})
	d.must(err)
	d.root = d.as(first.UserID)
	return d
}

func (d *deployment) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// want fails the test unless err has the code; "" is no error.
func (d *deployment) want(what string, err error, code codersdk.Code) {
	d.t.Helper()
	if got := codersdk.CodeOf(err); got != code {
		d.t.Errorf("%s: code %q, want %q (%v)", what, got, code, err)
	}
}

func (d *deployment) as(id uuid.UUID) access.Subject {
	d.t.Helper()
	s, err := d.users.SubjectOf(d.t.Context(), id)
	d.must(err)
	return s
}

// user creates a user with site roles.
func (d *deployment) user(name string, roles ...string) access.Subject {
	d.t.Helper()
	u, err := d.users.CreateUser(d.t.Context(), d.root, codersdk.CreateUserRequestWithOrgs{
		Email: name + "@example.com", Username: name, LoginType: codersdk.LoginTypeNone, UserStatus: codersdk.UserStatusActive,
	})
	d.must(err)
	if len(roles) > 0 {
		_, err = d.users.UpdateRoles(d.t.Context(), d.root, name, codersdk.UpdateRoles{Roles: roles})
		d.must(err)
	}
	return d.as(u.ID)
}

// account creates a service account.
func (d *deployment) account(actor access.Subject, name string, settings *codersdk.UpdateServiceAccountRequest) codersdk.User {
	d.t.Helper()
	u, err := d.users.CreateUser(d.t.Context(), actor, codersdk.CreateUserRequestWithOrgs{Username: name, ServiceAccount: true, ServiceAccountSettings: settings})
	d.must(err)
	return u
}

func TestCreate(t *testing.T) {
	d := newDeployment(t)
	ctx := t.Context()
	admin, member := d.user("uma", access.RoleUserAdmin), d.user("mia")
	ci := d.account(admin, "ci", nil)
	if !ci.IsServiceAccount || ci.Email != "" || ci.LoginType != codersdk.LoginTypeNone || ci.Status != codersdk.UserStatusActive || len(ci.OrganizationIDs) != 1 {
		t.Errorf("created %+v", ci)
	}
	d.account(admin, "nightly", nil) // a second one without an email address
	got, err := d.Get(ctx, admin, "ci")
	if err != nil || got.OwnerUsername != "uma" || got.ExpiresAt != nil || len(got.Scopes) != 0 || got.OwnerStatus != codersdk.UserStatusActive {
		t.Errorf("settings %+v, %v", got, err)
	}
	for what, req := range map[string]codersdk.CreateUserRequestWithOrgs{
		"an email":                           {Username: "x", ServiceAccount: true, Email: "x@example.com"},
		"a password":                         {Username: "x", ServiceAccount: true, Password: "correct horse battery"},
		"a login type":                       {Username: "x", ServiceAccount: true, LoginType: codersdk.LoginTypeOIDC},
		"no email of a user":                 {Username: "x", LoginType: codersdk.LoginTypeNone},
		"an unknown owner":                   {Username: "x", ServiceAccount: true, ServiceAccountSettings: &codersdk.UpdateServiceAccountRequest{OwnerID: new(uuid.New())}},
		"an owner that is a service account": {Username: "x", ServiceAccount: true, ServiceAccountSettings: &codersdk.UpdateServiceAccountRequest{OwnerID: &ci.ID}},
		"an expiry in the past":              {Username: "x", ServiceAccount: true, ServiceAccountSettings: &codersdk.UpdateServiceAccountRequest{ExpiresAt: new(d.now)}},
		"an unknown scope":                   {Username: "x", ServiceAccount: true, ServiceAccountSettings: &codersdk.UpdateServiceAccountRequest{Scopes: []codersdk.APIKeyScope{"fly"}}},
	} {
		_, err := d.users.CreateUser(ctx, admin, req)
		d.want(what, err, codersdk.CodeInvalid)
	}
	_, err = d.users.CreateUser(ctx, member, codersdk.CreateUserRequestWithOrgs{Username: "x", ServiceAccount: true})
	d.want("a member creates one", err, codersdk.CodeForbidden)
	for service, count := range map[*bool]int{nil: 5, new(true): 2, new(false): 3} {
		list, err := d.users.Users(ctx, admin, identity.UserSearch{ServiceAccount: service, Limit: 10})
		if err != nil || list.Count != count {
			t.Errorf("%d users, want %d: %v", list.Count, count, err)
		}
	}
	_, err = d.users.Login(ctx, access.Origin{}, codersdk.LoginWithPasswordRequest{Email: "", Password: "correct horse battery"})
	d.want("a sign-in", err, codersdk.CodeInvalid)
	d.want("a password", d.users.UpdatePassword(ctx, d.root, "ci", codersdk.UpdateUserPasswordRequest{Password: "correct horse battery"}), codersdk.CodeInvalid)
	_, err = d.Get(ctx, d.root, "mia")
	d.want("settings of a user", err, codersdk.CodeNotFound)
	counts, err := d.store.MetricUsers(ctx, d.now.Add(-time.Hour))
	if err != nil || counts.Active != 3 {
		t.Errorf("%d active users: %v", counts.Active, err)
	}
	changes, err := d.store.InsightStatusChanges(ctx, []time.Time{d.now.Add(-time.Hour)})
	var users int64
	for _, c := range changes {
		users += c.Delta
	}
	if err != nil || users != 3 {
		t.Errorf("insights count %d users: %v", users, err)
	}
}

func TestTokens(t *testing.T) {
	d := newDeployment(t)
	ctx := t.Context()
	admin, responsible, other := d.user("uma", access.RoleUserAdmin), d.user("rae"), d.user("otto")
	day := d.now.Add(24 * time.Hour)
	ci := d.account(d.root, "ci", &codersdk.UpdateServiceAccountRequest{
		OwnerID: &responsible.UserID, ExpiresAt: &day, Scopes: []codersdk.APIKeyScope{"template:*", "workspace:read"},
	})
	create := func(actor access.Subject, req codersdk.CreateTokenRequest) (string, error) {
		out, err := d.users.CreateToken(ctx, actor, "ci", req)
		return out.Key, err
	}
	token, err := create(responsible, codersdk.CreateTokenRequest{TokenName: "a"})
	d.must(err)
	subject, err := d.users.Authenticate(ctx, token, access.Origin{})
	if err != nil || subject.UserID != ci.ID || len(subject.Scopes) != 2 {
		t.Errorf("acts as %+v, %v", subject, err)
	}
	_, err = create(admin, codersdk.CreateTokenRequest{TokenName: "b", Scopes: []codersdk.APIKeyScope{"template:read"}, Lifetime: time.Hour})
	d.must(err)
	_, err = create(other, codersdk.CreateTokenRequest{})
	d.want("another user", err, codersdk.CodeForbidden)
	_, err = d.users.Tokens(ctx, other, "ci", false, false, codersdk.Page{})
	d.want("another user lists", err, codersdk.CodeNotFound)
	_, err = create(admin, codersdk.CreateTokenRequest{Scopes: []codersdk.APIKeyScope{"workspace:delete"}})
	d.want("another scope", err, codersdk.CodeInvalid)
	_, err = create(admin, codersdk.CreateTokenRequest{Scope: codersdk.APIKeyScopeAll})
	d.want("all scopes", err, codersdk.CodeInvalid)
	_, err = create(admin, codersdk.CreateTokenRequest{Lifetime: 25 * time.Hour})
	d.want("a token that outlives the account", err, codersdk.CodeInvalid)
	_, err = d.users.CreateSessionKey(ctx, d.root, "ci")
	d.want("a session", err, codersdk.CodeForbidden)
	_, err = d.users.CreateToken(ctx, admin, "otto", codersdk.CreateTokenRequest{})
	d.want("a token of a user", err, codersdk.CodeForbidden)
	narrow := admin
	narrow.Scopes = []codersdk.APIKeyScope{"user:update", "user:read"}
	_, err = create(narrow, codersdk.CreateTokenRequest{})
	d.want("with a token for users alone", err, codersdk.CodeForbidden)

	// Nobody gets more permissions through an account.
	_, err = d.users.UpdateRoles(ctx, d.root, "ci", codersdk.UpdateRoles{Roles: []string{access.RoleTemplateAdmin}})
	d.must(err)
	for _, actor := range []access.Subject{admin, responsible} {
		_, err = create(actor, codersdk.CreateTokenRequest{})
		d.want("a token with more permissions", err, codersdk.CodeForbidden)
	}
	_, err = d.Update(ctx, admin, "ci", codersdk.UpdateServiceAccountRequest{})
	d.want("a change of an account with more permissions", err, codersdk.CodeForbidden)
	_, err = d.users.UpdateRoles(ctx, d.root, "ci", codersdk.UpdateRoles{})
	d.must(err)

	// The user who is responsible lists and revokes, but does not change the limits.
	list, err := d.users.Tokens(ctx, responsible, "ci", false, false, codersdk.Page{})
	if err != nil || len(list) != 2 {
		t.Errorf("%d tokens, %v", len(list), err)
	}
	if _, err := d.Get(ctx, responsible, "ci"); err != nil {
		t.Error(err)
	}
	_, err = d.Update(ctx, responsible, "ci", codersdk.UpdateServiceAccountRequest{})
	d.want("the user who is responsible changes the limits", err, codersdk.CodeNotFound)
	_, err = d.Get(ctx, other, "ci")
	d.want("another user reads the settings", err, codersdk.CodeNotFound)

	// Narrower settings revoke a, which has workspace:read, and shorten b.
	soon := d.now.Add(30 * time.Minute)
	out, err := d.Update(ctx, admin, "ci", codersdk.UpdateServiceAccountRequest{OwnerID: &responsible.UserID, ExpiresAt: &soon, Scopes: []codersdk.APIKeyScope{"template:read"}})
	if err != nil || !out.ExpiresAt.Equal(soon) || len(out.Scopes) != 1 {
		t.Errorf("updated to %+v, %v", out, err)
	}
	_, err = d.users.Authenticate(ctx, token, access.Origin{})
	d.want("a token with a scope that was removed", err, codersdk.CodeUnauthenticated)
	list, err = d.users.Tokens(ctx, admin, "ci", false, false, codersdk.Page{})
	if err != nil || len(list) != 1 || !list[0].ExpiresAt.Equal(soon) {
		t.Errorf("tokens %+v, %v", list, err)
	}
	if n, err := d.SuspendExpired(ctx); n != 0 || err != nil {
		t.Errorf("suspended %d, %v", n, err)
	}
	d.now = soon
	if n, err := d.SuspendExpired(ctx); n != 1 || err != nil {
		t.Errorf("suspended %d, %v", n, err)
	}
	_, err = create(admin, codersdk.CreateTokenRequest{})
	d.want("a token of an expired account", err, codersdk.CodeInvalid)
	if u, err := d.users.UserByRef(ctx, admin, "ci"); err != nil || u.Status != codersdk.UserStatusSuspended {
		t.Errorf("%+v, %v", u, err)
	}
	if n, err := d.SuspendExpired(ctx); n != 0 || err != nil {
		t.Errorf("suspended %d again, %v", n, err)
	}
}
