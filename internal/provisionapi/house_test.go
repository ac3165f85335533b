package provisionapi_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"storj.io/drpc"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/keyring"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/provisionapi"
	daemon "github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

const psk = "a long pre-shared key"

// house is a server's provisioner side over a database, with use cases that
// only remember what they were told.
type house struct {
	*provisionapi.API
	queue *queue.Service
	ring  *keyring.Service
	store *postgres.Store
	org   uuid.UUID
	user  uuid.UUID
	file  uuid.UUID
	log   *logbook

	mu     sync.Mutex
	jobs   map[uuid.UUID]*provisionerd.AcquiredJob
	done   map[uuid.UUID]*provisionerd.CompletedJob
	failed map[uuid.UUID]*provisionerd.FailedJob
	told   map[uuid.UUID][]byte         // states of builds that run, as they came
	values []*provisioner.VariableValue // answer to what an import learned
}

// logbook keeps what was logged at Warn and above.
type logbook struct {
	mu    sync.Mutex
	lines []string
}

func (l *logbook) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (l *logbook) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *logbook) WithGroup(string) slog.Handler                    { return l }

func (l *logbook) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, r.Message)
	return nil
}

// wait is take that waits for a line.
func (l *logbook) wait(t testing.TB) []string {
	t.Helper()
	return testwait.Value(t, "something is logged", l.take, func(got []string) bool { return len(got) > 0 })
}

// take returns what was logged since it was last called.
func (l *logbook) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.lines
	l.lines = nil
	return out
}

func newHouse(t testing.TB, c queue.Config) *house {
	t.Helper()
	return newHouseOn(t, postgrestest.New(t), c)
}

func newHouseOn(t testing.TB, store *postgres.Store, c queue.Config) *house {
	t.Helper()
	h := &house{
		store: store, user: uuid.New(), file: uuid.New(), jobs: map[uuid.UUID]*provisionerd.AcquiredJob{},
		done: map[uuid.UUID]*provisionerd.CompletedJob{}, failed: map[uuid.UUID]*provisionerd.FailedJob{},
		told: map[uuid.UUID][]byte{},
	}
	var err error
	if h.org, err = store.EnsureDefaultOrganization(t.Context(), uuid.New(), time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		fmt.Sprintf(`INSERT INTO users (id, email, username, login_type, status, is_system, created_at, updated_at) VALUES ('%s', 'a@b.c', 'a', 'none', 'active', true, now(), now())`, h.user),
		fmt.Sprintf(`INSERT INTO files (id, hash, created_by, mimetype, data, created_at) VALUES ('%s', 'h', '%s', 'application/x-tar', '', now())`, h.file, h.user),
	} {
		if _, err := store.Pool().Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	h.log = &logbook{}
	log := slog.New(h.log)
	hub := notify.New(store.Pool(), log)
	c.Store, c.Hub, c.Log = store, hub, log
	h.queue = queue.New(c)
	for _, k := range []codersdk.ProvisionerJobType{codersdk.ProvisionerJobTypeWorkspaceBuild, codersdk.ProvisionerJobTypeTemplateVersionImport, codersdk.ProvisionerJobTypeTemplateVersionDryRun} {
		h.queue.Register(k, h)
	}
	if err := h.queue.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.ring = keyring.New(keyring.Config{Store: store, Hub: hub, Log: log})
	if err := h.ring.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.API = provisionapi.New(provisionapi.Config{Queue: h.queue, Keys: h.ring, Identity: identity.New(identity.Config{Store: store, Log: log}), Log: log, PSK: psk, Version: "v2.37.0", Patience: 2 * time.Second})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
		defer cancel()
		if err := h.Stop(ctx); err != nil {
			t.Error("connections do not end:", err)
		}
		h.queue.Stop(ctx)
		h.ring.Stop(ctx)
	})
	return h
}

func (h *house) Prepare(_ context.Context, j queue.Job) (*provisionerd.AcquiredJob, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return proto.CloneOf(h.jobs[j.ID]), nil // as of a real handler, nobody else's
}

func (h *house) Update(_ context.Context, _ *sqlc.Queries, j queue.Job, r *provisionerd.UpdateJobRequest) (*provisionerd.UpdateJobResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(r.State) > 0 {
		h.told[j.ID] = r.State
	}
	return &provisionerd.UpdateJobResponse{VariableValues: h.values}, nil
}

func (h *house) Complete(_ context.Context, _ *sqlc.Queries, j queue.Job, done *provisionerd.CompletedJob) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done[j.ID] = done
	return nil
}

func (h *house) Fail(_ context.Context, _ *sqlc.Queries, j queue.Job, failed *provisionerd.FailedJob) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed[j.ID] = failed
	return nil
}

func (h *house) Changed(context.Context, queue.Job) {}

// add puts a job with an echo script into the queue.
func (h *house) add(t testing.TB, kind codersdk.ProvisionerJobType, files map[string]string) uuid.UUID {
	t.Helper()
	return h.addJob(t, kind, files, "")
}

// addWith adds a build of a version with prepared modules.
func (h *house) addWith(t testing.TB, modules string) uuid.UUID {
	t.Helper()
	return h.addJob(t, codersdk.ProvisionerJobTypeWorkspaceBuild, nil, modules)
}

func (h *house) addJob(t testing.TB, kind codersdk.ProvisionerJobType, files map[string]string, modules string) uuid.UUID {
	t.Helper()
	return h.addUnder(t, uuid.New(), kind, files, modules)
}

