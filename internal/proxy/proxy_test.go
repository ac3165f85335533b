package proxy_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/proxy"
)

// world is a deployment with proxies that answer as a test says.
type world struct {
	*proxy.Service
	store *postgres.Store
	mu    sync.Mutex
	now   time.Time
	asked []string
	page  func(url string) (proxy.Answer, error)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{store: postgrestest.New(t), now: time.Now().UTC().Truncate(time.Second)}
	w.page = func(string) (proxy.Answer, error) {
		return proxy.Answer{Status: 200, Body: []byte(`{"errors": [], "warnings": []}`)}, nil
	}
	w.Service = w.service()
	return w
}

func (w *world) service() *proxy.Service {
	return proxy.New(proxy.Config{
		Store: w.store, ID: uuid.New(), Version: "v1.2.3", AccessURL: &url.URL{Scheme: "https", Host: "coder.example.com"}, Wildcard: "*.coder.example.com",
		Now: func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now },
		Fetch: func(_ context.Context, url string) (proxy.Answer, error) {
			w.mu.Lock()
			w.asked = append(w.asked, url)
			page := w.page
			w.mu.Unlock()
			return page(url)
		},
	})
}

func (w *world) later(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) create(t *testing.T, name string) codersdk.WorkspaceProxyToken {
	t.Helper()
	p, err := w.Create(t.Context(), access.System(), codersdk.CreateWorkspaceProxyRequest{Name: name})
	must(t, err)
	return p
}

func at(url string) codersdk.RegisterWorkspaceProxyRequest {
	return codersdk.RegisterWorkspaceProxyRequest{AccessURL: url, DERPEnabled: true, ReplicaID: uuid.New(), ReplicaHostname: "one", Version: "v1.2.3"}
}

// register signs in and registers, as a proxy does.
func (w *world) register(t *testing.T, token string, req codersdk.RegisterWorkspaceProxyRequest) []codersdk.Replica {
	t.Helper()
	p, err := w.Authenticate(t.Context(), token)
	must(t, err)
	siblings, err := w.Register(t.Context(), p, req)
	must(t, err)
	return siblings
}

func (w *world) status(t *testing.T, ref string) codersdk.WorkspaceProxyStatus {
	t.Helper()
	p, err := w.One(t.Context(), access.System(), ref)
	must(t, err)
	if p.Healthy != (p.Status.Status == codersdk.ProxyStatusOK) {
		t.Errorf("healthy is %v while the status is %s", p.Healthy, p.Status.Status)
	}
	return p.Status
}

