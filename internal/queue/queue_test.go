package queue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// house is a queue over a database with one organization, user and file.
type house struct {
	*queue.Service
	store           *postgres.Store
	org, user, file uuid.UUID
	handler         *handler
}

// handler is a use case that remembers what it was told.
type handler struct {
	mu        sync.Mutex
	completed []*provisionerd.CompletedJob
	failed    []*provisionerd.FailedJob
	told      []string // states
	refuse    error    // of Complete
	unfit     error    // of Prepare
}

func (h *handler) Prepare(context.Context, queue.Job) (*provisionerd.AcquiredJob, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return &provisionerd.AcquiredJob{}, h.unfit
}

func (h *handler) Update(_ context.Context, _ *sqlc.Queries, _ queue.Job, r *provisionerd.UpdateJobRequest) (*provisionerd.UpdateJobResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(r.State) > 0 {
		h.told = append(h.told, string(r.State))
	}
	return &provisionerd.UpdateJobResponse{VariableValues: r.UserVariableValues}, nil
}

func (h *handler) states() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.told)
}

func (h *handler) Complete(_ context.Context, _ *sqlc.Queries, _ queue.Job, done *provisionerd.CompletedJob) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.completed = append(h.completed, done)
	return h.refuse
}

func (h *handler) Fail(_ context.Context, _ *sqlc.Queries, _ queue.Job, failed *provisionerd.FailedJob) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = append(h.failed, failed)
	return nil
}

func (h *handler) Changed(context.Context, queue.Job) {}

func newHouse(t testing.TB, c queue.Config) *house {
	t.Helper()
	return newHouseOn(t, postgrestest.New(t), c)
}

// newHouseOn is newHouse on an empty database.
func newHouseOn(t testing.TB, store *postgres.Store, c queue.Config) *house {
	t.Helper()
	h := &house{store: store, org: uuid.New(), user: uuid.New(), file: uuid.New(), handler: &handler{}}
	for _, sql := range []string{
		fmt.Sprintf(`INSERT INTO organizations (id, name, created_at, updated_at) VALUES ('%s', 'o', now(), now())`, h.org),
		fmt.Sprintf(`INSERT INTO users (id, email, username, login_type, status, created_at, updated_at) VALUES ('%s', 'a@b.c', 'a', 'none', 'active', now(), now())`, h.user),
		fmt.Sprintf(`INSERT INTO files (id, hash, created_by, mimetype, data, created_at) VALUES ('%s', 'h', '%s', 'application/x-tar', '', now())`, h.file, h.user),
	} {
		if _, err := store.Pool().Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	log := slog.New(slog.DiscardHandler)
	hub := notify.New(store.Pool(), log)
	c.Store, c.Hub, c.Log = store, hub, log
	h.Service = queue.New(c)
	for _, k := range kinds() {
		h.Register(k, h.handler)
	}
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Stop(context.Background()) })
	return h
}

func kinds() []codersdk.ProvisionerJobType {
	return []codersdk.ProvisionerJobType{codersdk.ProvisionerJobTypeWorkspaceBuild, codersdk.ProvisionerJobTypeTemplateVersionImport, codersdk.ProvisionerJobTypeTemplateVersionDryRun}
}

