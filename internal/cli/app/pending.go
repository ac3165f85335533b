package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// QueueText says where in the queue a job is, and when it should start, as far
// as that is known; "" for one that does not wait.
func QueueText(a *Run, e coder.ProvisionerJobExplanation) string {
	if e.Status != coder.ProvisionerJobStatusPending || e.QueuePosition <= 0 {
		return ""
	}
	s := fmt.Sprintf("place %d of %d", e.QueuePosition, e.QueueSize)
	if e.EstimatedStart == nil {
		return s
	}
	if in := e.EstimatedStart.Sub(a.Now()); in > time.Second {
		return s + ", should start in about " + terminal.Span(in)
	}
	return s + ", should start any moment"
}

// showQueue tells of a job that waits until ctx ends: its place in the queue,
// and when no provisioner takes it why, once and again when that changes.
func (v *jobView) showQueue(ctx context.Context, w Watch) {
	p := v.spinner.Painter
	if w.Warning != "" {
		v.spinner.Print(p.Yellow("warning: ") + terminal.OneLine(w.Warning))
	}
	var job coder.ProvisionerJob
	told := w.Warning
	for Pause(ctx, time.Second) == nil {
		if job.ID == uuid.Nil {
			var err error
			if job, err = w.Job(ctx); err != nil {
				continue
			}
		}
		e, err := w.Client.ExplainProvisionerJob(ctx, job.OrganizationID.String(), job.ID)
		if err != nil {
			v.showPlace(ctx, w)
			continue
		}
		if place := QueueText(v.app, e); place != "" {
			v.spinner.Say("Waiting for a provisioner (" + place + ")")
		}
		if why := whyPending(e); why != "" && why != told {
			told = why
			v.spinner.Print("    " + p.Yellow(terminal.OneLine(e.Summary)))
		}
	}
}

// whyPending is why nobody takes a job now, as far as it is news when it
// changes: not its place in the queue. It is "" when somebody is about to.
func whyPending(e coder.ProvisionerJobExplanation) string {
	switch {
	case e.Status != coder.ProvisionerJobStatusPending:
		return ""
	case e.Held != "":
		return e.Held
	case e.Warning != "":
		return e.Warning
	case slices.ContainsFunc(e.Daemons, func(d coder.ProvisionerRefusal) bool { return d.Reason == coder.ProvisionerReasonTakesIt }):
		return ""
	}
	return "busy"
}

// showPlace is what is left to tell when the server does not explain jobs.
func (v *jobView) showPlace(ctx context.Context, w Watch) {
	job, err := w.Job(ctx)
	if err == nil && job.Status == coder.ProvisionerJobStatusPending && job.QueuePosition > 0 {
		v.spinner.Say(fmt.Sprintf("Waiting for a provisioner (place %d of %d)", job.QueuePosition, job.QueueSize))
	}
}
