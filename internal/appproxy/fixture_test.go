package appproxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/testport"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// place is a whole server with a workspace of its owner, a real agent in it,
// and a real app beside that.
type place struct {
	*servertest.Server
	t         testing.TB
	app       *backend
	workspace uuid.UUID
	agent     uuid.UUID
	token     string // the agent's
	process   *agent.Agent
	proxies   []string // ports of workspace proxies
}

// backend is the app: it answers what was asked of it and keeps it.
type backend struct {
	*httptest.Server
	pages map[string]http.HandlerFunc // by path; others are echoed

	mu   sync.Mutex
	last *http.Request
	all  int
	by   map[string]int // the same by path
}

func newBackend(t testing.TB) *backend {
	b := &backend{pages: map[string]http.HandlerFunc{}, by: map[string]int{}}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		b.last, b.all = r, b.all+1
		b.by[r.URL.Path]++
		page := b.pages[r.URL.Path]
		b.mu.Unlock()
		if page != nil {
			page(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.RequestURI, body)
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	b.Server = s
	t.Cleanup(s.Close)
	return b
}

// page adds one to the app.
func (b *backend) page(path string, h http.HandlerFunc) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pages[path] = h
}

// seen returns the last request that came, and how many did.
func (b *backend) seen() (*http.Request, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last, b.all
}

// count returns how many requests came to a path.
func (b *backend) count(path string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.by[path]
}

func (b *backend) port() string { return b.URL[strings.LastIndexByte(b.URL, ':')+1:] }

func newPlace(t testing.TB, change func(*server.Config)) *place {
	t.Helper()
	p := &place{t: t, app: newBackend(t)}
	p.Server = servertest.Start(t, func(c *server.Config) {
		c.Network.WildcardAccessURL = "*.apps.test"
		if change != nil {
			change(c)
		}
	})
	at := "http://127.0.0.1:" + p.app.port()
	token := uuid.NewString()
	type appOf map[string]any
	graph, err := json.Marshal(map[string]any{"complete": map[string]any{"resources": []any{map[string]any{
		"type": "null_resource", "name": "host", "agents": []any{map[string]any{
			"id": "a", "name": "main", "operatingSystem": "linux", "architecture": "amd64", "token": token,
			"apps": []any{
				appOf{"slug": "code", "url": at + "/", "subdomain": true},
				appOf{"slug": "auth", "url": at, "subdomain": true, "sharingLevel": "AUTHENTICATED"},
				appOf{"slug": "open", "url": at, "subdomain": true, "sharingLevel": "PUBLIC"},
				appOf{"slug": "folder", "url": at + "/public?dir=/home&x=1", "sharingLevel": "PUBLIC"},
				appOf{"slug": "term", "command": "htop", "displayName": "<b>htop</b>"},
				appOf{"slug": "docs", "url": "vscode://open?token=$SESSION_TOKEN", "external": true, "displayName": "<script>alert(1)</script>"},
				appOf{"slug": "dead", "url": "http://localhost:" + testport.Free(t), "displayName": "<i>dead</i>"},
			},
		}},
	}}}})
	must(t, err)
	archive, err := echo.Archive(map[string]string{"graph.jsonl": string(graph)})
	must(t, err)
	ctx, c := t.Context(), p.Client
	up, err := c.Upload(ctx, "application/x-tar", bytes.NewReader(archive))
	must(t, err)
	v, err := c.CreateTemplateVersion(ctx, "default", codersdk.CreateTemplateVersionRequest{FileID: uuid.MustParse(up.Hash), Provisioner: "echo", StorageMethod: "file"})
	must(t, err)
	p.follow("/templateversions/" + v.ID.String() + "/logs")
	tpl, err := c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "echo", TemplateVersionID: v.ID, MaxPortShareLevel: "public"})
	must(t, err)
	w, err := c.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "dev", TemplateID: tpl.ID})
	must(t, err)
	p.follow("/workspacebuilds/" + w.LatestBuild.ID.String() + "/logs")
	w, err = c.Workspace(ctx, w.ID, nil)
	must(t, err)
	p.workspace, p.agent = w.ID, w.LatestBuild.Resources[0].Agents[0].ID
	p.token = token
	p.startAgent(token)
	return p
}