func (h *house) add(t testing.TB, kind codersdk.ProvisionerJobType, tags codersdk.Tags) uuid.UUID {
	t.Helper()
	id := uuid.New()
	err := h.store.Tx(t.Context(), func(q *sqlc.Queries) error {
		return h.Add(t.Context(), q, queue.NewJob{
			ID: id, OrganizationID: h.org, InitiatorID: h.user, FileID: h.file, Type: kind, Provisioner: "echo",
			Tags: codersdk.NormalizeTags(h.user, tags), Input: codersdk.ProvisionerJobInput{},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Wake(h.org)
	return id
}

func (h *house) worker(t testing.TB, name string, tags codersdk.Tags) queue.Worker {
	t.Helper()
	w := queue.Worker{OrganizationID: h.org, Name: name, Tags: codersdk.NormalizeTags(h.user, tags), Provisioners: []string{"echo"}}
	id, gone, err := h.Hello(t.Context(), queue.Daemon{OrganizationID: h.org, Name: name, Tags: w.Tags, Provisioners: w.Provisioners})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gone)
	w.ID = id
	return w
}

func (h *house) acquire(t testing.TB, w queue.Worker) *provisionerd.AcquiredJob {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
	defer cancel()
	a, err := h.Acquire(ctx, w)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (h *house) status(t testing.TB, id uuid.UUID) codersdk.ProvisionerJobStatus {
	t.Helper()
	j, err := h.Job(t.Context(), h.store.Queries, id)
	if err != nil {
		t.Fatal(err)
	}
	return j.Status
}

// ends waits for the job to be over.
func (h *house) ends(t testing.TB, id uuid.UUID) codersdk.ProvisionerJob {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
	defer cancel()
	if err := h.FollowLogs(ctx, id, 0, func([]codersdk.ProvisionerJobLog) error { return nil }); err != nil {
		t.Fatal(err)
	}
	j, err := h.Job(ctx, h.store.Queries, id)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func buildDone(a *provisionerd.AcquiredJob) *provisionerd.CompletedJob {
	return &provisionerd.CompletedJob{JobId: a.JobId, Type: &provisionerd.CompletedJob_WorkspaceBuild_{WorkspaceBuild: &provisionerd.CompletedJob_WorkspaceBuild{State: []byte("s")}}}
}

func buildFailed(a *provisionerd.AcquiredJob, why string) *provisionerd.FailedJob {
	return &provisionerd.FailedJob{JobId: a.JobId, Error: why, Type: &provisionerd.FailedJob_WorkspaceBuild_{WorkspaceBuild: &provisionerd.FailedJob_WorkspaceBuild{State: []byte("s")}}}
}

func TestJobSucceeds(t *testing.T) {
	h := newHouse(t, queue.Config{})
	id := h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, nil)
	other := h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, nil)
	w := h.worker(t, "d", nil)

	j, err := h.Job(t.Context(), h.store.Queries, other)
	if err != nil {
		t.Fatal(err)
	}
	if j.Status != codersdk.ProvisionerJobStatusPending || j.QueuePosition != 2 || j.QueueSize != 2 || !slices.Equal(j.AvailableWorkers, []string{w.ID.String()}) {
		t.Fatalf("pending job looks like %+v", j)
	}
	a := h.acquire(t, w)
	if a.JobId != id.String() || a.Fence != 1 || a.LeaseMilliseconds <= 0 || a.Provisioner != "echo" {
		t.Fatalf("claimed %+v, want job %s under fence 1", a, id)
	}
	resp, err := h.Update(t.Context(), w, 1, &provisionerd.UpdateJobRequest{JobId: a.JobId, Logs: []*provisionerd.Log{{Stage: "Plan", Output: "hello", Level: provisioner.LogLevel_INFO}}})
	if err != nil || resp.Canceled {
		t.Fatal(resp, err)
	}
	if err := h.Complete(t.Context(), w, 1, buildDone(a)); err != nil {
		t.Fatal(err)
	}
	if j := h.ends(t, id); j.Status != codersdk.ProvisionerJobStatusSucceeded || j.WorkerName != "d" || j.WorkerID == nil {
		t.Fatalf("job ended as %+v", j)
	}
	logs, err := h.Logs(t.Context(), id, 0, 0)
	if err != nil || len(logs) != 1 || logs[0].Output != "hello" || logs[0].Stage != "Plan" {
		t.Fatal(logs, err)
	}
	if err := h.Complete(t.Context(), w, 1, buildDone(a)); !queue.Lost(err) {
		t.Fatalf("a second completion gives %v, want lost", err)
	}
}

func TestFence(t *testing.T) {
	h := newHouse(t, queue.Config{Lease: time.Millisecond, Reap: 20 * time.Millisecond})
	id := h.add(t, codersdk.ProvisionerJobTypeTemplateVersionImport, nil)
	zombie, next := h.worker(t, "zombie", nil), h.worker(t, "next", nil)
	zombie.Lease, next.Lease = time.Hour, time.Hour
	a := h.acquire(t, zombie)
	h.expire(t, a.JobId)
	b := h.acquire(t, next)
	if b.JobId != id.String() || b.Fence != 2 {
		t.Fatalf("after the lease the import is claimed as %+v", b)
	}
	done := &provisionerd.CompletedJob{JobId: a.JobId, Type: &provisionerd.CompletedJob_TemplateImport_{}}
	if err := h.Complete(t.Context(), zombie, a.Fence, done); !queue.Lost(err) {
		t.Fatalf("the zombie's completion gives %v, want lost", err)
	}
	if _, err := h.Update(t.Context(), zombie, a.Fence, &provisionerd.UpdateJobRequest{JobId: a.JobId}); !queue.Lost(err) {
		t.Fatalf("the zombie's update gives %v, want lost", err)
	}
	if err := h.Fail(t.Context(), zombie, b.Fence, &provisionerd.FailedJob{JobId: a.JobId}); !queue.Lost(err) {
		t.Fatalf("a failure by another daemon with the right fence gives %v, want lost", err)
	}
	if err := h.Complete(t.Context(), next, b.Fence, done); err != nil {
		t.Fatal(err)
	}
}

func TestLostBuildFails(t *testing.T) {
	h := newHouse(t, queue.Config{Lease: time.Millisecond, Reap: 20 * time.Millisecond})
	id := h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, nil)
	w := h.worker(t, "gone", nil)
	w.Lease = time.Hour
	a := h.acquire(t, w)
	if _, err := h.Update(t.Context(), w, a.Fence, &provisionerd.UpdateJobRequest{JobId: a.JobId}); err != nil {
		t.Fatal(err)
	}
	h.expire(t, a.JobId)
	j := h.ends(t, id)
	if j.Status != codersdk.ProvisionerJobStatusFailed || !strings.Contains(j.Error, `"gone" was lost`) || !strings.Contains(j.Error, "state from before the build is kept") {
		t.Fatalf("lost build ended as %s: %s", j.Status, j.Error)
	}
	if len(h.handler.failed) != 1 || h.handler.failed[0].GetWorkspaceBuild() != nil {
		t.Fatalf("the handler was told %v; it must get no state to store", h.handler.failed)
	}
}

func TestBuildThatNeverBeganRunsAgain(t *testing.T) {
	h := newHouse(t, queue.Config{Lease: time.Millisecond, Reap: 20 * time.Millisecond})
	id := h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, nil)
	w := h.worker(t, "d", nil)
	w.Lease = time.Hour
	h.expire(t, h.acquire(t, w).JobId) // it sent no update
	if a := h.acquire(t, w); a.JobId != id.String() || a.Fence != 2 {
		t.Fatalf("claimed again: %v", a)
	}
}

func TestCancel(t *testing.T) {
	h := newHouse(t, queue.Config{})
	cancel := func(id uuid.UUID) error {
		defer h.Canceled(id)
		return h.store.Tx(t.Context(), func(q *sqlc.Queries) error { return h.Cancel(t.Context(), q, id) })
	}
	pending := h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, nil)
	if err := cancel(pending); err != nil {
		t.Fatal(err)
	}
	if got := h.status(t, pending); got != codersdk.ProvisionerJobStatusCanceled || len(h.handler.failed) != 1 {
		t.Fatalf("pending job is %s after cancel", got)
	}
	if err := cancel(pending); !codersdk.Is(err, codersdk.CodePrecondition) {
		t.Fatalf("canceling again gives %v", err)
	}
	w := h.worker(t, "d", nil)
	for _, end := range []struct {
		finish func(*provisionerd.AcquiredJob) error
		want   codersdk.ProvisionerJobStatus
	}{
		{func(a *provisionerd.AcquiredJob) error {
			return h.Fail(t.Context(), w, a.Fence, buildFailed(a, "interrupted"))
		}, codersdk.ProvisionerJobStatusCanceled},
		{func(a *provisionerd.AcquiredJob) error { return h.Complete(t.Context(), w, a.Fence, buildDone(a)) }, codersdk.ProvisionerJobStatusSucceeded},
	} {
		id := h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, nil)
		a := h.acquire(t, w)
		if err := cancel(id); err != nil {
			t.Fatal(err)
		}
		if got := h.status(t, id); got != codersdk.ProvisionerJobStatusCanceling {
			t.Fatalf("running job is %s after cancel", got)
		}
		if err := cancel(id); !codersdk.Is(err, codersdk.CodePrecondition) {
			t.Fatalf("canceling again gives %v", err)
		}
		resp, err := h.Update(t.Context(), w, a.Fence, &provisionerd.UpdateJobRequest{JobId: a.JobId})
		if err != nil || !resp.Canceled {
			t.Fatalf("the daemon is told %v, %v; want canceled", resp, err)
		}
		if err := end.finish(a); err != nil {
			t.Fatal(err)
		}
		if got := h.status(t, id); got != end.want {
			t.Fatalf("job is %s, want %s", got, end.want)
		}
	}
}

