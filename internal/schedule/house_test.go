package schedule_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/calendar"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/schedule"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// monday is when the tests begin: nine o'clock in Lisbon, in summer.
var monday = time.Date(2030, 7, 1, 8, 0, 0, 0, time.UTC)

// house is a database with a person, a template and a workspace's room, a clock
// that stands still, and the room under test.
type house struct {
	t     testing.TB
	store *postgres.Store
	queue *queue.Service
	*workspace.Service
	schedule *schedule.Service
	log      *text
	metrics  *prometheus.Registry

	mu  sync.Mutex
	at  time.Time
	org uuid.UUID
	ann access.Subject

	file, template, version uuid.UUID
	worker                  queue.Worker
}

// text is a log that can be read.
type text struct {
	mu sync.Mutex
	strings.Builder
}

func (l *text) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Builder.Write(b)
}

func (l *text) has(s string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.String(), s)
}

func open(t testing.TB) *house { return openOn(t, postgrestest.New(t), &text{}) }

// openOn is a server on a database; the first one on it fills it.
func openOn(t testing.TB, store *postgres.Store, out *text) *house {
	t.Helper()
	h := &house{t: t, store: store, at: monday, log: out, metrics: prometheus.NewRegistry()}
	log := slog.New(slog.NewTextHandler(out, nil))
	hub := notify.New(store.Pool(), log)
	h.must(hub.Start(context.Background()))
	h.queue = queue.New(queue.Config{Store: store, Hub: hub, Log: log})
	t.Cleanup(func() {
		h.must(h.queue.Stop(context.Background()))
		h.must(hub.Stop(context.Background()))
	})
	h.Service = workspace.New(workspace.Config{
		Store: store, Queue: h.queue, Hub: hub, Log: log, Now: h.now, AccessURL: &url.URL{Scheme: "https", Host: "coder.example"},
		Quiet: calendar.Quiet{Default: "CRON_TZ=UTC 0 2 * * *"},
	})
	h.schedule = schedule.New(schedule.Config{Store: store, Workspaces: h.Service, Log: log, Now: h.now, Registerer: h.metrics})
	return h
}

func (h *house) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

func (h *house) set(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = at
}

func (h *house) pass(d time.Duration) { h.set(h.now().Add(d)) }