func (p *place) startAgent(token string) {
	p.t.Helper()
	var err error
	p.process, err = agent.New(agent.Config{
		URL: p.AccessURL(), Token: token, Log: slog.New(slog.DiscardHandler), Env: append(os.Environ(), "HOME="+p.t.TempDir(), "SHELL=/bin/sh"),
		LogDir: p.t.TempDir(), ScriptDataDir: p.t.TempDir(), PingInterval: 500 * time.Millisecond,
	})
	must(p.t, err)
	must(p.t, p.process.Start(p.t.Context()))
	p.t.Cleanup(p.stopAgent)
	p.await(func(w codersdk.Workspace) bool {
		return w.LatestBuild.Resources[0].Agents[0].LifecycleState == codersdk.WorkspaceAgentLifecycleReady
	})
}

func (p *place) stopAgent() {
	if p.process == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
	defer cancel()
	if err := p.process.Stop(ctx); err != nil {
		p.t.Error(err)
	}
	p.process = nil
}

// await watches the workspace until it is as wanted.
func (p *place) await(wanted func(codersdk.Workspace) bool) {
	p.t.Helper()
	enough := fmt.Errorf("enough")
	err := codersdk.Follow(p.t.Context(), p.Client, "/workspaces/"+p.workspace.String()+"/watch-ws", nil, func(e codersdk.ServerSentEvent) error {
		var w codersdk.Workspace
		if e.Type == codersdk.ServerSentEventTypeData && json.Unmarshal(e.Data, &w) == nil && wanted(w) {
			return enough
		}
		return nil
	})
	if err != enough {
		p.t.Fatal(err)
	}
}

func (p *place) follow(path string) {
	p.t.Helper()
	must(p.t, codersdk.Follow(p.t.Context(), p.Client, path, url.Values{"follow": {"true"}}, func(codersdk.ProvisionerJobLog) error { return nil }))
}

// exec changes the database directly.
func (p *place) exec(sql string, args ...any) {
	p.t.Helper()
	conn, err := pgx.Connect(p.t.Context(), p.PostgresURL)
	must(p.t, err)
	defer conn.Close(context.Background()) //nolint:errcheck // the test is over
	_, err = conn.Exec(p.t.Context(), sql, args...)
	must(p.t, err)
}

// host returns the host, with port, of an app of the workspace.
func (p *place) host(app string) string {
	return app + "--main--dev--admin.apps.test:" + p.AccessURL().Port()
}

func (p *place) on(app, path string) string { return "http://" + p.host(app) + path }

// browser is one with a cookie jar, for which all hosts are the server.
type browser struct {
	*http.Client
	t   testing.TB
	jar *cookiejar.Jar
}

// dial leads every host to the server, but for the ports of its proxies.
func (p *place) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	to := p.AccessURL().Host
	if _, port, err := net.SplitHostPort(addr); err == nil && slices.Contains(p.proxies, port) {
		to = "127.0.0.1:" + port
	}
	return (&net.Dialer{}).DialContext(ctx, network, to)
}

// browser returns a browser; token is the session that it has at the dashboard.
func (p *place) browser(token string) *browser {
	p.t.Helper()
	jar, err := cookiejar.New(nil)
	must(p.t, err)
	if token != "" {
		jar.SetCookies(p.AccessURL(), []*http.Cookie{{Name: "coder_session_token", Value: token, Path: "/", HttpOnly: true}})
	}
	tr := &http.Transport{DialContext: p.dial}
	p.t.Cleanup(tr.CloseIdleConnections)
	return &browser{&http.Client{Jar: jar, Transport: tr}, p.t, jar}
}

// answer is what came back.
type answer struct {
	*http.Response
	text string
}

// ask sends a request with headers given as name, value, name, value.
func (b *browser) ask(method, url, body string, headers ...string) answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, url, strings.NewReader(body))
	must(b.t, err)
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	resp, err := b.Do(r)
	must(b.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(b.t, err)
	return answer{resp, string(text)}
}

// open goes to an address as a user who typed it.
func (b *browser) open(url string) answer {
	b.t.Helper()
	return b.ask("GET", url, "", "Accept", "text/html", "Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
}

// stay makes the browser show redirects instead of following them.
func (b *browser) stay() *browser {
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return b
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (a answer) want(t *testing.T, status int, text string) {
	t.Helper()
	if a.StatusCode != status || !strings.Contains(a.text, text) {
		t.Errorf("%s %s: %s, want %d and %q:\n%.600s", a.Request.Method, a.Request.URL, a.Status, status, text, a.text)
	}
}