func TestForcedCancelFails(t *testing.T) {
	skewed(t, func(t *testing.T, store *postgres.Store) {
		h := newHouseOn(t, store, queue.Config{ForceCancel: 50 * time.Millisecond, Reap: 20 * time.Millisecond, Lease: time.Millisecond})
		h.forcesCancel(t)
	})
}

// skewed calls f with a database whose clock agrees with that of this machine, and with
// databases whose clocks are an hour ahead and behind: leases are by the clock of the database.
func skewed(t *testing.T, f func(*testing.T, *postgres.Store)) {
	t.Helper()
	for name, ahead := range map[string]time.Duration{"same clock": 0, "an hour behind the database": time.Hour, "an hour ahead of the database": -time.Hour} {
		t.Run(name, func(t *testing.T) { f(t, postgrestest.NewSkewed(t, ahead)) })
	}
}

func (h *house) forcesCancel(t *testing.T) {
	id := h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, nil)
	w := h.worker(t, "deaf", nil)
	w.Lease = time.Hour
	h.acquire(t, w)
	if err := h.store.Tx(t.Context(), func(q *sqlc.Queries) error { return h.Cancel(t.Context(), q, id) }); err != nil {
		t.Fatal(err)
	}
	if j := h.ends(t, id); j.Status != codersdk.ProvisionerJobStatusFailed || !strings.Contains(j.Error, "did not end the job") {
		t.Fatalf("job ended as %s: %s", j.Status, j.Error)
	}
}