func TestTokens(t *testing.T) {
	w := newWorld(t)
	one, other := w.create(t, "sydney"), w.create(t, "oslo")
	p, err := w.Authenticate(t.Context(), one.Token)
	if err != nil || p.ID() != one.ID {
		t.Fatalf("%v, %v", p, err)
	}
	secret := strings.SplitN(one.Token, ":", 2)[1]
	refused := map[string]string{
		"nothing": "", "an id": one.ID.String(), "another's secret": other.ID.String() + ":" + secret, "nobody's": uuid.NewString() + ":" + secret,
		"no hexadecimal": one.ID.String() + ":zz", "less": strings.TrimSuffix(one.Token, one.Token[len(one.Token)-2:]), "more": one.Token + "00",
	}
	again, err := w.Update(t.Context(), access.System(), one.ID.String(), codersdk.PatchWorkspaceProxy{ID: one.ID, RegenerateToken: true})
	must(t, err)
	if again.Token == "" || again.Token == one.Token || again.Proxy.Name != "sydney" {
		t.Errorf("%+v", again)
	}
	refused["the old one"] = one.Token
	must(t, w.Delete(t.Context(), access.System(), "oslo"))
	refused["that of a proxy that is gone"] = other.Token
	for what, token := range refused {
		if _, err := w.Authenticate(t.Context(), token); !codersdk.Is(err, codersdk.CodeUnauthenticated) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := w.Authenticate(t.Context(), again.Token); err != nil {
		t.Error("the new one:", err)
	}
	var logs string
	must(t, w.store.Pool().QueryRow(t.Context(), `SELECT string_agg(action || ' ' || resource_target || ' ' || diff::text, '; ' ORDER BY time, action) FROM audit_logs WHERE resource_type = 'workspace_proxy'`).Scan(&logs))
	for _, part := range []string{"create sydney", "create oslo", "write sydney", `"token"`, "delete oslo"} {
		if !strings.Contains(logs, part) {
			t.Errorf("the audit log lacks %s: %s", part, logs)
		}
	}
	if strings.Contains(logs, secret) {
		t.Error("a token is in the audit log")
	}
}

func TestWhoMay(t *testing.T) {
	w := newWorld(t)
	made := w.create(t, "sydney")
	member := access.Subject{UserID: uuid.New(), SiteRoles: []string{access.RoleMember}}
	for name, actor := range map[string]access.Subject{"member": member, "template admin": {UserID: uuid.New(), SiteRoles: []string{access.RoleTemplateAdmin}}} {
		if all, err := w.All(t.Context(), actor); err != nil || len(all) != 2 || all[0].Name != "primary" || !all[0].Healthy || all[1].ID != made.ID {
			t.Errorf("%s reads: %+v, %v", name, all, err)
		}
		_, create := w.Create(t.Context(), actor, codersdk.CreateWorkspaceProxyRequest{Name: "mine"})
		_, update := w.Update(t.Context(), actor, "sydney", codersdk.PatchWorkspaceProxy{RegenerateToken: true})
		for what, err := range map[string]error{"create": create, "update": update, "delete": w.Delete(t.Context(), actor, "sydney")} {
			if !codersdk.Is(err, codersdk.CodeForbidden) {
				t.Errorf("%s may %s: %v", name, what, err)
			}
		}
	}
	for _, name := range []string{"", "primary", "Primary", "a b", strings.Repeat("x", 33)} {
		if _, err := w.Create(t.Context(), access.System(), codersdk.CreateWorkspaceProxyRequest{Name: name}); !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Errorf("a proxy is called %q: %v", name, err)
		}
	}
	if _, err := w.Create(t.Context(), access.System(), codersdk.CreateWorkspaceProxyRequest{Name: "SYDNEY"}); !codersdk.Is(err, codersdk.CodeConflict) || !strings.Contains(err.Error(), "SYDNEY") {
		t.Errorf("a name twice: %v", err)
	}
	if _, err := w.One(t.Context(), access.System(), "nowhere"); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("one that is not there: %v", err)
	}
}

