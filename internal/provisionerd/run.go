package provisionerd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
)

// errCanceled ends a job because somebody canceled it.
var errCanceled = errors.New("the job was canceled")

// runner is one job being run.
type runner struct {
	d      *Daemon
	job    *provisionerd.AcquiredJob
	log    *slog.Logger
	report *reporter

	session provisioner.Session // of the goroutine that runs the steps
	settled chan bool           // once the job's end is reported: whether to keep what it leaves
	closed  chan struct{}       // when the session is
}

// run does a job from its claim to the word that ends it. alive ends when the
// daemon must end at once.
func (d *Daemon) run(alive context.Context, job *provisionerd.AcquiredJob) {
	r := &runner{d: d, job: job, log: d.Log.With("job", job.JobId, "type", kindOf(job)), settled: make(chan bool, 1), closed: make(chan struct{})}
	r.log.Info("job started")
	start := time.Now()
	d.metrics.current.WithLabelValues(job.Provisioner).Inc()
	defer d.metrics.current.WithLabelValues(job.Provisioner).Dec()

	// The job's context ends for a cause: canceled, lost, or the daemon stops.
	ctx, end := context.WithCancelCause(alive)
	defer end(nil)
	// Words to the server outlive the job's context, but not for ever.
	r.report = newReporter(d, job, end)
	r.report.stage("Setting up") // goes with the first word
	reporting, stopReporting := context.WithCancel(context.WithoutCancel(alive))
	defer stopReporting()
	ended := make(chan struct{})
	var done *provisionerd.CompletedJob
	var failed *provisionerd.FailedJob
	// The first word comes before anything is done: a job of which the server
	// heard nothing has had no effect.
	if r.report.sendAndSee(reporting); ctx.Err() == nil {
		if job.Fence != 0 {
			go r.interruptions(reporting)
		}
		go func() { defer close(ended); r.report.loop(reporting) }()
		done, failed = r.steps(ctx)
		stopReporting()
		<-ended
	} else {
		close(r.closed)
		failed = r.fail(context.Cause(ctx), nil, nil)
	}
	err := r.settle(alive, context.Cause(ctx), done, failed)
	lost := lostError{}
	status := "success"
	switch {
	case errors.As(err, &lost):
		status = "failed"
		r.log.Warn("job lost: the server or another provisioner has it now", "reason", lost)
	case err != nil:
		status = "failed"
		r.log.Error("the end of a job could not be reported; the server will notice", "error", err)
	case failed != nil:
		status = "failed"
		r.log.Warn("job failed", "reason", failed.Error)
	default:
		r.log.Info("job succeeded", "took", time.Since(start).Round(time.Millisecond))
	}
	d.metrics.observe(job, status, time.Since(start))
}

// settle reports the end of a job that ended for the given cause, nil when by
// itself, and lets go of its session. What could not be reported is kept.
func (r *runner) settle(alive context.Context, cause error, done *provisionerd.CompletedJob, failed *provisionerd.FailedJob) error {
	err := cause
	lost, let := lostError{}, letGoError{}
	switch {
	case errors.As(cause, &lost):
	case errors.As(cause, &let) && failed != nil:
		err = r.handBack(alive, failed)
	default:
		err = r.report.finish(done, failed)
	}
	keep := err != nil && r.job.GetWorkspaceBuild() != nil
	r.settled <- keep
	r.d.leftovers = r.d.leftovers || keep
	select {
	case <-r.closed:
	case <-time.After(goodbye): // an engine that was given up
	}
	return err
}

// result is what the steps of a job come to: one of the two is set.
type result struct {
	done   *provisionerd.CompletedJob
	failed *provisionerd.FailedJob
}

// steps runs the job's steps in a goroutine of their own, so that an engine
// that does not end can be given up.
func (r *runner) steps(ctx context.Context) (*provisionerd.CompletedJob, *provisionerd.FailedJob) {
	got := make(chan result, 1)
	go func() {
		defer close(r.closed)
		got <- r.guarded(ctx)
		r.close(<-r.settled)
	}()
	select {
	case res := <-got:
		return res.done, r.because(ctx, res.failed)
	case <-ctx.Done():
	}
	r.log.Info("interrupting the job", "reason", context.Cause(ctx))
	force := time.NewTimer(r.d.ForceCancelInterval + r.d.ForceCancelInterval/20) // the engine kills its tool first, and tells the state
	defer force.Stop()
	select {
	case res := <-got:
		return res.done, r.because(ctx, res.failed)
	case <-force.C:
		return nil, r.fail(fmt.Errorf("%w, and its engine did not end within %s", context.Cause(ctx), r.d.ForceCancelInterval), nil, nil)
	}
}

