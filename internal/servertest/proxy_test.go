package servertest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/contracttest"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// asProxy calls an endpoint of proxies, holds the bodies to the contract, and
// gives status and answer.
func asProxy(t *testing.T, s *servertest.Server, token, method, path string, body any) (int, []byte) {
	t.Helper()
	b, err := json.Marshal(body)
	must(t, err)
	req, err := http.NewRequestWithContext(t.Context(), method, s.AccessURL().String()+"/api/v2/workspaceproxies/me/"+path, bytes.NewReader(b))
	must(t, err)
	req.Header.Set(codersdk.ProxyTokenHeader, token)
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, out
}

// conforms holds JSON to a schema of the contract.
func conforms(t *testing.T, schema string, b []byte) {
	t.Helper()
	var v any
	must(t, json.Unmarshal(b, &v))
	for _, d := range contracttest.Load(t).Conforms(schema, v, schema) {
		t.Error(d)
	}
}

// TestWorkspaceProxy is a proxy that registers at a real server, is checked by
// it, breaks and deregisters. (WP-01, WP-03, WP-04, WP-05)
func TestWorkspaceProxy(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) { c.Network.ProxyHealthInterval = 20 * time.Millisecond })
	var broken atomic.Bool
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz-report" {
			http.NotFound(w, r)
			return
		}
		if broken.Load() {
			_, _ = io.WriteString(w, `{"errors": ["out of sockets"], "warnings": []}`)
			return
		}
		_, _ = io.WriteString(w, `{"errors": [], "warnings": []}`)
	}))
	defer far.Close()
	made, err := s.Client.CreateWorkspaceProxy(t.Context(), codersdk.CreateWorkspaceProxyRequest{Name: "sydney", DisplayName: "Sydney", Icon: "/emojis/1f1e6.png"})
	must(t, err)
	become := func(want codersdk.ProxyStatus) codersdk.WorkspaceProxy {
		t.Helper()
		return testwait.Value(t, "the proxy is "+string(want), func() codersdk.WorkspaceProxy {
			p, err := s.Client.WorkspaceProxy(t.Context(), "sydney")
			must(t, err)
			return p
		}, func(p codersdk.WorkspaceProxy) bool { return p.Status.Status == want })
	}
	become(codersdk.ProxyStatusUnregistered)
	replica := uuid.New()
	status, b := asProxy(t, s, made.Token, "POST", "register", codersdk.RegisterWorkspaceProxyRequest{
		AccessURL: far.URL, WildcardHostname: "*.sydney.example.com", DERPEnabled: true, ReplicaID: replica, ReplicaHostname: "one", Version: "v1.2.3",
	})
	if status != http.StatusCreated {
		t.Fatalf("register: %d %s", status, b)
	}
	p := become(codersdk.ProxyStatusOK)
	if !p.Healthy || p.PathAppURL != far.URL || p.Version != "v1.2.3" || !strings.HasPrefix(p.WildcardHostname, "*.sydney.example.com") {
		t.Errorf("%+v", p)
	}
	member, _ := s.Member(t, "ann")
	regions, err := member.Regions(t.Context())
	must(t, err)
	if len(regions.Regions) != 2 || regions.Regions[0].Name != "primary" || regions.Regions[1].ID != made.ID || !regions.Regions[1].Healthy {
		t.Errorf("%+v", regions)
	}
	if _, err := member.CreateWorkspaceProxy(t.Context(), codersdk.CreateWorkspaceProxyRequest{Name: "mine"}); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("a member makes a proxy: %v", err)
	}
	broken.Store(true)
	if p := become(codersdk.ProxyStatusUnhealthy); len(p.Status.Report.Errors) != 1 || p.Status.Report.Errors[0] != "out of sockets" {
		t.Errorf("%+v", p.Status)
	}
	var health codersdk.HealthcheckReport
	status, b = get(t, s, "/debug/health?force=true")
	must(t, json.Unmarshal(b, &health))
	if w := health.WorkspaceProxy; status != 200 || w.Severity != codersdk.HealthSeverityError || !strings.Contains(w.Error, "EWP04") || len(w.WorkspaceProxies.Regions) != 2 {
		t.Errorf("%d: %+v", status, w)
	}
	far.Close()
	become(codersdk.ProxyStatusUnreachable)
	if status, b := asProxy(t, s, made.Token, "POST", "deregister", codersdk.DeregisterWorkspaceProxyRequest{ReplicaID: replica}); status != http.StatusNoContent {
		t.Errorf("deregister: %d %s", status, b)
	}
	become(codersdk.ProxyStatusUnregistered)
	for _, path := range []string{"register", "deregister", "issue-signed-app-token", "app-stats"} {
		if status, b := asProxy(t, s, uuid.NewString()+":"+strings.Repeat("ab", 32), "POST", path, map[string]any{}); status != http.StatusUnauthorized {
			t.Errorf("%s by a stranger: %d %s", path, status, b)
		}
		if status, _ := asProxy(t, s, s.Client.SessionToken, "POST", path, map[string]any{}); status != http.StatusUnauthorized {
			t.Errorf("%s by a person: %d", path, status)
		}
	}
}

