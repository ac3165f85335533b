package servertest_test

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// socket opens a WebSocket as the user of c.
func socket(t *testing.T, s *servertest.Server, c *codersdk.Client, path string) *websocket.Conn {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), s.AccessURL().String()+"/api/v2"+path, &websocket.DialOptions{
		HTTPHeader: http.Header{codersdk.SessionTokenHeader: {c.SessionToken}},
	})
	must(t, err)
	t.Cleanup(func() { conn.CloseNow() }) //nolint:errcheck // the test is over
	return conn
}

// ends waits until the server has ended the connection.
func ends(t *testing.T, what string, conn *websocket.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
	defer cancel()
	for {
		if _, _, err := conn.Read(ctx); err != nil {
			if ctx.Err() != nil {
				t.Errorf("%s: the connection is still open", what)
			}
			return
		}
	}
}

// TestConnectionsEndWithRights: a user who loses the right with which a connection
// was opened soon loses the connection, and others do not.
func TestConnectionsEndWithRights(t *testing.T) {
	s := servertest.Start(t, nil)
	ctx, root := t.Context(), s.Client
	other := socket(t, s, root, "/changes")
	for what, end := range map[string]func(c *codersdk.Client, u codersdk.User) error{
		"suspended": func(_ *codersdk.Client, u codersdk.User) error {
			_, err := root.SuspendUser(ctx, u.Username)
			return err
		},
		"deleted": func(_ *codersdk.Client, u codersdk.User) error { return root.DeleteUser(ctx, u.Username) },
		"role-lost": func(_ *codersdk.Client, u codersdk.User) error {
			_, err := root.UpdateUserRoles(ctx, u.Username, codersdk.UpdateRoles{})
			return err
		},
		"logged-out": func(c *codersdk.Client, _ codersdk.User) error { return c.Logout(ctx) },
		"member-no-more": func(_ *codersdk.Client, u codersdk.User) error {
			return root.RemoveOrganizationMember(ctx, "default", u.Username)
		},
		"password-changed": func(_ *codersdk.Client, u codersdk.User) error {
			return root.UpdateUserPassword(ctx, u.Username, codersdk.UpdateUserPasswordRequest{Password: servertest.Password + "2"})
		},
		"key-deleted": func(c *codersdk.Client, u codersdk.User) error {
			id, _, _ := strings.Cut(c.SessionToken, "-")
			return root.DeleteAPIKey(ctx, u.Username, id)
		},
	} {
		c, u := s.Member(t, what, "auditor")
		conn := socket(t, s, c, "/changes")
		must(t, end(c, u))
		ends(t, what, conn)
	}
	_, err := root.UpdateOrganizationMemberRoles(ctx, "default", "admin", codersdk.UpdateRoles{Roles: []string{"organization-auditor"}})
	must(t, err) // more than before: nothing ends
	must(t, other.Ping(other.CloseRead(ctx)))
}

// priced makes a template whose workspaces cost what their parameter says.
func priced(t *testing.T, s *servertest.Server, name string, cost string) codersdk.Template {
	t.Helper()
	archive, err := echo.Archive(map[string]string{
		"plan.start.jsonl":  `{"complete": {"dailyCost": ` + cost + `}}`,
		"graph.jsonl":       `{"complete": {}}`,
		"graph.start.jsonl": `{"complete": {"resources": [{"type": "null_resource", "name": "host", "dailyCost": ` + cost + `}]}}`,
	})
	must(t, err)
	up, err := s.Client.Upload(t.Context(), "application/x-tar", bytes.NewReader(archive))
	must(t, err)
	v, err := s.Client.CreateTemplateVersion(t.Context(), "default", codersdk.CreateTemplateVersionRequest{FileID: uuid.MustParse(up.Hash), Provisioner: "echo", StorageMethod: "file"})
	must(t, err)
	follow(t, s.Client, "/templateversions/"+v.ID.String()+"/logs")
	tpl, err := s.Client.CreateTemplate(t.Context(), "default", codersdk.CreateTemplateRequest{Name: name, TemplateVersionID: v.ID})
	must(t, err)
	return tpl
}

// built waits for a build and gives the workspace after it.
func built(t *testing.T, c *codersdk.Client, b codersdk.WorkspaceBuild) codersdk.Workspace {
	t.Helper()
	follow(t, c, "/workspacebuilds/"+b.ID.String()+"/logs")
	w, err := c.Workspace(t.Context(), b.WorkspaceID, url.Values{"include_deleted": {"true"}})
	must(t, err)
	return w
}