func TestUnservedJobFails(t *testing.T) {
	h := newHouse(t, queue.Config{Unserved: 50 * time.Millisecond, Reap: 20 * time.Millisecond, Lease: time.Millisecond})
	h.worker(t, "untagged", nil)
	served := h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, nil)
	id := h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, codersdk.Tags{"gpu": "yes"})
	if j := h.ends(t, id); j.Status != codersdk.ProvisionerJobStatusFailed || !strings.Contains(j.Error, "gpu=yes") {
		t.Fatalf("job ended as %s: %s", j.Status, j.Error)
	}
	_ = served
}

func TestRefusedResultFailsTheJobAndKeepsState(t *testing.T) {
	h := newHouse(t, queue.Config{})
	h.handler.refuse = codersdk.Invalid("slug", "two apps are called %q", "code")
	id := h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, nil)
	w := h.worker(t, "d", nil)
	a := h.acquire(t, w)
	if err := h.Complete(t.Context(), w, a.Fence, buildDone(a)); err != nil {
		t.Fatal(err)
	}
	j := h.ends(t, id)
	if j.Status != codersdk.ProvisionerJobStatusFailed || !strings.Contains(j.Error, `two apps are called "code"`) {
		t.Fatalf("job ended as %s: %s", j.Status, j.Error)
	}
	if f := h.handler.failed; len(f) != 1 || string(f[0].GetWorkspaceBuild().GetState()) != "s" {
		t.Fatalf("the state was not kept: %v", f)
	}
}

func TestWrongKindOfResultFailsTheJob(t *testing.T) {
	h := newHouse(t, queue.Config{})
	id := h.add(t, codersdk.ProvisionerJobTypeTemplateVersionImport, nil)
	w := h.worker(t, "d", nil)
	a := h.acquire(t, w)
	if err := h.Complete(t.Context(), w, a.Fence, buildDone(a)); err != nil {
		t.Fatal(err)
	}
	if j := h.ends(t, id); j.Status != codersdk.ProvisionerJobStatusFailed {
		t.Fatalf("job ended as %s", j.Status)
	}
}

func TestUnpreparableJobFails(t *testing.T) {
	h := newHouse(t, queue.Config{})
	h.handler.unfit = codersdk.Errorf(codersdk.CodeInvalid, "its input cannot be read")
	id := h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := h.Acquire(ctx, h.worker(t, "d", nil)); done <- err }()
	if j := h.ends(t, id); j.Status != codersdk.ProvisionerJobStatusFailed || !strings.Contains(j.Error, "its input cannot be read") {
		t.Fatalf("job ended as %s: %s", j.Status, j.Error)
	}
	cancel()
	if err := <-done; err != context.Canceled {
		t.Fatal(err)
	}
}

