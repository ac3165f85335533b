package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// site is an API over a real database with a first user and one template.
type site struct {
	*codersdk.Client
	store    *postgres.Store
	queue    *queue.Service
	user     codersdk.User
	org      uuid.UUID
	template uuid.UUID
}

func openSite(t *testing.T) *site {
	t.Helper()
	store := postgrestest.New(t)
	log := slog.New(slog.DiscardHandler)
	hub := notify.New(store.Pool(), log)
	must(t, hub.Start(t.Context()))
	jobs := queue.New(queue.Config{Store: store, Hub: hub, Log: log})
	t.Cleanup(func() {
		must(t, jobs.Stop(context.Background()))
		must(t, hub.Stop(context.Background()))
	})
	u := &url.URL{Scheme: "http", Host: "127.0.0.1"}
	people := identity.New(identity.Config{Store: store, Log: log})
	ws := workspace.New(workspace.Config{Store: store, Queue: jobs, Hub: hub, Log: log, AccessURL: u})
	api := httpapi.New(httpapi.Config{Log: log, AccessURL: u, Identity: people, Workspaces: ws, Queue: jobs})
	server := httptest.NewServer(api.Handler())
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	must(t, err)
	s := &site{Client: codersdk.New(at), store: store, queue: jobs}
	s.exec(t, `INSERT INTO organizations (id, name, is_default, created_at, updated_at) VALUES ($1, 'coder', true, now(), now()) ON CONFLICT DO NOTHING`, uuid.New())
	first, err := s.CreateFirstUser(t.Context(), codersdk.CreateFirstUserRequest{Username: "ann", Email: "ann@example.com", Password: "correct horse battery"})
	must(t, err)
	s.org = first.OrganizationID
	session, err := s.LoginWithPassword(t.Context(), codersdk.LoginWithPasswordRequest{Email: "ann@example.com", Password: "correct horse battery"})
	must(t, err)
	s.SessionToken = session.SessionToken
	s.user, err = s.User(t.Context(), "me")
	must(t, err)
	s.addTemplate(t)
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *site) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := s.store.Pool().Exec(t.Context(), sql, args...)
	must(t, err)
}

func (s *site) addTemplate(t *testing.T) {
	t.Helper()
	file, job, version := uuid.New(), uuid.New(), uuid.New()
	s.template = uuid.New()
	s.exec(t, `INSERT INTO files (id, hash, created_by, mimetype, data, created_at) VALUES ($1, 'h', $2, 'application/x-tar', '', now())`, file, s.user.ID)
	s.exec(t, `INSERT INTO job_tag_sets (organization_id, key, tags) VALUES ($1, $2, '{"scope": "organization", "owner": ""}')`, s.org, codersdk.NormalizeTags(uuid.Nil, nil).Key())
	s.exec(t, `INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at, completed_at)
		VALUES ($1, $2, $3, 'template_version_import', 'echo', (SELECT id FROM job_tag_sets), $4, '{}', now(), now(), now())`, job, s.org, s.user.ID, file)
	s.exec(t, `INSERT INTO template_versions (id, organization_id, job_id, name, created_by, created_at, updated_at) VALUES ($1, $2, $3, 'v1', $4, now(), now())`, version, s.org, job, s.user.ID)
	s.exec(t, `INSERT INTO templates (id, organization_id, name, provisioner, active_version_id, created_by, created_at, updated_at)
		VALUES ($1, $2, 'docker', 'echo', $3, $4, now(), now())`, s.template, s.org, version, s.user.ID)
	s.exec(t, `UPDATE template_versions SET template_id = $1`, s.template)
}

// finish runs the build that waits.
func (s *site) finish(t *testing.T) {
	t.Helper()
	tags := codersdk.NormalizeTags(uuid.Nil, nil)
	id, gone, err := s.queue.Hello(t.Context(), queue.Daemon{OrganizationID: s.org, Name: "d", Tags: tags, Provisioners: []string{"echo"}})
	must(t, err)
	defer gone()
	w := queue.Worker{ID: id, OrganizationID: s.org, Name: "d", Tags: tags, Provisioners: []string{"echo"}}
	a, err := s.queue.Acquire(t.Context(), w)
	must(t, err)
	must(t, s.queue.Complete(t.Context(), w, a.Fence, &provisionerd.CompletedJob{JobId: a.JobId, Type: &provisionerd.CompletedJob_WorkspaceBuild_{
		WorkspaceBuild: &provisionerd.CompletedJob_WorkspaceBuild{State: []byte(`{"a":1}`)},
	}}))
}