// TestQuota: what a member may spend is what their groups allow, and a build
// that would cost more fails and says so.
func TestQuota(t *testing.T) {
	s := servertest.Start(t, nil)
	ctx, root := t.Context(), s.Client
	ann, user := s.Member(t, "ann")
	tpl, cheap := priced(t, s, "three", "3"), priced(t, s, "free", "0")
	quota := func() codersdk.WorkspaceQuota {
		t.Helper()
		q, err := ann.WorkspaceQuota(ctx, "default", "me")
		must(t, err)
		return q
	}
	make1 := func(name string, tpl codersdk.Template) codersdk.Workspace {
		t.Helper()
		w, err := ann.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: name, TemplateID: tpl.ID})
		must(t, err)
		return built(t, ann, w.LatestBuild)
	}
	turn := func(w codersdk.Workspace, transition codersdk.WorkspaceTransition) codersdk.Workspace {
		t.Helper()
		b, err := ann.CreateWorkspaceBuild(ctx, w.ID, codersdk.CreateWorkspaceBuildRequest{Transition: transition})
		must(t, err)
		return built(t, ann, b)
	}
	if w := make1("free", cheap); w.LatestBuild.Status != codersdk.WorkspaceStatusRunning {
		t.Errorf("what costs nothing is %s: %s", w.LatestBuild.Status, w.LatestBuild.Job.Error)
	}
	poor := make1("poor", tpl)
	if poor.LatestBuild.Status != codersdk.WorkspaceStatusFailed || !strings.Contains(poor.LatestBuild.Job.Error, "insufficient quota: the workspace would cost 3 credits per day") {
		t.Errorf("without a budget: %s: %s", poor.LatestBuild.Status, poor.LatestBuild.Job.Error)
	}
	g, err := root.CreateGroup(ctx, "default", codersdk.CreateGroupRequest{Name: "rich", QuotaAllowance: 4})
	must(t, err)
	_, err = root.UpdateGroup(ctx, g.ID, codersdk.PatchGroupRequest{AddUsers: []string{user.ID.String()}})
	must(t, err)
	one := 1
	_, err = root.UpdateGroup(ctx, s.First.OrganizationID, codersdk.PatchGroupRequest{QuotaAllowance: &one})
	must(t, err)
	if q := quota(); q.Budget != 5 || q.CreditsConsumed != 0 {
		t.Errorf("the quota is %+v", q)
	}
	if poor = turn(poor, "start"); poor.LatestBuild.Status != codersdk.WorkspaceStatusRunning || poor.LatestBuild.DailyCost != 3 || quota().CreditsConsumed != 3 {
		t.Errorf("within the budget: %s: %s; %+v", poor.LatestBuild.Status, poor.LatestBuild.Job.Error, quota())
	}
	if w := make1("second", tpl); w.LatestBuild.Status != codersdk.WorkspaceStatusFailed || quota().CreditsConsumed != 3 {
		t.Errorf("beyond the budget: %s, %+v", w.LatestBuild.Status, quota())
	}
	// Less is always possible, also when the allowance has shrunk below it.
	_, err = root.UpdateGroup(ctx, g.ID, codersdk.PatchGroupRequest{QuotaAllowance: new(int)})
	must(t, err)
	if poor = turn(poor, "start"); poor.LatestBuild.Status != codersdk.WorkspaceStatusRunning {
		t.Errorf("a restart at the same cost: %s: %s", poor.LatestBuild.Status, poor.LatestBuild.Job.Error)
	}
	if poor = turn(poor, "stop"); poor.LatestBuild.Status != codersdk.WorkspaceStatusStopped || quota().CreditsConsumed != 0 {
		t.Errorf("a stop: %s: %s; %+v", poor.LatestBuild.Status, poor.LatestBuild.Job.Error, quota())
	}
	if poor = turn(poor, "delete"); poor.LatestBuild.Status != codersdk.WorkspaceStatusDeleted {
		t.Errorf("a delete: %s: %s", poor.LatestBuild.Status, poor.LatestBuild.Job.Error)
	}
	bob, _ := s.Member(t, "bob")
	if _, err := bob.WorkspaceQuota(ctx, "default", "ann"); codersdk.CodeOf(err) != codersdk.CodeNotFound {
		t.Errorf("bob reads the quota of ann: %v", err)
	}
}