// guarded runs the steps; a panic of an engine fails the job.
func (r *runner) guarded(ctx context.Context) (res result) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("an engine panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			res = result{failed: r.fail(fmt.Errorf("the engine failed: %v", p), nil, nil)}
		}
	}()
	return r.do(ctx)
}

// close ends the session, if one was begun; keep leaves its work directory for
// a later hand-over of its state.
func (r *runner) close(keep bool) {
	if r.session == nil {
		return
	}
	if w, ok := r.session.(provisioner.Snapshotter); ok && keep {
		w.Leave()
	}
	if err := r.session.Close(); err != nil {
		r.log.Warn("cannot clean up after a job", "error", err)
	}
}

// because puts the cause of an interrupted job in front of what it said.
func (r *runner) because(ctx context.Context, failed *provisionerd.FailedJob) *provisionerd.FailedJob {
	if failed == nil || ctx.Err() == nil {
		return failed
	}
	failed.Error = context.Cause(ctx).Error() + ": " + failed.Error
	return failed
}

// do runs the steps of the job's kind.
func (r *runner) do(ctx context.Context) result {
	engine, ok := r.d.Engines[r.job.Provisioner]
	if !ok {
		return result{failed: r.fail(fmt.Errorf("this provisioner has no engine %q", r.job.Provisioner), nil, nil)}
	}
	s, err := engine.Open(ctx, r.config(), r.report.line)
	if err != nil {
		return result{failed: r.fail(fmt.Errorf("start the engine: %w", err), nil, nil)}
	}
	r.session = s
	switch r.job.Type.(type) {
	case *provisionerd.AcquiredJob_TemplateImport_:
		return r.templateImport(ctx, s)
	case *provisionerd.AcquiredJob_TemplateDryRun_:
		return r.dryRun(ctx, s)
	case *provisionerd.AcquiredJob_WorkspaceBuild_:
		return r.build(ctx, s)
	}
	return result{failed: r.fail(errors.New("this provisioner does not know this kind of job"), nil, nil)}
}

// config is what the engine learns before the first step.
func (r *runner) config() *provisioner.Config {
	m := r.metadata()
	c := &provisioner.Config{ProvisionerLogLevel: r.job.GetWorkspaceBuild().GetLogLevel()}
	if id := m.GetTemplateId(); id != "" {
		c.TemplateId = &id
	}
	if id := m.GetTemplateVersionId(); id != "" {
		c.TemplateVersionId = &id
	}
	return c
}

func (r *runner) metadata() *provisioner.Metadata {
	switch t := r.job.Type.(type) {
	case *provisionerd.AcquiredJob_TemplateImport_:
		return t.TemplateImport.GetMetadata()
	case *provisionerd.AcquiredJob_TemplateDryRun_:
		return t.TemplateDryRun.GetMetadata()
	case *provisionerd.AcquiredJob_WorkspaceBuild_:
		return t.WorkspaceBuild.GetMetadata()
	}
	return nil
}

// fail makes the failure of the job's kind. state is what exists now, nil when
// nothing changed.
func (r *runner) fail(err error, state []byte, timings []*provisioner.Timing) *provisionerd.FailedJob {
	f := &provisionerd.FailedJob{JobId: r.job.JobId, Fence: r.job.Fence, Error: text(err.Error(), maxError)}
	coded := requiredVariables{}
	if errors.As(err, &coded) {
		f.ErrorCode = "REQUIRED_TEMPLATE_VARIABLES"
	}
	switch r.job.Type.(type) {
	case *provisionerd.AcquiredJob_TemplateImport_:
		f.Type = &provisionerd.FailedJob_TemplateImport_{TemplateImport: &provisionerd.FailedJob_TemplateImport{}}
	case *provisionerd.AcquiredJob_TemplateDryRun_:
		f.Type = &provisionerd.FailedJob_TemplateDryRun_{TemplateDryRun: &provisionerd.FailedJob_TemplateDryRun{}}
	case *provisionerd.AcquiredJob_WorkspaceBuild_:
		f.Type = &provisionerd.FailedJob_WorkspaceBuild_{WorkspaceBuild: &provisionerd.FailedJob_WorkspaceBuild{State: state, Timings: timings}}
	}
	return f
}

func kindOf(job *provisionerd.AcquiredJob) string {
	switch job.Type.(type) {
	case *provisionerd.AcquiredJob_TemplateImport_:
		return "template_version_import"
	case *provisionerd.AcquiredJob_TemplateDryRun_:
		return "template_version_dry_run"
	case *provisionerd.AcquiredJob_WorkspaceBuild_:
		return "workspace_build"
	}
	return "unknown"
}
