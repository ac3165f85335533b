package presence

import (
	"context"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tracing"
)

// trace adds a span of what an agent reported to the trace of its build. A
// span without a start begins at the end of the build. The agent itself exports
// nothing, so a workspace needs neither a connection to the receiver nor a key.
func (s *Service) trace(ctx context.Context, a Agent, name string, past tracing.Past, attrs ...tracing.Attr) {
	if s.c.Tracer == nil {
		return
	}
	row, err := s.store.QueueJob(ctx, a.JobID)
	if err != nil {
		s.log.WarnContext(ctx, "cannot read the trace of an agent's build", "agent", a.ID, "error", err)
		return
	}
	job := row.ProvisionerJob
	if past.Start.IsZero() && job.CompletedAt != nil {
		past.Start = *job.CompletedAt
	}
	if len(job.Trace) == 0 || past.Start.IsZero() {
		return
	}
	if past.End.Before(past.Start) {
		past.End = past.Start
	}
	attrs = append(attrs, tracing.String("coder.agent.id", a.ID.String()), tracing.String("coder.job.id", a.JobID.String()))
	s.c.Tracer.Record(tracing.Continue(ctx, job.Trace), name, past, attrs...)
}

// traceStart adds the spans of an agent's start: from the end of the build to
// the agent's first report, and from there to the end of the start scripts.
func (s *Service) traceStart(ctx context.Context, a Agent, started *time.Time, at time.Time, ready bool) {
	if started == nil {
		s.trace(ctx, a, "agent connect", tracing.Past{End: at})
		return
	}
	s.trace(ctx, a, "agent start", tracing.Past{Start: *started, End: at, Failed: !ready})
}
