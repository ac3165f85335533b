package bench

import (
	"context"
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

	"github.com/seed-2a7f8fe7/coder"
)

const (
	clients = 16 // of pgbench, and as many daemons
	rounds  = 3
	roundOf = 4 * time.Second
)

// floorSchema and floorCycle are the least that a queue in PostgreSQL is: a job
// is inserted, taken with SKIP LOCKED, and ended, each in a transaction of its
// own, without locks held between, without checks, references or a log.
const (
	floorSchema = `CREATE TABLE jobs (
    id uuid PRIMARY KEY, tag_set bigint NOT NULL, input jsonb NOT NULL, created_at timestamptz NOT NULL,
    started_at timestamptz, completed_at timestamptz, worker uuid);
CREATE INDEX ON jobs (tag_set, created_at) WHERE started_at IS NULL;
`
	floorCycle = `INSERT INTO jobs VALUES (gen_random_uuid(), 1, '{"template_version_id": "7d1c3a1e-0000-4000-8000-000000000001"}', now());
UPDATE jobs SET started_at = now(), worker = '7d1c3a1e-0000-4000-8000-000000000002' WHERE id = (
    SELECT id FROM jobs WHERE tag_set = 1 AND started_at IS NULL ORDER BY created_at LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id \aset
UPDATE jobs SET completed_at = now() WHERE id = :id;
`
)

// jobRows measures whole jobs a second against pgbench's cycles on the same
// cluster, in turns. Both sides have 16 at work: 16 clients, and 16 daemons,
// for which 16 more jobs at most wait. Everything but the daemons' Terraform is
// there: the jobs are added by the queue's own code, claimed, prepared and sent
// over WebSockets on loopback; a line of log and the result come back.
func jobRows(ctx context.Context, y *yard) ([]row, error) {
	f, err := newFloor(ctx, y)
	if err != nil {
		return nil, err
	}
	var daemons []*fake
	for i := range clients {
		d, err := y.daemon(ctx, fmt.Sprint("bench", i), coder.Tags{"bench": "jobs"})
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

// jobs lets the daemons work for a while and gives how many jobs a second were done.
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
				if _, err := y.add(ctx, 1, coder.Tags{"bench": "jobs"}); err != nil {
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

// floor is pgbench on a database of its own in the same cluster.
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
	if err := os.WriteFile(f.script, []byte(floorCycle), 0o644); err != nil {
		return nil, err
	}
	if _, err := y.store.Pool().Exec(ctx, "CREATE DATABASE floor"); err != nil {
		return nil, err
	}
	u, err := url.Parse(y.url)
	if err != nil {
		return nil, err
	}
	f.env = append(os.Environ(), "PGUSER="+u.User.Username(), "PGDATABASE=floor")
	if host := u.Query().Get("host"); host != "" {
		f.env = append(f.env, "PGHOST="+host, "PGPORT="+u.Query().Get("port"))
	} else {
		secret, _ := u.User.Password()
		f.env = append(f.env, "PGHOST="+u.Hostname(), "PGPORT="+u.Port(), "PGPASSWORD="+secret)
	}
	schema := exec.CommandContext(ctx, filepath.Join(filepath.Dir(f.bin), "psql"), "-q", "-v", "ON_ERROR_STOP=1")
	schema.Env, schema.Stdin = f.env, strings.NewReader(floorSchema)
	if out, err := schema.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make the table for the floor: %w\n%s", err, out)
	}
	return f, nil
}

// pgbench finds the program where PostgreSQL's own are.
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

// run gives the cycles a second of one round.
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