// tick does what is due.
func (h *house) tick() {
	h.t.Helper()
	h.schedule.Tick(h.t.Context())
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

func (h *house) count(sql string, args ...any) (n int) {
	h.t.Helper()
	h.must(h.store.Pool().QueryRow(context.Background(), sql, args...).Scan(&n))
	return n
}

// fill makes an organization, Ann, a template of hers and a daemon.
func (h *house) fill() *house {
	h.t.Helper()
	h.org, h.template = uuid.New(), uuid.New()
	h.exec(`INSERT INTO organizations (id, name, is_default, created_at, updated_at) VALUES ($1, 'main', true, now(), now())`, h.org)
	h.ann = h.user("ann")
	h.file = uuid.New()
	h.exec(`INSERT INTO files (id, hash, created_by, mimetype, data, created_at) VALUES ($1, 'h', $2, 'application/x-tar', 'the source', now())`, h.file, h.ann.UserID)
	h.version = h.newVersion("v1")
	h.exec(`INSERT INTO templates (id, organization_id, name, icon, provisioner, active_version_id, created_by, group_acl, created_at, updated_at)
		VALUES ($1, $2, 'docker', '', 'echo', $3, $4, jsonb_build_object($2::uuid::text, 'use'), now(), now())`, h.template, h.org, h.version, h.ann.UserID)
	h.exec(`UPDATE template_versions SET template_id = $1`, h.template)
	h.daemon()
	return h
}

// newVersion makes a version of the template.
func (h *house) newVersion(name string) uuid.UUID {
	h.t.Helper()
	id, job := uuid.New(), uuid.New()
	h.must(h.store.Tx(context.Background(), func(q *sqlc.Queries) error {
		return h.queue.Add(context.Background(), q, queue.NewJob{
			ID: job, OrganizationID: h.org, InitiatorID: h.ann.UserID, FileID: h.file, Type: codersdk.ProvisionerJobTypeTemplateVersionImport,
			Provisioner: "echo", Tags: codersdk.NormalizeTags(uuid.Nil, nil), Input: codersdk.ProvisionerJobInput{TemplateVersionID: id},
		})
	}))
	h.exec(`UPDATE provisioner_jobs SET completed_at = now() WHERE id = $1`, job)
	h.exec(`INSERT INTO template_versions (id, template_id, organization_id, job_id, name, created_by, created_at, updated_at)
		VALUES ($1, (SELECT id FROM templates), $2, $3, $4, $5, now(), now())`, id, h.org, job, name, h.ann.UserID)
	return id
}

func (h *house) daemon() {
	h.t.Helper()
	tags := codersdk.NormalizeTags(uuid.Nil, nil)
	id, gone, err := h.queue.Hello(context.Background(), queue.Daemon{OrganizationID: h.org, Name: "daemon", Tags: tags, Provisioners: []string{"echo"}})
	h.must(err)
	h.t.Cleanup(gone)
	h.worker = queue.Worker{ID: id, OrganizationID: h.org, Name: "daemon", Tags: tags, Provisioners: []string{"echo"}}
}

func (h *house) user(name string) access.Subject {
	h.t.Helper()
	id := uuid.New()
	h.exec(`INSERT INTO users (id, email, username, login_type, status, created_at, updated_at) VALUES ($1, $2 || '@example.com', $2, 'password', 'active', now(), now())`, id, name)
	h.exec(`INSERT INTO organization_members (organization_id, user_id, created_at, updated_at) VALUES ($1, $2, now(), now())`, h.org, id)
	return access.Subject{UserID: id, Username: name, OrganizationRoles: map[uuid.UUID][]string{h.org: nil}}
}

// running makes a workspace of Ann's whose start has just ended.
func (h *house) running(req codersdk.CreateWorkspaceRequest) uuid.UUID {
	h.t.Helper()
	id := h.create(req)
	h.finish()
	return id
}

func (h *house) create(req codersdk.CreateWorkspaceRequest) uuid.UUID {
	h.t.Helper()
	req.TemplateID = h.template
	if req.Name == "" {
		req.Name = fmt.Sprintf("dev%d", h.count(`SELECT count(*) FROM workspaces`))
	}
	w, err := h.CreateWorkspace(h.t.Context(), h.ann, uuid.Nil, h.ann.UserID, req)
	h.must(err)
	return w.ID
}

// stopped is running, and stopped by hand.
func (h *house) stopped(req codersdk.CreateWorkspaceRequest) uuid.UUID {
	h.t.Helper()
	id := h.running(req)
	h.build(id, codersdk.WorkspaceTransitionStop)
	h.finish()
	return id
}

func (h *house) build(id uuid.UUID, transition codersdk.WorkspaceTransition) {
	h.t.Helper()
	_, err := h.CreateWorkspaceBuild(h.t.Context(), h.ann, id, codersdk.CreateWorkspaceBuildRequest{Transition: transition})
	h.must(err)
}

func (h *house) acquire() *provisionerd.AcquiredJob {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), testwait.Limit)
	defer cancel()
	a, err := h.queue.Acquire(ctx, h.worker)
	h.must(err)
	return a
}

// finish has the build that waits succeed.
func (h *house) finish() {
	h.t.Helper()
	a := h.acquire()
	h.must(h.queue.Complete(h.t.Context(), h.worker, a.Fence, &provisionerd.CompletedJob{
		JobId: a.JobId, Type: &provisionerd.CompletedJob_WorkspaceBuild_{WorkspaceBuild: &provisionerd.CompletedJob_WorkspaceBuild{State: []byte("state")}},
	}))
}

// fail has it fail.
func (h *house) fail() {
	h.t.Helper()
	a := h.acquire()
	h.must(h.queue.Fail(h.t.Context(), h.worker, a.Fence, &provisionerd.FailedJob{JobId: a.JobId, Error: "it broke"}))
}

func (h *house) get(id uuid.UUID) codersdk.Workspace {
	h.t.Helper()
	w, err := h.Workspace(h.t.Context(), h.ann, id, true)
	h.must(err)
	return w
}

// latest fails unless the latest build is this one: such as "3 stop autostop pending".
func (h *house) latest(id uuid.UUID, want string) {
	h.t.Helper()
	b := h.get(id).LatestBuild
	if got := fmt.Sprintf("%d %s %s %s", b.BuildNumber, b.Transition, b.Reason, b.Job.Status); got != want {
		h.t.Errorf("the latest build is %q, want %q\n%s", got, want, h.log.String())
	}
}

func (h *house) next(id uuid.UUID, want time.Time) {
	h.t.Helper()
	if got := h.get(id).NextStartAt; got == nil || !got.Equal(want) {
		h.t.Errorf("it starts next at %v, want %v", got, want)
	}
}

func ptr[T any](v T) *T { return &v }