func TestWorkspacesOverHTTP(t *testing.T) {
	s := openSite(t)
	ctx := t.Context()
	w, err := s.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "dev", TemplateID: s.template})
	must(t, err)
	_, err = s.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "dev", TemplateID: s.template})
	if !codersdk.Is(err, codersdk.CodeConflict) {
		t.Errorf("a name that is taken: %v", err)
	}
	_, err = s.CreateWorkspaceBuild(ctx, w.ID, codersdk.CreateWorkspaceBuildRequest{Transition: "stop"})
	if !codersdk.Is(err, codersdk.CodeConflict) {
		t.Errorf("a second build: %v", err)
	}
	s.finish(t)
	if w, err = s.WorkspaceByOwnerAndName(ctx, "ann", "dev", nil); err != nil || w.LatestBuild.Status != "running" {
		t.Fatalf("%s %v", w.LatestBuild.Status, err)
	}
	state, err := s.Download(ctx, "/workspacebuilds/"+w.LatestBuild.ID.String()+"/state", nil)
	if err != nil || string(state) != `{"a":1}` {
		t.Errorf("state %q %v", state, err)
	}
	must(t, s.UpdateWorkspaceBuildState(ctx, w.LatestBuild.ID, codersdk.UpdateWorkspaceBuildStateRequest{State: []byte("x")}))
	b, err := s.WorkspaceBuildByNumber(ctx, "me", "dev", 1)
	if err != nil || b.ID != w.LatestBuild.ID {
		t.Errorf("build 1: %v", err)
	}
	if _, err = s.WorkspaceBuildTimings(ctx, b.ID); err != nil {
		t.Error(err)
	}
	if ps, err := s.WorkspaceBuildParameters(ctx, b.ID); err != nil || ps == nil {
		t.Errorf("parameters %v %v", ps, err)
	}
	if rs, err := s.WorkspaceBuildResources(ctx, b.ID); err != nil || rs == nil {
		t.Errorf("resources %v %v", rs, err)
	}
	if err := s.CancelWorkspaceBuild(ctx, b.ID, url.Values{"expect_status": {"pending"}}); !codersdk.Is(err, codersdk.CodePrecondition) {
		t.Errorf("cancel of a build that is over: %v", err)
	}
	if err := s.PostWorkspaceUsage(ctx, w.ID, codersdk.PostWorkspaceUsageRequest{}); err != nil {
		t.Error(err)
	}
	must(t, s.FavoriteWorkspace(ctx, w.ID))
	got, err := s.Workspaces(ctx, url.Values{"q": {"owner:me"}})
	if err != nil || got.Count != 1 || !got.Workspaces[0].Favorite {
		t.Errorf("list: %+v %v", got, err)
	}
}

func TestSearchOfWorkspaces(t *testing.T) {
	s := openSite(t)
	for _, name := range []string{"dev", "other"} {
		_, err := s.CreateWorkspace(t.Context(), "me", codersdk.CreateWorkspaceRequest{Name: name, TemplateID: s.template})
		must(t, err)
	}
	for q, want := range map[string]int{
		"": 2, "dev": 1, "ann/dev": 1, "ann/de": 0, "owner:me": 2, "owner:!me": 0, "owner:!ANN": 0, "owner:ANN name:oth": 1, "status:pending template:docker": 2,
		`status:"running"`: 0, "has-agent:connected": 0, "dormant:false outdated:false": 2, "organization:coder": 2, "healthy:true": 0, "status:unhealthy": 0,
		"last_used_after:2020-01-01": 2, "last_used_before:2020-01-01T00:00:00Z": 0, "has-ai-task:false": 2, "has_external_agent:true": 0,
		"param:a=b": 0, "shared:false": 2,
	} {
		got, err := s.Workspaces(t.Context(), url.Values{"q": {q}})
		if err != nil || got.Count != want {
			t.Errorf("%q: %d (%v), want %d", q, got.Count, err, want)
		}
	}
	for _, q := range []string{"color:red", "owner:!nobody", "status:happy", "has-agent:maybe", "dormant:perhaps", "id:1", "last_used_after:soon", "name:a b", "param:a", `name:"`} {
		_, err := s.Workspaces(t.Context(), url.Values{"q": {q}})
		if e, ok := errors.AsType[*codersdk.Error](err); !ok || e.Code != codersdk.CodeInvalid || len(e.Fields) == 0 {
			t.Errorf("%q: %v", q, err)
		}
	}
	_, err := s.Workspaces(t.Context(), url.Values{"limit": {"-1"}})
	if !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Errorf("limit -1: %v", err)
	}
	sorted, err := s.Workspaces(t.Context(), url.Values{"sort": {"-name"}, "counts": {"true"}, "limit": {"1"}})
	if err != nil || len(sorted.Workspaces) != 1 || sorted.Workspaces[0].Name != "other" || sorted.Count != 2 {
		t.Errorf("by name, descending: %+v, %v", sorted, err)
	}
	if len(sorted.Counts) != 1 || sorted.Counts[0].Status != "pending" || sorted.Counts[0].Count != 2 {
		t.Errorf("counts: %+v", sorted.Counts)
	}
	for key, value := range map[string]string{"sort": "color", "counts": "many"} {
		if _, err := s.Workspaces(t.Context(), url.Values{key: {value}}); !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Errorf("%s=%s: %v", key, value, err)
		}
	}
}

