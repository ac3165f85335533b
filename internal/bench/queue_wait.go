package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
	"github.com/seed-2a7f8fe7/coder/internal/bench/process"
)

// acquireRows measures how long a daemon waits for a job that is already
// pending, with 100 and with 10,000 pending jobs of 20 other tag sets.
func acquireRows(ctx context.Context, y *yard) ([]row, error) {
	const sets = 20
	d, err := y.daemon(ctx, "bench", codersdk.Tags{"bench": "acquire"})
	if err != nil {
		return nil, err
	}
	defer d.conn.Close()
	var at []float64
	pending := 0
	for _, want := range []int{100, 10_000} {
		for set := range sets {
			if _, err := y.add(ctx, (want-pending)/sets, codersdk.Tags{"other": fmt.Sprint(set)}); err != nil {
				return nil, err
			}
		}
		pending = want
		if _, err := y.store.Pool().Exec(ctx, "ANALYZE provisioner_jobs"); err != nil { // as autovacuum would soon
			return nil, err
		}
		took, err := y.acquisitions(ctx, d, 300)
		if err != nil {
			return nil, err
		}
		at = append(at, ms(quantile(took, 0.5)))
	}
	return []row{
		atMost("queue_acquire_10000_over_100", at[1]/at[0], 1.2, "x"),
		atMost("queue_acquire_p50", at[1], 20, "ms"),
	}, nil
}

func (y *yard) acquisitions(ctx context.Context, d *fake, n int) ([]time.Duration, error) {
	var took []time.Duration
	for range n {
		if _, err := y.add(ctx, 1, codersdk.Tags{"bench": "acquire"}); err != nil {
			return nil, err
		}
		start := time.Now()
		a, err := d.acquire(ctx)
		if err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
		if err := d.finish(ctx, a); err != nil {
			return nil, err
		}
	}
	return took, nil
}

// PickUp measures with the binary at coder how soon a waiting daemon gets a new job.
func PickUp(ctx context.Context, coder string) ([]figure.Row, error) {
	return withYard(ctx, coder, pickupRows)
}

// pickupRows measures the time from adding a job to its arrival at one of 200
// waiting daemons of 20 tag sets, at one job per second. The floor is one durable
// commit, measured before each job.
func pickupRows(ctx context.Context, y *yard) ([]row, error) {
	const sets, each, jobs = 20, 10, 40
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	got := make(chan time.Time, 1)
	for i := range sets * each {
		d, err := y.daemon(ctx, fmt.Sprint("bench", i), codersdk.Tags{"set": fmt.Sprint(i % sets)})
		if err != nil {
			return nil, err
		}
		defer d.conn.Close()
		go func() {
			for {
				a, err := d.acquire(ctx)
				if err == nil {
					got <- time.Now()
					err = d.finish(ctx, a)
				}
				if err != nil {
					cancel(err)
					return
				}
			}
		}()
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	if _, err := y.store.Pool().Exec(ctx, "CREATE TABLE bench_commits (at timestamptz)"); err != nil {
		return nil, err
	}
	var took, commits []time.Duration
	for i := range jobs {
		<-tick.C
		start := time.Now()
		if _, err := y.store.Pool().Exec(ctx, "INSERT INTO bench_commits VALUES (now())"); err != nil {
			return nil, err
		}
		commits = append(commits, time.Since(start))
		start = time.Now()
		if _, err := y.add(ctx, 1, codersdk.Tags{"set": fmt.Sprint(i % sets)}); err != nil {
			return nil, err
		}
		select {
		case at := <-got:
			took = append(took, at.Sub(start))
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	commit := quantile(commits, 0.5)
	return []row{
		atMost("queue_pickup_p50", ms(quantile(took, 0.5)), 10, "ms"),
		atMost("queue_pickup_p99", ms(quantile(took, 0.99)), 20, "ms"),
		figure.Plain("queue_commit_p50", ms(commit), "ms"),
		atMost("queue_pickup_p50_over_commit", ms(quantile(took, 0.5))/ms(commit), 2, "x"),
		atMost("queue_pickup_p99_over_commit", ms(quantile(took, 0.99))/ms(commit), 5, "x"),
	}, nil
}

// idleRows measures the cost of 1,000 idle daemons: the server's memory
// compared with before, and its processor time over a period with two
// heartbeats.
func idleRows(ctx context.Context, y *yard) ([]row, error) {
	const daemons, watch, settle = 1000, 60 * time.Second, 5 * time.Second
	// A new process has none of the memory with which passwords were hashed.
	y.stop()
	if err := y.start(ctx, "--provisioner-daemons", "0"); err != nil {
		return nil, err
	}
	pid := y.cmd.Process.Pid
	time.Sleep(settle)
	before, err := process.Resident(pid)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lost := make(chan error, daemons)
	for i := range daemons {
		d, err := y.daemon(ctx, fmt.Sprint("bench", i), codersdk.Tags{"set": fmt.Sprint(i % 20)})
		if err != nil {
			return nil, err
		}
		defer d.conn.Close()
		stream, err := d.api.AcquireJobWithCancel(ctx)
		if err != nil {
			return nil, err
		}
		go func() { lost <- ended(stream) }()
	}
	time.Sleep(settle)
	start, err := process.Used(pid)
	if err != nil {
		return nil, err
	}
	over := time.NewTimer(watch)
	defer over.Stop()
	select {
	case err := <-lost:
		return nil, fmt.Errorf("an idle provisioner lost its connection: %w", err)
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-over.C:
	}
	end, err := process.Used(pid)
	if err != nil {
		return nil, err
	}
	after, err := process.Resident(pid)
	if err != nil {
		return nil, err
	}
	return []row{
		atMost("queue_idle_daemon_cpu", 100*(end-start).Seconds()/watch.Seconds()/daemons, 0.05, "%"),
		atMost("queue_idle_daemon_memory", float64(after-before)/1000/daemons, 150, "KB"),
	}, nil
}

func ended(stream provisionerd.DRPCProvisionerDaemon_AcquireJobWithCancelClient) error {
	a, err := stream.Recv()
	if err == nil {
		err = fmt.Errorf("it was given the job %s", a.JobId)
	}
	return err
}
