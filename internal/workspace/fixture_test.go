package workspace_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// house is a database with one organization, a template administrator, two
// members, a template with one version, and the services over it.
type house struct {
	t     testing.TB
	store *postgres.Store
	queue *queue.Service
	hub   *notify.Hub
	*workspace.Service

	org, file         uuid.UUID
	admin, ann, bob   access.Subject
	template, version uuid.UUID
	worker            queue.Worker
	clock             func() time.Time
	tokens            map[uuid.UUID]string // build -> token of its owner
}

type option func(*workspace.Config)

func open(t testing.TB, options ...option) *house {
	t.Helper()
	h := &house{t: t, store: postgrestest.New(t), clock: time.Now, tokens: map[uuid.UUID]string{}}
	log := slog.New(slog.DiscardHandler)
	h.hub = notify.New(h.store.Pool(), log)
	h.must(h.hub.Start(t.Context()))
	h.queue = queue.New(queue.Config{Store: h.store, Hub: h.hub, Log: log})
	t.Cleanup(func() {
		ctx := context.Background()
		h.must(h.queue.Stop(ctx))
		h.must(h.hub.Stop(ctx))
	})
	c := workspace.Config{
		Store: h.store, Queue: h.queue, Hub: h.hub, Log: log, Now: func() time.Time { return h.clock() },
		AccessURL: &url.URL{Scheme: "https", Host: "coder.example"},
		OwnerToken: func(_ context.Context, _ *sqlc.Queries, _, build uuid.UUID) (string, error) {
			h.tokens[build] = "token-" + build.String()
			return h.tokens[build], nil
		},
		DropOwnerToken: func(_ context.Context, _ *sqlc.Queries, _, build uuid.UUID) error {
			delete(h.tokens, build)
			return nil
		},
	}
	for _, o := range options {
		o(&c)
	}
	h.Service = workspace.New(c)
	h.org, h.file = uuid.New(), uuid.New()
	h.exec(`INSERT INTO organizations (id, name, is_default, created_at, updated_at) VALUES ($1, 'main', true, now(), now())`, h.org)
	h.admin = h.user("admin", access.RoleTemplateAdmin)
	h.admin.SiteRoles = append(h.admin.SiteRoles, access.RoleOwner)
	h.ann, h.bob = h.user("ann"), h.user("bob")
	h.exec(`INSERT INTO files (id, hash, created_by, mimetype, data, created_at) VALUES ($1, 'h', $2, 'application/x-tar', 'the source', now())`, h.file, h.admin.UserID)
	h.template, h.version = h.newTemplate("docker", spec{})
	id, gone, err := h.queue.Hello(t.Context(), queue.Daemon{
		OrganizationID: h.org, Name: "daemon", Tags: codersdk.NormalizeTags(uuid.Nil, nil), Provisioners: []string{"echo"},
	})
	h.must(err)
	t.Cleanup(gone)
	h.worker = queue.Worker{ID: id, OrganizationID: h.org, Name: "daemon", Tags: codersdk.NormalizeTags(uuid.Nil, nil), Provisioners: []string{"echo"}}
	return h
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) exec(sql string, args ...any) {
	h.t.Helper()
	_, err := h.store.Pool().Exec(context.Background(), sql, args...)
	h.must(err)
}

func (h *house) user(name string, roles ...string) access.Subject {
	h.t.Helper()
	id := uuid.New()
	h.exec(`INSERT INTO users (id, email, username, name, login_type, status, roles, ssh_public_key, ssh_private_key, created_at, updated_at)
		VALUES ($1, $2 || '@example.com', $2, 'Full ' || $2, 'password', 'active', $3, 'public', 'private', now(), now())`, id, name, append([]string{}, roles...))
	h.exec(`INSERT INTO organization_members (organization_id, user_id, created_at, updated_at) VALUES ($1, $2, now(), now())`, h.org, id)
	return access.Subject{UserID: id, Username: name, SiteRoles: roles, OrganizationRoles: map[uuid.UUID][]string{h.org: nil}}
}

// spec is what a version of a template is like.
type spec struct {
	parameters    []codersdk.TemplateVersionParameter
	variables     []codersdk.TemplateVersionVariable
	presets       []codersdk.StoredPreset
	tags          codersdk.Tags
	workspaceTags map[string]string
	unfinished    bool
}

func (h *house) newTemplate(name string, s spec) (template, version uuid.UUID) {
	h.t.Helper()
	template = uuid.New()
	version = h.newVersion(uuid.Nil, "v1", s)
	h.exec(`INSERT INTO templates (id, organization_id, name, icon, provisioner, active_version_id, created_by, group_acl, created_at, updated_at)
		VALUES ($1, $2, $3, '/icon.svg', 'echo', $4, $5, jsonb_build_object($2::uuid::text, 'use'), now(), now())`, template, h.org, name, version, h.admin.UserID)
	h.exec(`UPDATE template_versions SET template_id = $1 WHERE id = $2`, template, version)
	return template, version
}