// addFixed adds a build under a given id.
func (h *house) addFixed(t testing.TB, id uuid.UUID) {
	t.Helper()
	h.addUnder(t, id, codersdk.ProvisionerJobTypeWorkspaceBuild, nil, "")
}

func (h *house) sql(t testing.TB, query string, args ...any) {
	t.Helper()
	if _, err := h.store.Pool().Exec(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

func (h *house) addUnder(t testing.TB, id uuid.UUID, kind codersdk.ProvisionerJobType, files map[string]string, modules string) uuid.UUID {
	t.Helper()
	archive, err := echo.Archive(files)
	if err != nil {
		t.Fatal(err)
	}
	h.addArchive(t, id, kind, archive, modules)
	return id
}

// addArchive adds a job with the archive of a template.
func (h *house) addArchive(t testing.TB, id uuid.UUID, kind codersdk.ProvisionerJobType, archive []byte, modules string) {
	t.Helper()
	a := &provisionerd.AcquiredJob{TemplateSourceArchive: archive}
	m := &provisioner.Metadata{WorkspaceName: "ws", WorkspaceBuildId: id.String(), TemplateName: "t", TemplateVersionModulesFile: modules}
	switch kind {
	case codersdk.ProvisionerJobTypeWorkspaceBuild:
		a.Type = &provisionerd.AcquiredJob_WorkspaceBuild_{WorkspaceBuild: &provisionerd.AcquiredJob_WorkspaceBuild{Metadata: m}}
	case codersdk.ProvisionerJobTypeTemplateVersionImport:
		a.Type = &provisionerd.AcquiredJob_TemplateImport_{TemplateImport: &provisionerd.AcquiredJob_TemplateImport{Metadata: m}}
	default:
		a.Type = &provisionerd.AcquiredJob_TemplateDryRun_{TemplateDryRun: &provisionerd.AcquiredJob_TemplateDryRun{Metadata: m}}
	}
	h.mu.Lock()
	h.jobs[id] = a
	h.mu.Unlock()
	err := h.store.Tx(t.Context(), func(q *sqlc.Queries) error {
		return h.queue.Add(t.Context(), q, queue.NewJob{
			ID: id, OrganizationID: h.org, InitiatorID: h.user, FileID: h.file, Type: kind, Provisioner: "echo",
			Tags: codersdk.NormalizeTags(h.user, nil), Input: codersdk.ProvisionerJobInput{},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	h.queue.Wake(h.org)
}

// replace changes the script of a job that was given back.
func (h *house) replace(t testing.TB, id uuid.UUID, files map[string]string) {
	t.Helper()
	archive, err := echo.Archive(files)
	if err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.jobs[id].TemplateSourceArchive = archive
}

// ends waits for a job to be over.
func (h *house) ends(t testing.TB, id uuid.UUID) (codersdk.ProvisionerJob, []codersdk.ProvisionerJobLog) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
	defer cancel()
	var logs []codersdk.ProvisionerJobLog
	if err := h.queue.FollowLogs(ctx, id, 0, func(l []codersdk.ProvisionerJobLog) error { logs = append(logs, l...); return nil }); err != nil {
		t.Fatal("the job does not end:", err)
	}
	j, err := h.queue.Job(ctx, h.store.Queries, id)
	if err != nil {
		t.Fatal(err)
	}
	return j, logs
}

// says waits for a line in the job's log.
func (h *house) says(t testing.TB, id uuid.UUID, output string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
	defer cancel()
	found := fmt.Errorf("found")
	err := h.queue.FollowLogs(ctx, id, 0, func(ls []codersdk.ProvisionerJobLog) error {
		for _, l := range ls {
			if l.Output == output {
				return found
			}
		}
		return nil
	})
	if err != found {
		t.Fatalf("the job never says %q: %v", output, err)
	}
}

func (h *house) serve(ctx context.Context, c net.Conn) error {
	return h.ServeConn(ctx, c, provisionapi.BuiltIn(h.org, "builtin", "v2.37.0", []string{"echo"}))
}

// daemon starts a built-in daemon that waits for its engine when a job is canceled.
func (h *house) daemon(t testing.TB, dial func(context.Context) (drpc.Conn, error)) *daemon.Daemon {
	t.Helper()
	return h.daemonWith(t, dial, time.Hour)
}

// daemonWith starts a built-in daemon. It abandons its engine if that runs for longer than force after a cancel.
func (h *house) daemonWith(t testing.TB, dial func(context.Context) (drpc.Conn, error), force time.Duration) *daemon.Daemon {
	t.Helper()
	if dial == nil {
		dial = daemon.Pipe(h.serve)
	}
	d, err := daemon.New(daemon.Config{
		Dial: dial, Name: "builtin", Engines: map[string]provisioner.Engine{"echo": echo.Engine{}},
		UpdateInterval: 50 * time.Millisecond, ForceCancelInterval: force,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		d.Stop(ctx) //nolint:errcheck // never fails
	})
	return d
}

// cutter is a way to dial whose connections can be cut, and whose dials can be
// refused for a while.
type cutter struct {
	h     *house
	mu    sync.Mutex
	conns []net.Conn
	dials int
}

func (c *cutter) dial(context.Context) (drpc.Conn, error) {
	here, there := net.Pipe()
	go c.h.serve(context.Background(), there) //nolint:errcheck // it is to break
	c.mu.Lock()
	c.conns = append(c.conns, here)
	c.dials++
	c.mu.Unlock()
	return daemon.Over(here)
}

func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.conns {
		n.Close()
	}
	c.conns = nil
}
