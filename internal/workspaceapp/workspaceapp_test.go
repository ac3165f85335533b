package workspaceapp_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// world is a house with a service whose clock can be set.
type world struct {
	*agenttest.Fixture
	*workspaceapp.Service
	now time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Fixture: agenttest.New(t), now: time.Now().UTC().Truncate(time.Second)}
	w.Service = w.service()
	if err := w.RotateKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) service() *workspaceapp.Service {
	return workspaceapp.New(workspaceapp.Config{Store: w.Store, Hub: w.Hub, Now: func() time.Time { return w.now }})
}

func (w *world) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := w.Store.Pool().Exec(context.Background(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func (w *world) template(t *testing.T, column, value string) {
	t.Helper()
	w.exec(t, `UPDATE templates SET `+column+` = $1`, value)
}

func apps(a *provisioner.Agent) {
	a.Apps = []*provisioner.App{
		{Slug: "code", DisplayName: "VS Code", Url: "http://localhost:13337/?folder=/home", Subdomain: true, SharingLevel: provisioner.AppSharingLevel_AUTHENTICATED},
		{Slug: "top", Command: "htop"},
	}
}

// An app of a dev container's agent is found by that agent's name, and without
// one where no other has the slug; a port without a name is that of the agent that
// the build made.
func TestFindBelowAnAgent(t *testing.T) {
	w := newWorld(t)
	made := w.Workspace("dev", apps)
	parent, err := w.Presence.AuthenticateAgent(t.Context(), made.Token)
	if err != nil {
		t.Fatal(err)
	}
	inner, _, err := w.Presence.CreateSubAgent(t.Context(), parent, presence.NewSubAgent{
		DevcontainerID: uuid.New(), Name: "inner", Apps: []codersdk.WorkspaceApp{{Slug: "code", URL: "http://localhost:1"}, {Slug: "alone", URL: "http://localhost:2"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[workspaceapp.Name]uuid.UUID{
		{App: "code"}: made.ID, {App: "code", Agent: "inner"}: inner.ID, {App: "alone"}: inner.ID, {App: "8080"}: made.ID, {App: "8080", Agent: "inner"}: inner.ID,
	} {
		n.Owner, n.Workspace = "ann", "dev"
		if got, err := w.Find(t.Context(), n); err != nil || got.AgentID != want {
			t.Errorf("%+v: %+v, %v", n, got, err)
		}
	}
}

func TestFind(t *testing.T) {
	w := newWorld(t)
	made := w.Workspace("Dev", apps)
	for _, n := range []workspaceapp.Name{
		{Owner: "ann", Workspace: "dev", Agent: "main", App: "code"},
		{Owner: "ANN", Workspace: "DEV", Agent: "MAIN", App: "CODE"},
		{Owner: "ann", Workspace: "dev", App: "code"},
	} {
		got, err := w.Find(t.Context(), n)
		if err != nil || got.AgentID != made.ID || got.App != "code" || got.Level != codersdk.WorkspaceAppSharingLevelAuthenticated ||
			got.URL != "http://localhost:13337/?folder=/home" || !got.Running || got.OwnerName != "ann" || got.WorkspaceName != "Dev" || got.Port != 0 {
			t.Errorf("%+v: %+v, %v", n, got, err)
		}
	}
	port, err := w.Find(t.Context(), workspaceapp.Name{Owner: "ann", Workspace: "dev", App: "8443s"})
	if err != nil || port.Port != 8443 || port.URL != "https://localhost:8443" || port.Level != codersdk.WorkspaceAppSharingLevelOwner {
		t.Errorf("a port: %+v, %v", port, err)
	}
	for _, n := range []workspaceapp.Name{
		{Owner: "bob", Workspace: "dev", App: "code"},
		{Owner: "ann", Workspace: "prod", App: "code"},
		{Owner: "ann", Workspace: "dev", Agent: "other", App: "code"},
		{Owner: "ann", Workspace: "dev", App: "jupyter"},
		{Owner: "ann", Workspace: "dev", App: "70000"},
	} {
		if got, err := w.Find(t.Context(), n); !codersdk.Is(err, codersdk.CodeNotFound) {
			t.Errorf("%+v: %+v, %v", n, got, err)
		}
	}

	w.Build(made.WorkspaceID, 2, codersdk.WorkspaceTransitionStop, "running")
	if got, err := w.Find(t.Context(), workspaceapp.Name{Owner: "ann", Workspace: "dev", App: "code"}); err != nil || !got.Running || got.Status != codersdk.WorkspaceStatusStopping {
		t.Errorf("while it stops: %+v, %v", got, err)
	}
	w.Build(made.WorkspaceID, 3, codersdk.WorkspaceTransitionStop, "succeeded")
	got, err := w.Find(t.Context(), workspaceapp.Name{Owner: "ann", Workspace: "dev", App: "code"})
	if err != nil || got.Running || got.Status != codersdk.WorkspaceStatusStopped || got.Level != codersdk.WorkspaceAppSharingLevelAuthenticated {
		t.Errorf("when it is stopped: %+v, %v", got, err)
	}
	again := w.Build(made.WorkspaceID, 4, codersdk.WorkspaceTransitionStart, "succeeded", apps)
	if got, err := w.Find(t.Context(), workspaceapp.Name{Owner: "ann", Workspace: "dev", App: "code"}); err != nil || got.AgentID != again.ID || !got.Running {
		t.Errorf("when it runs again: %+v, %v", got, err)
	}
	w.Delete(made.WorkspaceID)
	if _, err := w.Find(t.Context(), workspaceapp.Name{Owner: "ann", Workspace: "dev", App: "code"}); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("when it is deleted: %v", err)
	}
}

func TestSharePort(t *testing.T) {
	w := newWorld(t)
	made := w.Workspace("dev")
	name := workspaceapp.Name{Owner: "ann", Workspace: "dev", Agent: "main", App: "8080"}
	share := func(level codersdk.WorkspaceAgentPortShareLevel, protocol codersdk.WorkspaceAgentPortShareProtocol) error {
		_, err := w.SharePort(t.Context(), w.Owner, made.WorkspaceID, codersdk.UpsertWorkspaceAgentPortShareRequest{
			AgentName: "MAIN", Port: 8080, ShareLevel: level, Protocol: protocol,
		})
		return err
	}
	found := func() workspaceapp.Target {
		t.Helper()
		got, err := w.Find(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if err := share("public", "http"); !codersdk.Is(err, codersdk.CodeInvalid) || !strings.Contains(err.Error(), "max_port_share_level") {
		t.Errorf("more than the template permits: %v", err)
	}
	if err := share("owner", ""); err != nil {
		t.Errorf("what everybody may: %v", err)
	}
	w.template(t, "max_port_share_level", "public")
	if err := share("public", "https"); err != nil {
		t.Fatal(err)
	}
	if got := found(); got.Level != "public" || got.URL != "https://localhost:8080" {
		t.Errorf("a shared port: %+v", got)
	}
	w.template(t, "max_port_share_level", "organization")
	if got := found(); got.Level != "organization" {
		t.Errorf("after the template permits less: %s", got.Level)
	}
	shares, err := w.PortShares(t.Context(), w.Owner, made.WorkspaceID)
	if err != nil || len(shares.Shares) != 1 || shares.Shares[0].AgentName != "main" {
		t.Errorf("%+v, %v", shares, err)
	}
	if _, err := w.PortShares(t.Context(), w.Stranger, made.WorkspaceID); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("a stranger reads: %v", err)
	}
	gone := codersdk.DeleteWorkspaceAgentPortShareRequest{AgentName: "main", Port: 8080}
	if err := w.UnsharePort(t.Context(), w.Stranger, made.WorkspaceID, gone); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("a stranger deletes: %v", err)
	}
	if err := w.UnsharePort(t.Context(), w.Owner, made.WorkspaceID, gone); err != nil {
		t.Fatal(err)
	}
	if err := w.UnsharePort(t.Context(), w.Owner, made.WorkspaceID, gone); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("twice: %v", err)
	}
	if got := found(); got.Level != "owner" {
		t.Errorf("after the end of sharing: %s", got.Level)
	}
	for text, req := range map[string]codersdk.UpsertWorkspaceAgentPortShareRequest{
		"port":        {AgentName: "main", Port: 0, ShareLevel: "owner"},
		"65535":       {AgentName: "main", Port: 65536, ShareLevel: "owner"},
		"share_level": {AgentName: "main", Port: 80, ShareLevel: "world"},
		"protocol":    {AgentName: "main", Port: 80, ShareLevel: "owner", Protocol: "gopher"},
		"its agents":  {AgentName: "other", Port: 80, ShareLevel: "owner"},
	} {
		if _, err := w.SharePort(t.Context(), w.Owner, made.WorkspaceID, req); !codersdk.Is(err, codersdk.CodeInvalid) || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: %v", req, err)
		}
	}
}

func TestPasses(t *testing.T) {
	w := newWorld(t)
	name := workspaceapp.Name{Owner: "ann", Workspace: "dev", Agent: "main", App: "code"}
	target := workspaceapp.Target{WorkspaceID: uuid.New(), AgentID: uuid.New(), App: "code", URL: "http://localhost:1", Level: "owner"}
	user := uuid.New()
	text, err := w.NewPass(access.Subject{UserID: user, KeyID: "key"}, workspaceapp.MethodSubdomain, name, target)
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := w.Pass(text, workspaceapp.MethodSubdomain, workspaceapp.Name{Owner: "Ann", Workspace: "DEV", Agent: "main", App: "code"}); !ok || p.UserID != user || p.KeyID != "key" || p.Target.AgentID != target.AgentID || p.Target.URL != target.URL || p.Target.Level != target.Level {
		t.Errorf("%+v, %v", p, ok)
	}
	refused := func(what, text string, m workspaceapp.Method, n workspaceapp.Name) {
		t.Helper()
		if _, ok := w.Pass(text, m, n); ok {
			t.Errorf("%s is taken", what)
		}
	}
	refused("another app", text, workspaceapp.MethodSubdomain, workspaceapp.Name{Owner: "ann", Workspace: "dev", Agent: "main", App: "jupyter"})
	refused("another owner", text, workspaceapp.MethodSubdomain, workspaceapp.Name{Owner: "bob", Workspace: "dev", Agent: "main", App: "code"})
	refused("another way", text, workspaceapp.MethodPath, name)
	refused("nothing", "", workspaceapp.MethodSubdomain, name)
	for i := range len(text) {
		b := []byte(text)
		b[i] ^= 1
		refused("a changed pass", string(b), workspaceapp.MethodSubdomain, name)
	}
	session, err := w.NewTicket(access.Subject{UserID: user, KeyID: "abcdefghij"}, "host", "state")
	if err != nil {
		t.Fatal(err)
	}
	refused("a ticket", session, workspaceapp.MethodSubdomain, name)
	w.now = w.now.Add(workspaceapp.PassDuration)
	refused("an old pass", text, workspaceapp.MethodSubdomain, name)
}

func TestTickets(t *testing.T) {
	w := newWorld(t)
	actor := access.Subject{UserID: uuid.New(), KeyID: "abcdefghij"}
	ticket, err := w.NewTicket(actor, "a.example.com", "state")
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string][3]string{
		"another host":  {ticket, "b.example.com", "state"},
		"another state": {ticket, "a.example.com", "other"},
		"no state":      {ticket, "a.example.com", ""},
		"no ticket":     {"", "a.example.com", "state"},
	} {
		if _, ok := w.Redeem(c[0], c[1], c[2]); ok {
			t.Errorf("%s is taken", what)
		}
	}
	session, ok := w.Redeem(ticket, "a.example.com", "state")
	if !ok {
		t.Fatal("the ticket is not taken")
	}
	if key, renewed, ok := w.Session(session, "a.example.com"); !ok || key != actor.KeyID || renewed != "" {
		t.Errorf("%q, %q, %v", key, renewed, ok)
	}
	if _, _, ok := w.Session(session, "b.example.com"); ok {
		t.Error("a session is good for another host")
	}
	if _, _, ok := w.Session(ticket, "a.example.com"); ok {
		t.Error("a ticket is taken for a session")
	}
	if stateless, err := w.NewTicket(actor, "a.example.com", ""); err != nil {
		t.Fatal(err)
	} else if _, ok := w.Redeem(stateless, "a.example.com", ""); ok {
		t.Error("a ticket without state is taken")
	}
	w.now = w.now.Add(2 * workspaceapp.SessionRenewal)
	_, renewed, ok := w.Session(session, "a.example.com")
	if !ok || renewed == "" {
		t.Fatalf("a session in use is not renewed: %q, %v", renewed, ok)
	}
	if _, ok := w.Redeem(ticket, "a.example.com", "state"); ok {
		t.Error("an old ticket is taken")
	}
	w.now = w.now.Add(workspaceapp.SessionDuration - workspaceapp.SessionRenewal)
	if _, _, ok := w.Session(session, "a.example.com"); ok {
		t.Error("an old session is taken")
	}
	if _, _, ok := w.Session(renewed, "a.example.com"); !ok {
		t.Error("a renewed session is not")
	}
	if _, err := w.NewTicket(access.Subject{UserID: uuid.New()}, "a.example.com", "s"); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("somebody without a session gets a ticket: %v", err)
	}
	agent := uuid.New()
	terminal, err := w.NewTerminalToken(actor, agent)
	if err != nil {
		t.Fatal(err)
	}
	if key, ok := w.Terminal(terminal, agent); !ok || key != actor.KeyID {
		t.Errorf("%s, %v", key, ok)
	}
	if _, err := w.NewTerminalToken(access.Subject{UserID: uuid.New()}, agent); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("somebody without a session gets a terminal's token: %v", err)
	}
	if _, ok := w.Terminal(terminal, uuid.New()); ok {
		t.Error("a terminal's token is good for another agent")
	}
}