// TestLife is a proxy from its making to its end: unregistered, registered,
// checked, broken, stopped.
func TestLife(t *testing.T) {
	w := newWorld(t)
	made := w.create(t, "sydney")
	regions := func() (names string) {
		t.Helper()
		all, err := w.Regions(t.Context())
		must(t, err)
		for _, r := range all {
			names += r.Name + " "
		}
		return names
	}
	check := func(want codersdk.ProxyStatus, text string) {
		t.Helper()
		if n, err := w.CheckDue(t.Context()); err != nil || n != 1 {
			t.Fatalf("%d proxies are checked, want 1: %v", n, err)
		}
		if s := w.status(t, "sydney"); s.Status != want || !strings.Contains(strings.Join(s.Report.Errors, "\n"), text) || !s.CheckedAt.Equal(w.now) {
			t.Errorf("%+v, want %s with %q", s, want, text)
		}
	}
	if s := w.status(t, "sydney"); s.Status != codersdk.ProxyStatusUnregistered || regions() != "primary " {
		t.Errorf("before it ran: %+v, regions %s", s, regions())
	}
	if n, err := w.CheckDue(t.Context()); n != 0 || err != nil {
		t.Errorf("one that never ran is checked: %d, %v", n, err)
	}
	first, second := at("https://SYDNEY.example.com/"), at("https://sydney.example.com")
	if s := w.register(t, made.Token, first); len(s) != 0 {
		t.Errorf("the first has siblings: %+v", s)
	}
	if s := w.register(t, made.Token, second); len(s) != 1 || s[0].ID != first.ReplicaID || s[0].Hostname != "one" {
		t.Errorf("the second has not the first as its sibling: %+v", s)
	}
	if got := regions(); got != "primary sydney " {
		t.Errorf("regions: %s", got)
	}
	check(codersdk.ProxyStatusOK, "")
	if w.asked[0] != "https://sydney.example.com/healthz-report" {
		t.Errorf("asked at %s", w.asked)
	}
	if n, err := w.CheckDue(t.Context()); n != 0 || err != nil {
		t.Errorf("checked twice within an interval: %d, %v", n, err)
	}
	w.register(t, made.Token, second) // says so again, which is nothing new
	if s := w.status(t, "sydney"); s.Status != codersdk.ProxyStatusOK {
		t.Errorf("after it said so again: %+v", s)
	}
	for _, c := range []struct {
		page func(string) (proxy.Answer, error)
		want codersdk.ProxyStatus
		text string
	}{
		{func(string) (proxy.Answer, error) { return proxy.Answer{}, errors.New("connection refused") }, codersdk.ProxyStatusUnreachable, "connection refused"},
		{func(string) (proxy.Answer, error) { return proxy.Answer{Status: 502}, nil }, codersdk.ProxyStatusUnhealthy, "502"},
		{func(string) (proxy.Answer, error) { return proxy.Answer{Status: 200, Body: []byte("<html>")}, nil }, codersdk.ProxyStatusUnhealthy, "report"},
		{func(string) (proxy.Answer, error) {
			return proxy.Answer{Status: 200, Body: []byte(`{"errors": ["no disk\u0000 left"], "warnings": ["old"]}`)}, nil
		}, codersdk.ProxyStatusUnhealthy, "no disk left"},
		{func(string) (proxy.Answer, error) {
			return proxy.Answer{Status: 200, Body: []byte(`{"warnings": ["old"]}`)}, nil
		}, codersdk.ProxyStatusOK, ""},
	} {
		w.page = c.page
		w.later(time.Minute)
		check(c.want, c.text)
	}
	if s := w.status(t, "sydney"); len(s.Report.Warnings) != 1 {
		t.Errorf("the warning is lost: %+v", s)
	}
	p, err := w.Authenticate(t.Context(), made.Token)
	must(t, err)
	must(t, w.Deregister(t.Context(), p, first.ReplicaID))
	if s := w.status(t, "sydney"); s.Status != codersdk.ProxyStatusOK {
		// the second was heard of two minutes ago and more: silent
		if s.Status != codersdk.ProxyStatusUnregistered {
			t.Errorf("%+v", s)
		}
	}
	w.register(t, made.Token, second)
	must(t, w.Deregister(t.Context(), p, uuid.New())) // a stranger's good-bye
	if s := w.status(t, "sydney"); s.Status == codersdk.ProxyStatusUnregistered {
		t.Error("somebody else's good-bye ends a proxy")
	}
	must(t, w.Deregister(t.Context(), p, second.ReplicaID))
	if s := w.status(t, "sydney"); s.Status != codersdk.ProxyStatusUnregistered || regions() != "primary " {
		t.Errorf("after the last good-bye: %+v, regions %s", s, regions())
	}
	relay := at("https://sydney.example.com")
	relay.DERPOnly = true
	w.register(t, made.Token, relay)
	if got := regions(); got != "primary " {
		t.Errorf("one that serves no apps is offered for them: %s", got)
	}
}

// TestOneServerChecks has two servers look at once: each proxy is asked once.
func TestOneServerChecks(t *testing.T) {
	w := newWorld(t)
	const count = 12
	for i := range count {
		p := w.create(t, "p"+string(rune('a'+i)))
		w.register(t, p.Token, at("https://"+p.Name+".example.com"))
	}
	var all sync.WaitGroup
	checked := make([]int, 2)
	for i := range checked {
		s := w.service()
		all.Go(func() {
			n, err := s.CheckDue(t.Context())
			if err != nil {
				t.Error(err)
			}
			checked[i] = n
		})
	}
	all.Wait()
	if checked[0]+checked[1] != count || len(w.asked) != count {
		t.Errorf("the servers checked %v, and asked %d times, of %d", checked, len(w.asked), count)
	}
}

