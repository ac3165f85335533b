package provisionapi_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"storj.io/drpc"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	daemon "github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// outage stops PostgreSQL right before the nth call of one method is made.
type outage struct {
	method string
	nth    int
	away   func()

	mu    sync.Mutex
	calls int
}

func (o *outage) called(rpc string) {
	if !strings.HasSuffix(rpc, "/"+o.method) {
		return
	}
	o.mu.Lock()
	o.calls++
	now := o.calls == o.nth
	o.mu.Unlock()
	if now {
		o.away()
	}
}

func (o *outage) happened() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls >= o.nth
}

type unlucky struct {
	drpc.Conn
	o *outage
}

func (u unlucky) Invoke(ctx context.Context, rpc string, enc drpc.Encoding, in, out drpc.Message) error {
	u.o.called(rpc)
	return u.Conn.Invoke(ctx, rpc, enc, in, out)
}

func (u unlucky) NewStream(ctx context.Context, rpc string, enc drpc.Encoding) (drpc.Stream, error) {
	u.o.called(rpc)
	return u.Conn.NewStream(ctx, rpc, enc)
}

// leaver is an engine with prepared modules, and with the state of a job that
// an earlier process left, until the server has it.
type leaver struct {
	*hoarder
	claim string
}

func (l *leaver) Leftovers(take func(claim string, state []byte) error) error {
	if l.claim == "" {
		return nil
	}
	err := take(l.claim, []byte(`{}`))
	if err == nil {
		l.claim = ""
	}
	return err
}

// TestDatabaseAway stops PostgreSQL for 5 seconds at the moment of each call
// of a provisioner: every job ends as it would have without that.
func TestDatabaseAway(t *testing.T) {
	good := map[string]string{
		"plan.jsonl":  `{"complete": {"dailyCost": 1}}`,
		"apply.jsonl": `{"log": {"output": "applying"}}` + "\n" + strings.Repeat(`{"state": "half"}`+"\n"+`{"sleep": "300ms"}`+"\n", 5) + `{"state": "whole"}`,
	}
	bad := map[string]string{"apply.jsonl": `{"state": "half", "error": "out of luck"}`}
	large := map[string]string{"init.jsonl": fmt.Sprintf(`{"complete": {"moduleFiles": "%s"}}`, strings.Repeat("QUJD", 400_000))}
	ok, failed := codersdk.ProvisionerJobStatusSucceeded, codersdk.ProvisionerJobStatusFailed
	cases := []withoutDatabase{
		{build, good, "AcquireJobWithCancel", 1, ok}, {build, good, "AwaitInterruption", 1, ok}, {build, good, "DownloadFile", 1, ok},
		{build, good, "CommitQuota", 1, ok}, {build, good, "CompleteJob", 1, ok}, {build, bad, "FailJob", 1, failed},
		{imp, large, "UploadFile", 1, ok}, {build, good, "Recover", 1, ok},
	}
	for n := range 5 { // the first word, log lines, the one right before the apply, states
		cases = append(cases, withoutDatabase{build, good, "UpdateJob", n + 1, ok})
	}
	cases = append(cases, withoutDatabase{imp, good, "UpdateJob", 2, ok}) // what the template holds
	tested := map[string]bool{"AcquireJob": true}                         // earlier provisioners call it; see TestAcquireJobWithoutDatabase
	for _, c := range cases {
		tested[c.method] = true
	}
	for _, service := range []drpc.Description{provisionerd.DRPCProvisionerDaemonDescription{}, provisionerd.DRPCExtensionsDescription{}} {
		for i := range service.NumMethods() {
			if rpc, _, _, _, _ := service.Method(i); !tested[rpc[strings.LastIndex(rpc, "/")+1:]] {
				t.Errorf("%s has no case", rpc)
			}
		}
	}
	var all sync.WaitGroup
	turns := make(chan struct{}, 7) // they wait more than they compute
	for _, c := range cases {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			t.Run(fmt.Sprintf("%s %s %d", c.kind, c.method, c.nth), func(t *testing.T) { c.run(t) })
		})
	}
	all.Wait()
}

// TestAcquireJobWithoutDatabase stops PostgreSQL for 5 seconds at the moment of the call
// with which earlier provisioners ask for a job: they get the job once it is back.
func TestAcquireJobWithoutDatabase(t *testing.T) {
	cluster := postgrestest.NewCluster(t)
	h := newHouseOn(t, cluster.Store(), queue.Config{})
	id := h.add(t, build, nil)
	dial := daemon.Pipe(h.serve)
	conn, err := dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cluster.StopFor(5 * time.Second)
	var job *provisionerd.AcquiredJob
	testwait.Until(t, "the provisioner gets the job", func() bool {
		job, err = provisionerd.NewDRPCProvisionerDaemonClient(conn).AcquireJob(t.Context(), &provisionerd.Empty{})
		if err == nil {
			return job.JobId != ""
		}
		if next, err := dial(t.Context()); err == nil {
			conn.Close()
			conn = next
		}
		return false
	}, testwait.Every(50*time.Millisecond))
	conn.Close()
	if job.JobId != id.String() {
		t.Errorf("the job is %s, want %s", job.JobId, id)
	}
}