// TestKeyRotation keeps two replicas going over the change of keys.
func TestKeyRotation(t *testing.T) {
	w := newWorld(t)
	other := w.service()
	rotate := func() {
		t.Helper()
		for _, s := range []*workspaceapp.Service{w.Service, other} {
			if err := s.RotateKeys(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	rotate()
	name := workspaceapp.Name{Owner: "ann", Workspace: "dev", App: "code"}
	pass := func(s *workspaceapp.Service) string {
		t.Helper()
		text, err := s.NewPass(access.Subject{}, workspaceapp.MethodSubdomain, name, workspaceapp.Target{})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	good := func(text string) {
		t.Helper()
		for i, s := range []*workspaceapp.Service{w.Service, other} {
			if _, ok := s.Pass(text, workspaceapp.MethodSubdomain, name); !ok {
				t.Errorf("replica %d refuses", i)
			}
		}
	}
	first := pass(w.Service)
	good(first)
	w.now = w.now.Add(31 * 24 * time.Hour)
	rotate()
	old := pass(other)
	if !strings.HasPrefix(old, "1.") {
		t.Errorf("a new key signs before everybody has it: %.8s", old)
	}
	good(old)
	w.now = w.now.Add(2 * time.Hour)
	fresh := pass(other)
	if !strings.HasPrefix(fresh, "2.") {
		t.Errorf("the new key does not sign: %.8s", fresh)
	}
	good(fresh)
	w.now = w.now.Add(4 * 24 * time.Hour)
	rotate()
	var keys int
	if err := w.Store.Pool().QueryRow(t.Context(), `SELECT count(*) FROM crypto_keys`).Scan(&keys); err != nil || keys != 2 {
		t.Errorf("%d keys are left of two features: %v", keys, err)
	}
	good(pass(w.Service))
}

func TestUsage(t *testing.T) {
	w := newWorld(t)
	made := w.Workspace("dev", apps)
	target := &workspaceapp.Target{WorkspaceID: made.WorkspaceID, AgentID: made.ID, App: "code"}
	gone := &workspaceapp.Target{WorkspaceID: uuid.New(), AgentID: uuid.New(), App: "code"}
	rows := func() (n, requests int) {
		t.Helper()
		if err := w.FlushUsage(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := w.Store.Pool().QueryRow(t.Context(), `SELECT count(*), coalesce(sum(requests), 0) FROM workspace_app_stats`).Scan(&n, &requests)
		if err != nil {
			t.Fatal(err)
		}
		return n, requests
	}
	for range 3 {
		w.Use(w.Owner.UserID, workspaceapp.MethodSubdomain, target)()
	}
	w.Use(uuid.Nil, workspaceapp.MethodSubdomain, target)()
	w.Use(uuid.Nil, workspaceapp.MethodSubdomain, gone)()
	if n, requests := rows(); n != 2 || requests != 4 {
		t.Errorf("%d rows with %d requests", n, requests)
	}
	long := w.Use(w.Owner.UserID, workspaceapp.MethodSubdomain, target)
	w.now = w.now.Add(time.Hour)
	if n, requests := rows(); n != 2 || requests != 5 {
		t.Errorf("a long request: %d rows with %d requests", n, requests)
	}
	long()
	w.now = w.now.Add(time.Hour)
	w.Use(w.Owner.UserID, workspaceapp.MethodSubdomain, target)()
	if n, requests := rows(); n != 3 || requests != 6 {
		t.Errorf("after a pause: %d rows with %d requests", n, requests)
	}
	var used time.Time
	if err := w.Store.Pool().QueryRow(t.Context(), `SELECT last_used_at FROM workspaces WHERE id = $1`, made.WorkspaceID).Scan(&used); err != nil || !used.Equal(w.now) {
		t.Errorf("the workspace was used at %v, want %v: %v", used, w.now, err)
	}
	w.now = w.now.Add(365 * 24 * time.Hour)
	if n, err := w.PurgeUsage(t.Context()); err != nil || n != 3 {
		t.Errorf("%d old rows are deleted: %v", n, err)
	}
}

// TestUsageWhileTheClockIsSetBack checks that a period of use never ends before it began: the server
// refuses such a report.
func TestUsageWhileTheClockIsSetBack(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	away := workspaceapp.NewAway(func() time.Time { return now })
	began := now
	end := away.Use(uuid.New(), workspaceapp.MethodPath, &workspaceapp.Target{WorkspaceID: uuid.New(), AgentID: uuid.New(), App: "code"})
	now = now.Add(-time.Second)
	for _, during := range []string{"while the request runs", "after the request"} {
		var sent []codersdk.AppStatsReport
		err := away.SendUsage(func(stats []codersdk.AppStatsReport) error {
			sent = stats
			return nil
		})
		if err != nil || len(sent) != 1 || !sent[0].SessionStartedAt.Equal(began) || !sent[0].SessionEndedAt.Equal(began) {
			t.Errorf("%s: %+v, %v", during, sent, err)
		}
		if during == "while the request runs" {
			end()
		}
	}
}

func TestStatus(t *testing.T) {
	w := newWorld(t)
	made := w.Workspace("dev", apps)
	set := func(req codersdk.PatchAppStatus) error {
		return w.SetStatus(t.Context(), made.ID, made.WorkspaceID, req)
	}
	for i := range 60 {
		w.now = w.now.Add(time.Second)
		if err := set(codersdk.PatchAppStatus{AppSlug: "code", State: "working", Message: strings.Repeat("x", i), URI: "https://example.com/1"}); err != nil {
			t.Fatal(err)
		}
	}
	w.now = w.now.Add(time.Second)
	if err := set(codersdk.PatchAppStatus{AppSlug: "code", State: "idle", Message: "done"}); err != nil {
		t.Fatal(err)
	}
	agent, err := w.Presence.View(t.Context(), w.Owner, made.ID)
	if err != nil {
		t.Fatal(err)
	}
	got := agent.Apps[0]
	if len(got.Statuses) != 50 || got.Statuses[0].Message != "done" || !got.Statuses[0].NeedsUserAttention || got.Statuses[1].URI == "" {
		t.Errorf("%d statuses, the first %+v", len(got.Statuses), got.Statuses[0])
	}
	if got.SubdomainName != "code--main--dev--ann" || agent.Apps[1].SubdomainName != "" {
		t.Errorf("names %q and %q", got.SubdomainName, agent.Apps[1].SubdomainName)
	}
	for text, req := range map[string]codersdk.PatchAppStatus{
		"state":    {AppSlug: "code", State: "dancing"},
		"message":  {AppSlug: "code", State: "idle", Message: strings.Repeat("x", 161)},
		"uri":      {AppSlug: "code", State: "idle", URI: "example.com"},
		"app_slug": {AppSlug: "other", State: "idle"},
	} {
		if err := set(req); !codersdk.Is(err, codersdk.CodeInvalid) || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: %v", req, err)
		}
	}
}