func get(t *testing.T, s *servertest.Server, path string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.AccessURL().String()+"/api/v2"+path, nil)
	must(t, err)
	req.Header.Set(codersdk.SessionTokenHeader, s.Client.SessionToken)
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, b
}

// TestPassesForProxies: a proxy gets passes for those of its visitors who may
// open an app, and the keys to tell good ones.
func TestPassesForProxies(t *testing.T) {
	w := newWalk(t)
	w.build()
	s := w.s
	made, err := s.Client.CreateWorkspaceProxy(t.Context(), codersdk.CreateWorkspaceProxyRequest{Name: "sydney"})
	must(t, err)
	stranger, _ := s.Member(t, "bob")
	ask := func(method, app, session string) (int, []byte) {
		return asProxy(t, s, made.Token, "POST", "issue-signed-app-token", codersdk.IssueAppTokenRequest{
			AppRequest:   codersdk.AppRequest{AccessMethod: method, UsernameOrID: "admin", WorkspaceNameOrID: "dev", AgentNameOrID: "main", AppSlugOrPort: app},
			SessionToken: session,
		})
	}
	for _, c := range []struct {
		what, method, app, session string
		status                     int
	}{
		{"the owner", "subdomain", "ide", s.Client.SessionToken, 201},
		{"the owner by path", "path", "ide", s.Client.SessionToken, 201},
		{"another", "subdomain", "ide", stranger.SessionToken, 404},
		{"nobody", "subdomain", "ide", "", 401},
		{"a session that ended", "subdomain", "ide", "abcdefghij-" + strings.Repeat("a", 22), 401},
		{"no app", "subdomain", "nothing", s.Client.SessionToken, 404},
		{"no way", "telepathy", "ide", s.Client.SessionToken, 400},
	} {
		status, b := ask(c.method, c.app, c.session)
		if status != c.status {
			t.Errorf("%s: %d, want %d: %s", c.what, status, c.status, b)
		}
		if status == 201 {
			conforms(t, "wsproxysdk.IssueSignedAppTokenResponse", b)
		}
	}
	status, b := asProxy(t, s, made.Token, "GET", "crypto-keys?feature=workspace_apps_token", nil)
	var keys codersdk.CryptoKeysResponse
	must(t, json.Unmarshal(b, &keys))
	if status != 200 || len(keys.CryptoKeys) == 0 || len(keys.CryptoKeys[0].Secret) != 128 {
		t.Errorf("%d, %d keys", status, len(keys.CryptoKeys))
	}
	for _, feature := range []string{"workspace_apps_api_key", "tailnet_resume", "oidc_convert", ""} {
		if status, _ := asProxy(t, s, made.Token, "GET", "crypto-keys?feature="+feature, nil); status != 400 {
			t.Errorf("the keys of %q: %d", feature, status)
		}
	}
	now := time.Now()
	stats := codersdk.AppStatsReport{
		UserID: s.First.UserID, WorkspaceID: uuid.MustParse(w.values["workspace"]), AgentID: uuid.MustParse(w.values["workspaceagent"]),
		AccessMethod: "path", SlugOrPort: "ide", SessionID: uuid.New(), SessionStartedAt: now.Add(-time.Minute), SessionEndedAt: now, Requests: 3,
	}
	if status, b := asProxy(t, s, made.Token, "POST", "app-stats", codersdk.ReportAppStatsRequest{Stats: []codersdk.AppStatsReport{stats}}); status != 204 {
		t.Errorf("app-stats: %d %s", status, b)
	}
	stats.AccessMethod = "telepathy"
	if status, b := asProxy(t, s, made.Token, "POST", "app-stats", codersdk.ReportAppStatsRequest{Stats: []codersdk.AppStatsReport{stats}}); status != 400 {
		t.Errorf("bad app-stats: %d %s", status, b)
	}
}