// TestSharing: who a workspace is shared with may use it, run it, or neither,
// as the list says at the time, with users and with groups.
func TestSharing(t *testing.T) {
	s := servertest.Start(t, nil)
	ctx, root := t.Context(), s.Client
	agent := withAgent(t, s)
	w, err := root.WorkspaceByOwnerAndName(ctx, "me", "dev", nil)
	must(t, err)
	ann, a := s.Member(t, "ann")
	bob, b := s.Member(t, "bob")
	g, err := root.CreateGroup(ctx, "default", codersdk.CreateGroupRequest{Name: "friends"})
	must(t, err)
	_, err = root.UpdateGroup(ctx, g.ID, codersdk.PatchGroupRequest{AddUsers: []string{b.ID.String()}})
	must(t, err)
	sees := func(c *codersdk.Client) bool {
		t.Helper()
		_, one := c.Workspace(ctx, w.ID, nil)
		many, err := c.Workspaces(ctx, nil)
		must(t, err)
		if (one == nil) != (many.Count == 1) {
			t.Errorf("the list has %d, one says %v", many.Count, one)
		}
		return one == nil
	}
	if sees(ann) || sees(bob) {
		t.Fatal("nothing is shared yet")
	}
	must(t, root.UpdateWorkspaceACL(ctx, w.ID, codersdk.UpdateWorkspaceACL{
		UserRoles:  map[uuid.UUID]codersdk.WorkspaceRole{a.ID: codersdk.WorkspaceRoleAdmin},
		GroupRoles: map[uuid.UUID]codersdk.WorkspaceRole{g.ID: codersdk.WorkspaceRoleUse},
	}))
	if !sees(ann) || !sees(bob) {
		t.Fatal("what is shared is not seen")
	}
	w, err = ann.Workspace(ctx, w.ID, nil)
	must(t, err)
	if len(w.SharedWith) != 2 || w.SharedWith[0].Name != "ann" || w.SharedWith[1].Name != "friends" || w.SharedWith[1].Roles[0] != codersdk.WorkspaceRoleUse {
		t.Errorf("shared with %+v", w.SharedWith)
	}
	acl, err := bob.WorkspaceACL(ctx, w.ID)
	if err != nil || len(acl.Users) != 1 || acl.Users[0].Username != "ann" || acl.Users[0].Role != codersdk.WorkspaceRoleAdmin || len(acl.Group) != 1 || acl.Group[0].TotalMemberCount != 1 {
		t.Errorf("the list is %+v, %v", acl, err)
	}
	code := func(what string, err error, want codersdk.Code) {
		t.Helper()
		if codersdk.CodeOf(err) != want {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	code("use renames", bob.UpdateWorkspaceAutomaticUpdates(ctx, w.ID, codersdk.UpdateWorkspaceAutomaticUpdatesRequest{AutomaticUpdates: "always"}), codersdk.CodeForbidden)
	code("use shares on", bob.UpdateWorkspaceACL(ctx, w.ID, codersdk.UpdateWorkspaceACL{}), codersdk.CodeForbidden)
	code("admin changes", ann.UpdateWorkspaceAutomaticUpdates(ctx, w.ID, codersdk.UpdateWorkspaceAutomaticUpdatesRequest{AutomaticUpdates: "always"}), "")
	_, err = ann.CreateWorkspaceBuild(ctx, w.ID, codersdk.CreateWorkspaceBuildRequest{Transition: "delete"})
	code("admin deletes", err, codersdk.CodeForbidden)
	code("a stranger is named", root.UpdateWorkspaceACL(ctx, w.ID, codersdk.UpdateWorkspaceACL{UserRoles: map[uuid.UUID]codersdk.WorkspaceRole{uuid.New(): "use"}}), codersdk.CodeInvalid)
	code("no group is named", root.UpdateWorkspaceACL(ctx, w.ID, codersdk.UpdateWorkspaceACL{GroupRoles: map[uuid.UUID]codersdk.WorkspaceRole{uuid.New(): "use"}}), codersdk.CodeInvalid)
	code("a role of no sense", root.UpdateWorkspaceACL(ctx, w.ID, codersdk.UpdateWorkspaceACL{UserRoles: map[uuid.UUID]codersdk.WorkspaceRole{a.ID: "king"}}), codersdk.CodeInvalid)
	code("the owner is named", root.UpdateWorkspaceACL(ctx, w.ID, codersdk.UpdateWorkspaceACL{UserRoles: map[uuid.UUID]codersdk.WorkspaceRole{w.OwnerID: "use"}}), codersdk.CodeInvalid)

	// A terminal that is open ends with the sharing, a group's as a user's.
	pty := "/workspaceagents/" + agent.String() + "/pty?reconnect=" + uuid.NewString()
	mine, theirs := socket(t, s, ann, pty), socket(t, s, bob, pty)
	must(t, root.UpdateWorkspaceACL(ctx, w.ID, codersdk.UpdateWorkspaceACL{UserRoles: map[uuid.UUID]codersdk.WorkspaceRole{a.ID: ""}}))
	ends(t, "terminal of ann", mine)
	if sees(ann) || !sees(bob) {
		t.Error("the wrong one lost the workspace")
	}
	must(t, root.DeleteGroup(ctx, g.ID))
	ends(t, "terminal of bob", theirs)
	if sees(bob) {
		t.Error("a deleted group lends the workspace")
	}

	// The switch of the organization ends all there is and lets nothing new be.
	must(t, root.UpdateWorkspaceACL(ctx, w.ID, codersdk.UpdateWorkspaceACL{UserRoles: map[uuid.UUID]codersdk.WorkspaceRole{a.ID: "use"}}))
	_, err = ann.UpdateWorkspaceSharing(ctx, "default", codersdk.WorkspaceSharingSettings{SharingDisabled: true})
	code("a member switches sharing off", err, codersdk.CodeForbidden)
	_, err = root.UpdateWorkspaceSharing(ctx, "default", codersdk.WorkspaceSharingSettings{SharingDisabled: true})
	must(t, err)
	if sees(ann) {
		t.Error("sharing goes on though it is switched off")
	}
	code("sharing where it is off", root.UpdateWorkspaceACL(ctx, w.ID, codersdk.UpdateWorkspaceACL{UserRoles: map[uuid.UUID]codersdk.WorkspaceRole{a.ID: "use"}}), codersdk.CodeForbidden)
	_, err = root.UpdateWorkspaceSharing(ctx, "default", codersdk.WorkspaceSharingSettings{})
	must(t, err)
	if sees(ann) {
		t.Error("what was shared before is shared again")
	}
}

// TestAuditKeepsNoSecrets: of whatever is secret the audit log says at most
// that it changed.
func TestAuditKeepsNoSecrets(t *testing.T) {
	s := servertest.Start(t, nil)
	ctx, root := t.Context(), s.Client
	ann, _ := s.Member(t, "ann")
	secrets := map[string]string{"password": servertest.Password, "session": ann.SessionToken, "new password": "An0ther-" + servertest.Password}
	must(t, ann.UpdateUserPassword(ctx, "me", codersdk.UpdateUserPasswordRequest{OldPassword: servertest.Password, Password: secrets["new password"]}))
	token, err := ann.CreateToken(ctx, "me", codersdk.CreateTokenRequest{TokenName: "ci"})
	must(t, err)
	secrets["token"] = token.Key
	key, err := root.CreateProvisionerKey(ctx, "default", codersdk.CreateProvisionerKeyRequest{Name: "far"})
	must(t, err)
	secrets["provisioner key"] = key.Key
	_, err = ann.RegenerateGitSSHKey(ctx, "me")
	must(t, err)
	secrets["private key"] = "PRIVATE KEY"
	secrets["variable"] = "a-very-secret-value"
	archive, err := echo.Archive(map[string]string{"parse.jsonl": `{"complete": {"templateVariables": [{"name": "zone", "type": "string", "sensitive": true, "required": true}]}}`})
	must(t, err)
	up, err := root.Upload(ctx, "application/x-tar", bytes.NewReader(archive))
	must(t, err)
	v, err := root.CreateTemplateVersion(ctx, "default", codersdk.CreateTemplateVersionRequest{
		FileID: uuid.MustParse(up.Hash), Provisioner: "echo", StorageMethod: "file", UserVariableValues: []codersdk.VariableValue{{Name: "zone", Value: secrets["variable"]}},
	})
	must(t, err)
	follow(t, root, "/templateversions/"+v.ID.String()+"/logs")
	_, err = root.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "zoned", TemplateVersionID: v.ID})
	must(t, err)
	c, err := pgx.Connect(ctx, s.PostgresURL)
	must(t, err)
	defer c.Close(ctx) //nolint:errcheck // the test's own
	for what, secret := range secrets {
		_, half, _ := strings.Cut(secret, "-") // of a token the secret half; of others some of it
		for _, part := range []string{secret, half} {
			var row string
			err := c.QueryRow(ctx, `SELECT a::text FROM audit_logs a WHERE length($1) > 6 AND strpos(a::text, $1) > 0 LIMIT 1`, part).Scan(&row)
			if err == nil {
				t.Errorf("the audit log has a %s: %s", what, row)
			}
		}
	}
	var n int
	must(t, c.QueryRow(ctx, `SELECT count(*) FROM audit_logs`).Scan(&n))
	if n < 8 {
		t.Errorf("the audit log has %d rows only", n)
	}
}