func (h *house) newVersion(template uuid.UUID, name string, s spec) uuid.UUID {
	h.t.Helper()
	id, job := uuid.New(), uuid.New()
	h.must(h.store.Tx(context.Background(), func(q *sqlc.Queries) error {
		return h.queue.Add(context.Background(), q, queue.NewJob{
			ID: job, OrganizationID: h.org, InitiatorID: h.admin.UserID, FileID: h.file, Type: codersdk.ProvisionerJobTypeTemplateVersionImport,
			Provisioner: "echo", Tags: codersdk.NormalizeTags(uuid.Nil, nil), Input: codersdk.ProvisionerJobInput{TemplateVersionID: id},
		})
	}))
	if !s.unfinished {
		h.exec(`UPDATE provisioner_jobs SET completed_at = now() WHERE id = $1`, job)
	}
	h.exec(`INSERT INTO template_versions (id, template_id, organization_id, job_id, name, created_by, tags, workspace_tags, variables, parameters, presets, created_at, updated_at)
		VALUES ($1, nullif($2, '00000000-0000-0000-0000-000000000000'::uuid), $3, $4, $5, $6, $7, $8, $9, $10, $11, now(), now())`,
		id, template, h.org, job, name, h.admin.UserID, text(s.tags, "{}"), text(s.workspaceTags, "{}"), text(s.variables, "[]"), text(s.parameters, "[]"), text(s.presets, "[]"))
	return id
}

func text(v any, empty string) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	if string(b) == "null" {
		return empty
	}
	return string(b)
}

// create makes a workspace and leaves its first build waiting.
func (h *house) create(owner access.Subject, name string) codersdk.Workspace {
	h.t.Helper()
	w, err := h.CreateWorkspace(h.t.Context(), owner, uuid.Nil, owner.UserID, codersdk.CreateWorkspaceRequest{Name: name, TemplateID: h.template})
	h.must(err)
	return w
}

// running makes a workspace whose first build succeeded.
func (h *house) running(owner access.Subject, name string) codersdk.Workspace {
	h.t.Helper()
	w := h.create(owner, name)
	h.finish(h.acquire(), "state of "+name, agentResource("main"))
	return h.get(owner, w.ID)
}

func (h *house) get(actor access.Subject, id uuid.UUID) codersdk.Workspace {
	h.t.Helper()
	w, err := h.Workspace(h.t.Context(), actor, id, true)
	h.must(err)
	return w
}

// build asks for a build and leaves it waiting.
func (h *house) build(actor access.Subject, id uuid.UUID, req codersdk.CreateWorkspaceBuildRequest) codersdk.WorkspaceBuild {
	h.t.Helper()
	b, err := h.CreateWorkspaceBuild(h.t.Context(), actor, id, req)
	h.must(err)
	return b
}

// acquire claims the job that waits, as a daemon does.
func (h *house) acquire() *provisionerd.AcquiredJob {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), testwait.Limit)
	defer cancel()
	a, err := h.queue.Acquire(ctx, h.worker)
	h.must(err)
	return a
}

// finish completes a build.
func (h *house) finish(a *provisionerd.AcquiredJob, state string, rs ...*provisioner.Resource) {
	h.t.Helper()
	h.must(h.queue.Complete(h.t.Context(), h.worker, a.Fence, &provisionerd.CompletedJob{
		JobId: a.JobId, Type: &provisionerd.CompletedJob_WorkspaceBuild_{
			WorkspaceBuild: &provisionerd.CompletedJob_WorkspaceBuild{State: []byte(state), Resources: rs},
		},
	}))
}

// fail fails a build.
func (h *house) fail(a *provisionerd.AcquiredJob, state string) {
	h.t.Helper()
	h.must(h.queue.Fail(h.t.Context(), h.worker, a.Fence, &provisionerd.FailedJob{
		JobId: a.JobId, Error: "it broke", Type: &provisionerd.FailedJob_WorkspaceBuild_{
			WorkspaceBuild: &provisionerd.FailedJob_WorkspaceBuild{State: []byte(state)},
		},
	}))
}

func agentResource(names ...string) *provisioner.Resource {
	r := &provisioner.Resource{Name: "dev", Type: "docker_container", DailyCost: 3, Metadata: []*provisioner.Resource_Metadata{{Key: "image", Value: "debian"}}}
	for _, n := range names {
		r.Agents = append(r.Agents, &provisioner.Agent{
			Name: n, OperatingSystem: "linux", Architecture: "amd64", Auth: &provisioner.Agent_Token{Token: uuid.NewString()},
			ConnectionTimeoutSeconds: 120, Env: map[string]string{"A": "1", "B": "2"}, ExtraEnvs: []*provisioner.Env{{Name: "B", Value: "3"}},
			Scripts:     []*provisioner.Script{{DisplayName: "Start", Script: "true", RunOnStart: true, StartBlocksLogin: true, TimeoutSeconds: 30}},
			Metadata:    []*provisioner.Agent_Metadata{{Key: "cpu", Script: "x", Interval: 5, Timeout: 1}},
			Apps:        []*provisioner.App{{Slug: n + "-code", Url: "http://localhost:1", Healthcheck: &provisioner.Healthcheck{Url: "http://localhost:1/health", Interval: 5, Threshold: 2}}},
			DisplayApps: &provisioner.DisplayApps{Vscode: true, SshHelper: true},
		})
	}
	return r
}

// wantCode fails the test unless err has the code.
func wantCode(t testing.TB, err error, code codersdk.Code) {
	t.Helper()
	if codersdk.CodeOf(err) != code {
		t.Fatalf("got %v (%s), want the code %q", err, codersdk.CodeOf(err), code)
	}
}