// TestMovedWhileAsked: what a check found at the old place says nothing of the new.
func TestMovedWhileAsked(t *testing.T) {
	w := newWorld(t)
	made := w.create(t, "sydney")
	w.register(t, made.Token, at("https://old.example.com"))
	w.page = func(url string) (proxy.Answer, error) {
		if strings.Contains(url, "old") {
			w.register(t, made.Token, at("https://new.example.com"))
			return proxy.Answer{}, errors.New("gone")
		}
		return proxy.Answer{Status: 200, Body: []byte(`{}`)}, nil
	}
	_, err := w.CheckDue(t.Context())
	must(t, err)
	if s := w.status(t, "sydney"); len(s.Report.Errors) != 0 {
		t.Errorf("what the old place said is kept: %+v", s)
	}
	_, err = w.CheckDue(t.Context())
	must(t, err)
	if s := w.status(t, "sydney"); s.Status != codersdk.ProxyStatusOK {
		t.Errorf("%+v", s)
	}
}

func TestBadRegistrations(t *testing.T) {
	w := newWorld(t)
	made, other := w.create(t, "sydney"), w.create(t, "oslo")
	p, err := w.Authenticate(t.Context(), made.Token)
	must(t, err)
	taken := at("https://oslo.example.com")
	w.register(t, other.Token, taken)
	for _, c := range []struct {
		field  string
		change func(*codersdk.RegisterWorkspaceProxyRequest)
		code   codersdk.Code
	}{
		{"access_url", func(r *codersdk.RegisterWorkspaceProxyRequest) { r.AccessURL = "" }, codersdk.CodeInvalid},
		{"access_url", func(r *codersdk.RegisterWorkspaceProxyRequest) { r.AccessURL = "ftp://x" }, codersdk.CodeInvalid},
		{"access_url", func(r *codersdk.RegisterWorkspaceProxyRequest) { r.AccessURL = "https://u:p@x" }, codersdk.CodeInvalid},
		{"access_url", func(r *codersdk.RegisterWorkspaceProxyRequest) { r.AccessURL = "https://x/deep" }, codersdk.CodeInvalid},
		{"access_url", func(r *codersdk.RegisterWorkspaceProxyRequest) { r.AccessURL = "https://x;script-src*" }, codersdk.CodeInvalid},
		{"access_url", func(r *codersdk.RegisterWorkspaceProxyRequest) { r.AccessURL = "https://CODER.example.com" }, codersdk.CodeInvalid},
		{"replica_id", func(r *codersdk.RegisterWorkspaceProxyRequest) { r.ReplicaID = uuid.Nil }, codersdk.CodeInvalid},
		{"version", func(r *codersdk.RegisterWorkspaceProxyRequest) { r.Version = "a\x00b" }, codersdk.CodeInvalid},
		{"oslo", func(r *codersdk.RegisterWorkspaceProxyRequest) { r.AccessURL = "https://OSLO.example.com" }, codersdk.CodeConflict},
		{"another proxy", func(r *codersdk.RegisterWorkspaceProxyRequest) { r.ReplicaID = taken.ReplicaID }, codersdk.CodeConflict},
	} {
		req := at("https://sydney.example.com")
		c.change(&req)
		if _, err := w.Register(t.Context(), p, req); !codersdk.Is(err, c.code) || !strings.Contains(err.Error(), c.field) {
			t.Errorf("%+v: %v", req, err)
		}
	}
	if s := w.status(t, "sydney"); s.Status != codersdk.ProxyStatusUnregistered {
		t.Errorf("a refused registration counts: %+v", s)
	}
	must(t, w.Delete(t.Context(), access.System(), "sydney"))
	if _, err := w.Register(t.Context(), p, at("https://sydney.example.com")); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("one that was deleted meanwhile: %v", err)
	}
}