func TestWatchOverHTTP(t *testing.T) {
	s := openSite(t)
	w, err := s.CreateWorkspace(t.Context(), "me", codersdk.CreateWorkspaceRequest{Name: "dev", TemplateID: s.template})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
	defer cancel()
	path := "/workspaces/" + w.ID.String()
	resp, err := s.Request(ctx, http.MethodGet, path+"/watch", nil, nil)
	must(t, err)
	defer resp.Body.Close()
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Errorf("content type %q", ct)
	}
	events := bufio.NewReader(resp.Body)
	if got := nextEvent(t, events); got.LatestBuild.Status != "pending" {
		t.Errorf("first event: %s", got.LatestBuild.Status)
	}
	enough := errors.New("enough")
	first := true
	err = codersdk.Follow(ctx, s.Client, path+"/watch-ws", nil, func(e codersdk.ServerSentEvent) error {
		var got codersdk.Workspace
		must(t, json.Unmarshal(e.Data, &got))
		if first {
			first = false
			s.finish(t)
		}
		if got.LatestBuild.Status == "running" {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	for nextEvent(t, events).LatestBuild.Status != "running" {
	}
	_, err = s.Dial(ctx, "/workspaces/"+uuid.NewString()+"/watch-ws", nil)
	if !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("watching nothing: %v", err)
	}
}

// nextEvent reads up to the next data event.
func nextEvent(t *testing.T, r *bufio.Reader) (w codersdk.Workspace) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		must(t, err)
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			must(t, json.Unmarshal([]byte(data), &w))
			return w
		}
	}
}

func TestBadRequestsForWorkspaces(t *testing.T) {
	s := openSite(t)
	w, err := s.CreateWorkspace(t.Context(), "me", codersdk.CreateWorkspaceRequest{Name: "dev", TemplateID: s.template})
	must(t, err)
	id := w.ID.String()
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/workspaces/x", "", 400},
		{"GET", "/workspaces/" + uuid.NewString(), "", 404},
		{"GET", "/users/me/workspace/none", "", 404},
		{"GET", "/users/nobody/workspace/dev", "", 404},
		{"GET", "/users/me/workspace/dev/builds/0", "", 400},
		{"GET", "/users/me/workspace/dev/builds/2", "", 404},
		{"POST", "/users/me/workspaces", "", 400},
		{"POST", "/users/me/workspaces", "{", 400},
		{"POST", "/users/me/workspaces", `{"name": 5}`, 400},
		{"POST", "/users/me/workspaces", `{"name": "ok", "template_id": "x"}`, 400},
		{"POST", "/organizations/none/members/me/workspaces", `{"name": "ok"}`, 404},
		{"POST", "/workspaces/" + id + "/builds", `{"transition": "fly"}`, 400},
		{"POST", "/workspaces/" + id + "/builds", `{"transition": "stop"}`, 409},
		{"GET", "/workspaces/" + id + "/builds?since=yesterday", "", 400},
		{"GET", "/workspaces/" + id + "/builds?after_id=x", "", 400},
		{"GET", "/workspacebuilds/" + uuid.NewString(), "", 404},
		{"PATCH", "/workspacebuilds/" + w.LatestBuild.ID.String() + "/cancel?expect_status=running", "", 412},
		{"PUT", "/workspaces/" + id + "/ttl", `{"ttl_ms": 1}`, 400},
		{"PUT", "/workspaces/" + id + "/autostart", `{"schedule": "whenever"}`, 400},
		{"PUT", "/workspaces/" + id + "/extend", `{}`, 400},
		{"PUT", "/workspaces/" + id + "/autoupdates", `{}`, 400},
		{"PATCH", "/workspaces/" + id, `{"name": "other"}`, 400},
		{"POST", "/workspaces/" + id + "/usage", `{"app_name": "ssh"}`, 400},
		{"GET", "/workspaces/" + id + "/external-agent/x/credentials", "", 404},
	} {
		var body any
		if c.body != "" {
			body = strings.NewReader(c.body)
		}
		path, query, _ := strings.Cut(c.path, "?")
		q, err := url.ParseQuery(query)
		must(t, err)
		resp, err := s.Request(t.Context(), c.method, path, q, body)
		must(t, err)
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		must(t, err)
		var r codersdk.Response
		if resp.StatusCode != c.status || json.Unmarshal(b, &r) != nil || r.Message == "" {
			t.Errorf("%s %s %s: %d %s, want %d", c.method, c.path, c.body, resp.StatusCode, b, c.status)
		}
	}
}
