package command

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// QueueText describes a pending job's queue position and, when the server knows
// it, its estimated start. It returns "" for a job that is not pending.
func QueueText(a *Run, e codersdk.ProvisionerJobExplanation) string {
	if e.Status != codersdk.ProvisionerJobStatusPending || e.QueuePosition <= 0 {
		return ""
	}
	s := fmt.Sprintf("position %d of %d", e.QueuePosition, e.QueueSize)
	if e.EstimatedStart == nil {
		return s
	}
	if in := e.EstimatedStart.Sub(a.Now()); in > time.Second {
		return s + ", estimated to start in about " + terminal.Span(in)
	}
	return s + ", about to start"
}

// showQueue shows the queue position of a pending job until ctx ends. When no
// provisioner takes the job, showQueue prints the reason, and prints it again
// whenever it changes.
func (v *jobView) showQueue(ctx context.Context, w Watch) {
	p := v.spinner.Painter
	if w.Warning != "" {
		v.spinner.Print(p.Yellow("warning: ") + terminal.OneLine(w.Warning))
	}
	var job codersdk.ProvisionerJob
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

// whyPending returns a key for the reason why no provisioner takes a job now.
// showQueue prints the reason when the key changes. The key is "" when a
// provisioner is about to take the job.
func whyPending(e codersdk.ProvisionerJobExplanation) string {
	switch {
	case e.Status != codersdk.ProvisionerJobStatusPending:
		return ""
	case e.Held != "":
		return e.Held
	case e.Warning != "":
		return e.Warning
	case slices.ContainsFunc(e.Daemons, func(d codersdk.ProvisionerRefusal) bool { return d.Reason == codersdk.ProvisionerReasonTakesIt }):
		return ""
	}
	return "busy"
}

// showPlace shows the queue position only, for servers that do not explain
// jobs.
func (v *jobView) showPlace(ctx context.Context, w Watch) {
	job, err := w.Job(ctx)
	if err == nil && job.Status == codersdk.ProvisionerJobStatusPending && job.QueuePosition > 0 {
		v.spinner.Say(fmt.Sprintf("Waiting for a provisioner (position %d of %d)", job.QueuePosition, job.QueueSize))
	}
}
