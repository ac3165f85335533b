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
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
)

// errCanceled ends a job that a user canceled.
var errCanceled = errors.New("the job was canceled")

// runner runs one job.
type runner struct {
	d      *Daemon
	job    *provisionerd.AcquiredJob
	log    *slog.Logger
	report *reporter

	session provisioner.Session // of the goroutine that runs the steps
	planned bool                // whether the job planned, and not only applied a saved plan
	settled chan bool           // receives, once the result is reported, whether to keep the work directory
	closed  chan struct{}       // closed with the session
}

// run executes a job from its acquisition to the report of its result. alive
// ends when the daemon must stop immediately.
func (d *Daemon) run(alive context.Context, job *provisionerd.AcquiredJob) {
	r := &runner{d: d, job: job, log: d.Log.With("job", job.JobId, "type", kindOf(job)), settled: make(chan bool, 1), closed: make(chan struct{})}
	alive, span := d.Tracer.Start(tracing.Continue(alive, job.TraceMetadata), "provisioner job", tracing.KindConsumer,
		tracing.String("coder.job.id", job.JobId), tracing.String("coder.job.type", kindOf(job)), tracing.String("coder.provisioner", d.Name))
	defer span.End()
	r.log.InfoContext(alive, "job started")
	start := time.Now()
	d.metrics.current.WithLabelValues(job.Provisioner).Inc()
	defer d.metrics.current.WithLabelValues(job.Provisioner).Dec()

	// The cause of the job's context is the reason of its end: canceled, lost,
	// or the daemon stops.
	ctx, end := context.WithCancelCause(alive)
	defer end(nil)
	// Reports outlive the job's context, but not indefinitely.
	r.report = newReporter(d, job, end)
	r.report.stage("Setting up") // sent with the first update
	reporting, stopReporting := context.WithCancel(context.WithoutCancel(alive))
	defer stopReporting()
	ended := make(chan struct{})
	var done *provisionerd.CompletedJob
	var failed *provisionerd.FailedJob
	// The first update precedes any work, so a job that the server does not
	// know about has no effect.
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
		r.log.WarnContext(alive, "job lost: the server or another provisioner has taken it over", "reason", lost)
	case err != nil:
		status = "failed"
		r.log.ErrorContext(alive, "cannot report the result of a job; its lease will expire", "error", err)
	case failed != nil:
		status = "failed"
		r.log.WarnContext(alive, "job failed", "reason", failed.Error)
	default:
		r.log.InfoContext(alive, "job succeeded", "took", time.Since(start).Round(time.Millisecond))
	}
	if status != "success" {
		tracing.Fail(span, status)
	}
	d.metrics.observe(job, status, time.Since(start))
}

// settle reports the result of a job and closes its session. cause is nil for a
// job that ended on its own. A state that cannot be reported is stored.
func (r *runner) settle(alive context.Context, cause error, done *provisionerd.CompletedJob, failed *provisionerd.FailedJob) error {
	err := cause
	lost, let := lostError{}, letGoError{}
	switch {
	case errors.As(cause, &lost):
	case errors.As(cause, &let) && failed != nil:
		err = r.returnState(alive, failed)
	default:
		err = r.report.finish(context.WithoutCancel(alive), done, failed)
	}
	keep := err != nil && r.job.GetWorkspaceBuild() != nil
	r.settled <- keep
	r.d.leftovers = r.d.leftovers || keep
	select {
	case <-r.closed:
	case <-time.After(goodbye): // the engine was abandoned
	}
	return err
}

// result is the outcome of a job's steps: one of the two fields is set.
type result struct {
	done   *provisionerd.CompletedJob
	failed *provisionerd.FailedJob
}

// steps runs the job's steps in a goroutine, so that a hanging engine can be
// abandoned.
func (r *runner) steps(ctx context.Context) (*provisionerd.CompletedJob, *provisionerd.FailedJob) {
	got := make(chan result, 1)
	go func() {
		defer close(r.closed)
		got <- r.runGuarded(ctx)
		r.close(ctx, <-r.settled)
	}()
	select {
	case res := <-got:
		return res.done, r.withCause(ctx, res.failed)
	case <-ctx.Done():
	}
	r.log.InfoContext(ctx, "interrupting the job", "reason", context.Cause(ctx))
	force := time.NewTimer(r.d.ForceCancelInterval + r.d.ForceCancelInterval/20) // the engine first kills its tool and reports the state
	defer force.Stop()
	select {
	case res := <-got:
		return res.done, r.withCause(ctx, res.failed)
	case <-force.C:
		return nil, r.fail(fmt.Errorf("%w, and its engine did not exit within %s", context.Cause(ctx), r.d.ForceCancelInterval), nil, nil)
	}
}

// runGuarded runs the steps; a panic of an engine fails the job.
func (r *runner) runGuarded(ctx context.Context) (res result) {
	defer func() {
		if p := recover(); p != nil {
			r.log.ErrorContext(ctx, "engine panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			res = result{failed: r.fail(fmt.Errorf("the engine failed: %v", p), nil, nil)}
		}
	}()
	return r.do(ctx)
}

// close closes the session, if it was opened; keep preserves its work
// directory, from which the state can be reported later.
func (r *runner) close(ctx context.Context, keep bool) {
	if r.session == nil {
		return
	}
	if w, ok := r.session.(provisioner.Snapshotter); ok && keep {
		w.Leave()
	}
	if err := r.session.Close(); err != nil {
		r.log.WarnContext(ctx, "cannot clean up after a job", "error", err)
	}
}

// withCause prefixes the error of an interrupted job with the cause.
func (r *runner) withCause(ctx context.Context, failed *provisionerd.FailedJob) *provisionerd.FailedJob {
	if failed == nil || ctx.Err() == nil {
		return failed
	}
	failed.Error = context.Cause(ctx).Error() + ": " + failed.Error
	return failed
}

// do runs the steps of the job's type.
func (r *runner) do(ctx context.Context) result {
	engine, ok := r.d.Engines[r.job.Provisioner]
	if !ok {
		return result{failed: r.fail(fmt.Errorf("this provisioner does not support the provisioner type %q", r.job.Provisioner), nil, nil)}
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
	case *provisionerd.AcquiredJob_WorkspacePlan:
		return r.workspacePlan(ctx, s)
	}
	return result{failed: r.fail(errors.New("this provisioner does not support the type of the job"), nil, nil)}
}

// config returns the engine's configuration.
func (r *runner) config() *provisioner.Config {
	m := r.metadata()
	c := &provisioner.Config{ProvisionerLogLevel: r.job.GetWorkspaceBuild().GetLogLevel(), PlanOnly: r.job.GetWorkspacePlan() != nil}
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
	case *provisionerd.AcquiredJob_WorkspacePlan:
		return t.WorkspacePlan.GetMetadata()
	}
	return nil
}

// fail returns the failure of the job's type. state is the current state, or
// nil if it is unchanged.
func (r *runner) fail(err error, state []byte, timings []*provisioner.Timing) *provisionerd.FailedJob {
	f := &provisionerd.FailedJob{JobId: r.job.JobId, Fence: r.job.Fence, Error: wireText(err.Error(), maxError)}
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
	case *provisionerd.AcquiredJob_WorkspacePlan:
		return "workspace_plan"
	}
	return "unknown"
}
