package scaletest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// Task is one unit of a test, such as one workspace.
type Task struct {
	Name string
	Do   func(ctx context.Context, r *Recorder) error
}

// Run executes the tasks of one test.
type Run struct {
	Test string // name of the test, for the report
	// Concurrency is the number of tasks that run at a time; 0 means all.
	Concurrency int
	// Timeout bounds the whole test; 0 means no bound. Tasks that have not
	// ended by then fail.
	Timeout time.Duration
	// TaskTimeout bounds each task; 0 means no bound.
	TaskTimeout time.Duration
	// Retries is the number of further attempts of a task that failed.
	Retries int
	// Progress is called about every 200 ms and at the end; nil means never.
	Progress func(Progress)
	// Recorder receives the measurements; nil means a new one.
	Recorder *Recorder
}

// Progress is the state of a running test.
type Progress struct {
	Total, Done, Failed, Running int64
}

// progressInterval is the interval between calls of Run.Progress.
const progressInterval = 200 * time.Millisecond

// Execute runs the tasks and returns the report. It does not fail: a failed
// task is an entry of the report. When ctx ends, tasks that have not started fail
// with its error.
func (r Run) Execute(ctx context.Context, tasks []Task) Report {
	if r.Recorder == nil {
		r.Recorder = NewRecorder()
	}
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	}
	var done, failed, running atomic.Int64
	state := func() Progress {
		return Progress{Total: int64(len(tasks)), Done: done.Load(), Failed: failed.Load(), Running: running.Load()}
	}
	watch, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	if r.Progress != nil {
		watching.Go(func() {
			lifecycle.Every(watch, progressInterval, func(context.Context) { r.Progress(state()) })
		})
	}
	began := time.Now()
	var g errgroup.Group
	if r.Concurrency > 0 {
		g.SetLimit(r.Concurrency)
	}
	for _, t := range tasks {
		g.Go(func() error {
			running.Add(1)
			if err := r.attempt(ctx, t); err != nil {
				failed.Add(1)
				r.Recorder.fail(t.Name, err)
			} else {
				done.Add(1)
			}
			running.Add(-1)
			return nil
		})
	}
	_ = g.Wait() // tasks record their errors
	took := time.Since(began)
	stop()
	watching.Wait()
	if r.Progress != nil {
		r.Progress(state())
	}
	out := Report{Test: r.Test, Started: began.UTC(), Seconds: took.Seconds(), Tasks: len(tasks), Failed: int(failed.Load())}
	r.Recorder.fill(&out)
	return out
}

// attempt runs a task until it succeeds, up to 1 + Retries times.
func (r Run) attempt(ctx context.Context, t Task) (err error) {
	for range 1 + r.Retries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err = r.once(ctx, t); err == nil {
			return nil
		}
	}
	return err
}

func (r Run) once(ctx context.Context, t Task) error {
	if r.TaskTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.TaskTimeout)
		defer cancel()
	}
	return t.Do(ctx, r.Recorder)
}
