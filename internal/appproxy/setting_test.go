package appproxy_test

import (
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/server/database"
	"github.com/seed-2a7f8fe7/coder/internal/server/network"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// TestTold reads the addresses of apps from the API.
func TestTold(t *testing.T) {
	p := newPlace(t, nil)
	want := "*.apps.test:" + p.AccessURL().Port()
	host, err := p.Client.AppHost(t.Context())
	must(t, err)
	regions, err := p.Client.Regions(t.Context())
	must(t, err)
	if host.Host != want || len(regions.Regions) != 1 || regions.Regions[0].WildcardHostname != want || regions.Regions[0].PathAppURL != p.AccessURL().String() {
		t.Errorf("%+v, %+v", host, regions)
	}
}

// TestNoWildcard serves path apps alone, and refuses a wildcard that is none.
func TestNoWildcard(t *testing.T) {
	p := newPlace(t, func(c *server.Config) { c.Network.WildcardAccessURL = "" })
	b := p.browser(p.Client.SessionToken)
	b.open(p.AccessURL().String()+"/@admin/dev/apps/code/").want(t, 200, "GET / ")
	if a := b.ask("GET", p.on("code", "/api/v2/buildinfo"), ""); a.StatusCode != 200 || strings.HasPrefix(a.text, "GET") {
		t.Errorf("a host that is nothing special: %s %s", a.Status, a.text)
	}
	// Where the dashboard's own host is below the wildcard, it stays the dashboard's.
	servertest.Start(t, func(c *server.Config) { c.Network.WildcardAccessURL = "*.0.0.1" })
	for _, wrong := range []string{"apps.example.com", "*.apps.example.com:1", "*"} {
		s, err := server.New(server.Config{
			Log: slog.New(slog.DiscardHandler), ConfigDir: t.TempDir(), CacheDir: t.TempDir(),
			Database: database.Config{URL: postgrestest.URL(t)},
			Network:  network.Config{HTTPAddress: "127.0.0.1:0", WildcardAccessURL: wrong},
		})
		must(t, err)
		if err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "*.apps.example.com") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// TestRules turns path apps off, and lets site owners into those of others.
func TestRules(t *testing.T) {
	for name, c := range map[string]struct {
		change       func(*server.Config)
		owner, admin int
	}{
		"as it is":          {nil, 200, 404},
		"none":              {func(c *server.Config) { c.Apps.NoPaths = true }, 404, 404},
		"owners everywhere": {func(c *server.Config) { c.Apps.PathSiteOwners = true }, 200, 200},
	} {
		p := newPlace(t, c.change)
		other, _ := p.Member(t, "root", "owner")
		at := p.AccessURL().String() + "/@admin/dev/apps/code/"
		if a := p.browser(p.Client.SessionToken).open(at); a.StatusCode != c.owner {
			t.Errorf("%s: the workspace's owner gets %s", name, a.Status)
		}
		if a := p.browser(other.SessionToken).open(at); a.StatusCode != c.admin {
			t.Errorf("%s: a site owner gets %s", name, a.Status)
		}
		if a := p.browser(other.SessionToken).open(p.on("code", "/")); a.StatusCode != 200 {
			t.Errorf("%s: a site owner gets %s by the host name", name, a.Status)
		}
	}
}

// TestTerminalToken opens a terminal without a session, by what was signed.
func TestTerminalToken(t *testing.T) {
	p := newPlace(t, nil)
	at := p.AccessURL().String() + "/api/v2/workspaceagents/" + p.agent.String() + "/pty"
	got, err := p.Client.IssueTerminalToken(t.Context(), codersdk.IssueReconnectingPTYSignedTokenRequest{AgentID: p.agent, URL: at})
	must(t, err)
	open := func(agent uuid.UUID, token string) (*websocket.Conn, error) {
		q := url.Values{"reconnect": {uuid.NewString()}, workspaceapp.TerminalParam: {token}}
		c, _, err := websocket.Dial(t.Context(), p.AccessURL().String()+"/api/v2/workspaceagents/"+agent.String()+"/pty?"+q.Encode(), nil)
		return c, err
	}
	c, err := open(p.agent, got.SignedToken)
	must(t, err)
	_, _, err = c.Read(t.Context()) // the prompt
	must(t, err)
	c.CloseNow() //nolint:errcheck // it was open
	for what, token := range map[string]string{"none": "", "another": got.SignedToken + "x", "a session": p.Client.SessionToken} {
		if c, err := open(p.agent, token); err == nil {
			c.CloseNow() //nolint:errcheck // the test has failed
			t.Errorf("%s opens a terminal", what)
		}
	}
	if c, err := open(uuid.New(), got.SignedToken); err == nil {
		c.CloseNow() //nolint:errcheck // the test has failed
		t.Error("it opens another agent's terminal")
	}
	member, _ := p.Member(t, "bob")
	if _, err := member.IssueTerminalToken(t.Context(), codersdk.IssueReconnectingPTYSignedTokenRequest{AgentID: p.agent, URL: at}); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("somebody else gets one: %v", err)
	}
	for _, wrong := range []string{"", "/pty", "http://evil.example/api/v2/workspaceagents/" + p.agent.String() + "/pty", p.AccessURL().String() + "/api/v2/workspaceagents/" + uuid.NewString() + "/pty"} {
		if _, err := p.Client.IssueTerminalToken(t.Context(), codersdk.IssueReconnectingPTYSignedTokenRequest{AgentID: p.agent, URL: wrong}); !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// TestStatus has an app say what it does, and shows it with the workspace.
func TestStatus(t *testing.T) {
	p := newPlace(t, nil)
	inside := codersdk.New(p.AccessURL())
	inside.SessionToken = p.token
	for _, state := range []codersdk.WorkspaceAppStatusState{"working", "complete"} {
		must(t, inside.PatchAppStatus(t.Context(), codersdk.PatchAppStatus{AppSlug: "code", State: state, Message: "it is " + string(state), URI: "https://example.com"}))
	}
	w, err := p.Client.Workspace(t.Context(), p.workspace, nil)
	must(t, err)
	if w.LatestAppStatus == nil || w.LatestAppStatus.Message != "it is complete" || w.LatestAppStatus.AgentID != p.agent {
		t.Errorf("%+v", w.LatestAppStatus)
	}
	if err := p.Client.PatchAppStatus(t.Context(), codersdk.PatchAppStatus{AppSlug: "code", State: "idle"}); !codersdk.Is(err, codersdk.CodeUnauthenticated) {
		t.Errorf("a person speaks for an app: %v", err)
	}
	if err := inside.PatchAppStatus(t.Context(), codersdk.PatchAppStatus{AppSlug: "other", State: "idle"}); !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Errorf("an app that is not there: %v", err)
	}
}