func TestLeaverLosesNoJob(t *testing.T) {
	h := newHouse(t, queue.Config{})
	w := h.worker(t, "fickle", nil)
	for range 30 {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var a *provisionerd.AcquiredJob
		wg.Go(func() { a, _ = h.Acquire(ctx, w) })
		id := h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, nil)
		cancel()
		wg.Wait()
		if a == nil {
			a = h.acquire(t, w)
		}
		if a.JobId != id.String() {
			t.Fatalf("claimed %s, want %s", a.JobId, id)
		}
		if err := h.Complete(t.Context(), w, a.Fence, buildDone(a)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLogs(t *testing.T) {
	h := newHouse(t, queue.Config{})
	id := h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, nil)
	w := h.worker(t, "d", nil)
	a := h.acquire(t, w)
	say := func(lines ...string) {
		req := &provisionerd.UpdateJobRequest{JobId: a.JobId}
		for _, l := range lines {
			req.Logs = append(req.Logs, &provisionerd.Log{Output: l, CreatedAt: time.Now().UnixMilli(), Source: provisionerd.LogSource_PROVISIONER})
		}
		if _, err := h.Update(t.Context(), w, a.Fence, req); err != nil {
			t.Fatal(err)
		}
	}
	var followed []codersdk.ProvisionerJobLog
	done := make(chan error, 1)
	go func() {
		done <- h.FollowLogs(t.Context(), id, 0, func(l []codersdk.ProvisionerJobLog) error { followed = append(followed, l...); return nil })
	}()
	say("a\x00b \xff\xfe end", strings.Repeat("ä", 5<<20))
	line := strings.Repeat("x", 1000)
	for range 25 {
		say(slices.Repeat([]string{line}, 50)...)
	}
	if err := h.Complete(t.Context(), w, a.Fence, buildDone(a)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	all, err := h.Logs(t.Context(), id, 0, 0)
	if err != nil || len(all) != len(followed) {
		t.Fatalf("read %d lines, followed %d, %v", len(all), len(followed), err)
	}
	if all[0].Output != "a\uFFFDb \uFFFD end" {
		t.Fatalf("first line is %q", all[0].Output)
	}
	if l := all[1].Output; len(l) > 70<<10 || !strings.Contains(l, "bytes cut)") {
		t.Fatalf("second line has %d bytes", len(l))
	}
	size := 0
	for _, l := range all {
		size += len(l.Output)
	}
	if last := all[len(all)-1]; size > 1<<20+200 || last.LogLevel != codersdk.LogLevelWarn || !strings.Contains(last.Output, "limit") {
		t.Fatalf("%d bytes kept, the last line is %q", size, last.Output)
	}
	if j := h.ends(t, id); !j.LogsOverflowed || j.Status != codersdk.ProvisionerJobStatusSucceeded {
		t.Fatalf("job is %+v", j)
	}
	some, err := h.Logs(t.Context(), id, all[2].ID, all[5].ID)
	if err != nil || len(some) != 2 || some[0].ID != all[3].ID {
		t.Fatalf("between %d and %d: %v, %v", all[2].ID, all[5].ID, some, err)
	}
}

func TestMatched(t *testing.T) {
	h := newHouse(t, queue.Config{})
	h.worker(t, "plain", nil)
	h.worker(t, "tagged", codersdk.Tags{"a": "1", "b": "2"})
	for _, c := range []struct {
		tags codersdk.Tags
		want int
	}{{nil, 1}, {codersdk.Tags{"a": "1"}, 1}, {codersdk.Tags{"a": "2"}, 0}} {
		m, warning, err := h.Outlook(t.Context(), h.store.Queries, h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, c.tags))
		if err != nil || (warning == "") != (c.want > 0) || m.Count != c.want || m.Available != c.want || (m.MostRecentlySeen != nil) != (c.want > 0) {
			t.Errorf("%v: %+v, %v; want %d", c.tags, m, err, c.want)
		}
	}
}

func mustJSON(t testing.TB, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
