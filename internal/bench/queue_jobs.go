package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

const (
	clients = 32 // of pgbench, and as many daemons
	rounds  = 3
	roundOf = 4 * time.Second
)

// floorCycle is the minimum that a queue in PostgreSQL does for a job, on the
// server's own table with its indexes and references: insert, take with SKIP
// LOCKED, and end, each in its own transaction, without locks in between, rules
// or logs. It contains values that are the same in all jobs.
const floorCycle = `INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at)
SELECT gen_random_uuid(), '%s', '%s', 'template_version_dry_run', 'echo', %d, '%s', '%s', now(), now();
UPDATE provisioner_jobs SET started_at = now(), updated_at = now(), fence = fence + 1, worker_id = '7d1c3a1e-0000-4000-8000-000000000002',
    lease_ms = 12000, lease_expires_at = now() + interval '12 seconds'
WHERE id = (
    SELECT id FROM provisioner_jobs WHERE tag_set_id = %d AND provisioner = 'echo' AND started_at IS NULL AND completed_at IS NULL
    ORDER BY priority, created_at LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id \aset
UPDATE provisioner_jobs SET completed_at = now(), updated_at = now() WHERE id = :id;
`

// jobRows measures jobs per second against pgbench's cycles on the same table,
// in turns. Both have the same concurrency: 32 clients, and 32 daemons with at
// most 32 more pending jobs. Everything except Terraform is included: the
// queue's own code adds the jobs, which are claimed, prepared and sent over
// WebSockets on loopback; a log line and the result come back.
func jobRows(ctx context.Context, y *yard) ([]row, error) {
	f, err := newFloor(ctx, y)
	if err != nil {
		return nil, err
	}
	var daemons []*fake
	for i := range clients {
		d, err := y.daemon(ctx, fmt.Sprint("bench", i), codersdk.Tags{"bench": "jobs"})
		if err != nil {
			return nil, err
		}
		defer d.conn.Close()
		daemons = append(daemons, d)
	}
	var ratios, ours, floors []float64
	for range rounds {
		floor, err := f.run(ctx)
		if err != nil {
			return nil, err
		}
		jobs, err := y.jobs(ctx, daemons)
		if err != nil {
			return nil, err
		}
		ratios, ours, floors = append(ratios, jobs/floor), append(ours, jobs), append(floors, floor)
	}
	return []row{
		atLeast("queue_jobs_over_pgbench", median(ratios), 0.5, "x"),
		atLeast("queue_jobs", median(ours), median(floors)/2, "/s"),
	}, nil
}

// jobs lets the daemons work and returns the completed jobs per second.
func (y *yard) jobs(ctx context.Context, daemons []*fake) (float64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	enough := errors.New("enough")
	var done atomic.Int64
	var work sync.WaitGroup
	flying := make(chan struct{}, 2*len(daemons)) // added and not yet done
	for _, d := range daemons {
		work.Go(func() {
			for ctx.Err() == nil {
				select {
				case flying <- struct{}{}:
				case <-ctx.Done():
					return
				}
				if _, err := y.add(ctx, 1, codersdk.Tags{"bench": "jobs"}); err != nil {
					cancel(err)
				}
			}
		})
		work.Go(func() {
			for ctx.Err() == nil {
				a, err := d.acquire(ctx)
				if err == nil {
					err = d.finish(ctx, a)
				}
				if err != nil {
					cancel(err)
					return
				}
				done.Add(1)
				<-flying
			}
		})
	}
	began := time.Now()
	select {
	case <-time.After(roundOf):
	case <-ctx.Done():
	}
	rate := float64(done.Load()) / time.Since(began).Seconds()
	cancel(enough)
	work.Wait()
	if err := context.Cause(ctx); err != enough {
		return 0, err
	}
	return rate, nil
}

// floor is pgbench on the server's database.
type floor struct {
	bin, script string
	env         []string
}

func newFloor(ctx context.Context, y *yard) (*floor, error) {
	f := &floor{script: filepath.Join(y.dir, "cycle.sql")}
	var err error
	if f.bin, err = pgbench(); err != nil {
		return nil, err
	}
	set, err := y.store.QueueAddTagSet(ctx, y.org, "floor", codersdk.Tags{"floor": "true"}) // which no daemon matches
	if err != nil {
		return nil, err
	}
	input, err := json.Marshal(y.input)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(f.script, fmt.Appendf(nil, floorCycle, y.org, y.user, set, y.file, input, set), 0o644); err != nil {
		return nil, err
	}
	u, err := url.Parse(y.url)
	if err != nil {
		return nil, err
	}
	f.env = append(os.Environ(), "PGUSER="+u.User.Username(), "PGDATABASE="+strings.TrimPrefix(u.Path, "/"))
	if host := u.Query().Get("host"); host != "" {
		f.env = append(f.env, "PGHOST="+host, "PGPORT="+u.Query().Get("port"))
	} else {
		secret, _ := u.User.Password()
		f.env = append(f.env, "PGHOST="+u.Hostname(), "PGPORT="+u.Port(), "PGPASSWORD="+secret)
	}
	return f, nil
}

// pgbench returns the path of the program among PostgreSQL's own.
func pgbench() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if err == nil && len(found) > 0 {
		return found[len(found)-1], nil
	}
	bin, err := exec.LookPath("pgbench")
	if err != nil {
		return "", fmt.Errorf("pgbench, the floor of this measurement, is not installed; it comes with PostgreSQL's server (make setup): %w", err)
	}
	return bin, nil
}

// run returns the cycles per second of one round.
func (f *floor) run(ctx context.Context) (float64, error) {
	cmd := exec.CommandContext(ctx, f.bin, "--no-vacuum", "--client", strconv.Itoa(clients), "--jobs", "2", "--protocol", "prepared",
		"--time", strconv.Itoa(int(roundOf.Seconds())), "--file", f.script)
	cmd.Env = f.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("pgbench: %w\n%s", err, out)
	}
	m := regexp.MustCompile(`tps = ([0-9.]+) \(without`).FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("pgbench said nothing of its speed:\n%s", out)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}
