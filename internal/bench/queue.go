package bench

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"storj.io/drpc"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	daemon "github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/server/database"
)

// Queue measures the provisioner queue with simulated daemons that speak the
// real wire over WebSockets, with real daemons and Terraform, and with pgbench
// on the server's PostgreSQL as the floor.
func Queue(ctx context.Context, c Config) error {
	if c.Runs == 0 {
		c.Runs = 9
	}
	bin, err := filepath.Abs(c.Coder)
	if err != nil {
		return err
	}
	return each(c,
		measurement{"jobs", func() ([]row, error) { return withYard(ctx, bin, onDisk(c.Commit, jobRows)) }},
		measurement{"acquiring", func() ([]row, error) { return withYard(ctx, bin, acquireRows) }},
		measurement{"picking up", func() ([]row, error) { return withYard(ctx, bin, onDisk(c.Commit, pickupRows)) }},
		measurement{"idle provisioners", func() ([]row, error) { return withYard(ctx, bin, idleRows) }},
		measurement{"builds", func() ([]row, error) { return slotRows(ctx, bin, c.Runs) }},
		measurement{"ends of builds", func() ([]row, error) { return endRows(ctx, bin) }},
	)
}

// yard is a new server without built-in provisioners, and a second replica's
// view of its queue for adding jobs.
type yard struct {
	*server
	url   string // of its database
	store *postgres.Store
	queue *queue.Service
	org   uuid.UUID
	user  uuid.UUID
	file  uuid.UUID
	input map[string]any // of a dry run
}

// withYard creates a yard for one measurement, so that measurements are
// independent.
func withYard(ctx context.Context, bin string, measure func(context.Context, *yard) ([]row, error)) ([]row, error) {
	dir, err := os.MkdirTemp("", "coder-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	// Its own provisioner imports the template and takes no other tags.
	s, err := newServer(ctx, bin, dir, "--provisioner-types", "echo", "--provisioner-daemons", "1")
	if err != nil {
		return nil, err
	}
	defer s.stop()
	y := &yard{server: s}
	if y.url, err = database.EmbeddedURL(filepath.Join(dir, "config")); err != nil {
		return nil, err
	}
	w, err := echoWorkspace(ctx, s)
	if err != nil {
		return nil, err
	}
	y.org, y.user, y.file = w.OrganizationID, w.OwnerID, w.LatestBuild.Job.FileID
	y.input = map[string]any{"template_version_id": w.LatestBuild.TemplateVersionID, "workspace_name": "bench"}
	if y.store, err = postgres.Open(ctx, postgres.Config{URL: y.url, MaxOpen: clients, MaxIdle: clients}); err != nil {
		return nil, err
	}
	defer y.store.Close()
	hub := notify.New(y.store.Pool(), slog.New(slog.DiscardHandler))
	if err := hub.Start(ctx); err != nil {
		return nil, err
	}
	defer hub.Stop(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is left to say
	y.queue = queue.New(queue.Config{Store: y.store, Hub: hub, Log: slog.New(slog.DiscardHandler)})
	return measure(ctx, y)
}

// onDisk returns a measurement in which each durable commit takes longer. PostgreSQL waits before it writes its log to
// the disk; commits that wait at the same time are still written together.
func onDisk(longer time.Duration, rows func(context.Context, *yard) ([]row, error)) func(context.Context, *yard) ([]row, error) {
	if longer == 0 {
		return rows
	}
	return func(ctx context.Context, y *yard) ([]row, error) {
		for _, sql := range []string{
			fmt.Sprintf("ALTER SYSTEM SET commit_delay = %d", longer.Microseconds()), "ALTER SYSTEM SET commit_siblings = 0", "SELECT pg_reload_conf()",
		} {
			if _, err := y.store.Pool().Exec(ctx, sql); err != nil {
				return nil, fmt.Errorf("slow commits down: %w", err)
			}
		}
		return rows(ctx, y)
	}
}

// add adds jobs with the tags to the queue and returns the id of the last one.
func (y *yard) add(ctx context.Context, n int, tags codersdk.Tags) (id uuid.UUID, err error) {
	err = y.store.Tx(ctx, func(q *sqlc.Queries) error {
		for range n {
			id = uuid.New()
			if err := y.queue.Add(ctx, q, queue.NewJob{
				ID: id, OrganizationID: y.org, InitiatorID: y.user, FileID: y.file, Type: codersdk.ProvisionerJobTypeTemplateVersionDryRun,
				Provisioner: "echo", Tags: codersdk.NormalizeTags(y.user, tags), Input: y.input,
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		y.queue.Wake(y.org)
	}
	return id, err
}

// fake is a daemon's connection without an engine.
type fake struct {
	conn drpc.Conn
	api  provisionerd.DRPCProvisionerDaemonClient
}

func (y *yard) daemon(ctx context.Context, name string, tags codersdk.Tags) (*fake, error) {
	c := *y.c
	conn, err := daemon.WebSocket{Client: &c, Name: name, Tags: tags, Provisioners: []string{"echo"}, PSK: psk, Version: "v2.37.0-bench"}.Dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect the provisioner %s: %w", name, err)
	}
	return &fake{conn, provisionerd.NewDRPCProvisionerDaemonClient(conn)}, nil
}

// acquire waits for a job.
func (f *fake) acquire(ctx context.Context) (*provisionerd.AcquiredJob, error) {
	stream, err := f.api.AcquireJobWithCancel(ctx)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	return stream.Recv()
}

// finish logs one line and completes the job.
func (f *fake) finish(ctx context.Context, a *provisionerd.AcquiredJob) error {
	if _, err := f.api.UpdateJob(ctx, &provisionerd.UpdateJobRequest{
		JobId: a.JobId, Fence: a.Fence, Logs: []*provisionerd.Log{{Output: "planned", Stage: "Planning", CreatedAt: time.Now().UnixMilli()}},
	}); err != nil {
		return err
	}
	_, err := f.api.CompleteJob(ctx, &provisionerd.CompletedJob{
		JobId: a.JobId, Fence: a.Fence, Type: &provisionerd.CompletedJob_TemplateDryRun_{TemplateDryRun: &provisionerd.CompletedJob_TemplateDryRun{}},
	})
	return err
}