// withoutDatabase is a job, the call at which PostgreSQL is stopped, and how the
// job is to end.
type withoutDatabase struct {
	kind   codersdk.ProvisionerJobType
	files  map[string]string
	method string
	nth    int
	status codersdk.ProvisionerJobStatus
}

func (c withoutDatabase) run(t *testing.T) {
	cluster := postgrestest.NewCluster(t)
	h := newHouseOn(t, cluster.Store(), queue.Config{})
	file := h.modules(t)
	o := &outage{method: c.method, nth: c.nth, away: func() { cluster.StopFor(5 * time.Second) }}
	dial := daemon.Pipe(h.serve)
	engine := &leaver{hoarder: &hoarder{files: map[string][]byte{}}}
	if c.method == "Recover" {
		engine.claim = h.abandoned(t)
	}
	id := h.addJob(t, c.kind, c.files, file)
	d, err := daemon.New(daemon.Config{
		Dial: func(ctx context.Context) (drpc.Conn, error) {
			conn, err := dial(ctx)
			return unlucky{conn, o}, err
		}, Name: "builtin", Engines: map[string]provisioner.Engine{"echo": engine},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	j := h.over(t, cluster, id)
	if err := d.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if !o.happened() {
		t.Fatalf("%s was called %d times: this tests nothing", c.method, o.calls)
	}
	if failed := c.status == codersdk.ProvisionerJobStatusFailed; j.Status != c.status || failed && !strings.Contains(j.Error, "out of luck") {
		t.Errorf("the job ended as %s: %s", j.Status, j.Error)
	}
	if c.method == "DownloadFile" && engine.used == 0 {
		t.Error("the prepared modules were not used")
	}
	if c.method == "Recover" && engine.claim != "" {
		t.Error("the state of the lost job was not taken")
	}
}

// over waits for the end of a job, whether or not the database can be asked.
func (h *house) over(t *testing.T, cluster *postgrestest.Cluster, id uuid.UUID) (j codersdk.ProvisionerJob) {
	t.Helper()
	testwait.Until(t, "the job has ended", func() (ended bool) {
		cluster.WaitRunning()
		var err error
		j, err = h.queue.Job(t.Context(), h.store.Queries, id)
		return err == nil && j.CompletedAt != nil
	}, testwait.Every(50*time.Millisecond))
	return j
}

// modules adds a template version with prepared modules, and returns their file.
func (h *house) modules(t *testing.T) string {
	t.Helper()
	file, imported := uuid.New(), uuid.New()
	h.sql(t, `INSERT INTO files (id, hash, created_by, mimetype, data, created_at) VALUES ($1, 'm', $2, 'application/x-tar', $3, now())`, file, h.user, bytes.Repeat([]byte("m"), 100))
	h.addUnder(t, imported, imp, nil, "")
	h.sql(t, `UPDATE provisioner_jobs SET started_at = now(), worker_id = gen_random_uuid(), lease_expires_at = now(), completed_at = now() WHERE id = $1`, imported)
	h.sql(t, `INSERT INTO template_versions (id, organization_id, job_id, name, created_by, module_files_id, created_at, updated_at) VALUES ($1, $2, $3, 'v', $4, $5, now(), now())`,
		uuid.New(), h.org, imported, h.user, file)
	return file.String()
}

// abandoned adds a build whose provisioner is gone, and returns its claim.
func (h *house) abandoned(t *testing.T) string {
	t.Helper()
	id := h.add(t, build, nil)
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
	defer cancel()
	dead, gone, err := h.queue.Hello(ctx, queue.Daemon{OrganizationID: h.org, Name: "dead", Tags: codersdk.NormalizeTags(h.user, nil), Provisioners: []string{"echo"}})
	if err != nil {
		t.Fatal(err)
	}
	defer gone()
	a, err := h.queue.Acquire(ctx, queue.Worker{ID: dead, OrganizationID: h.org, Name: "dead", Tags: codersdk.NormalizeTags(h.user, nil), Provisioners: []string{"echo"}})
	if err != nil || a.JobId != id.String() {
		t.Fatal(a, err)
	}
	h.sql(t, `UPDATE provisioner_jobs SET completed_at = now(), error = 'lost' WHERE id = $1`, id)
	return fmt.Sprintf(`{"job": %q, "fence": %d}`, id, a.Fence)
}
