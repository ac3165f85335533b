package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
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

// Advice is what to do for a job that no provisioner takes, in lines; none
// when there is nothing to do but wait.
func Advice(e coder.ProvisionerJobExplanation) []string {
	var out []string
	if e.Held != "" {
		out = append(out, terminal.OneLine(e.Held))
	}
	near := e.NearestMiss
	switch {
	case near != nil:
		out = append(out, "Nearest is the provisioner "+terminal.OneLine(near.DaemonName)+". To have one that takes the job:", "  "+terminal.OneLine(near.Fix))
		if near.TemplateFix != "" {
			out = append(out, "Or change the template, so that this one does:", "  "+terminal.OneLine(near.TemplateFix))
		}
	case e.Warning != "":
		out = append(out, terminal.OneLine(e.Warning))
	}
	return out
}

// pendingKey is what of an explanation is news when it changes: not the place
// in the queue, but why nobody takes the job.
func pendingKey(e coder.ProvisionerJobExplanation) string {
	var reasons []string
	for _, d := range e.Daemons {
		if !slices.Contains(reasons, string(d.Reason)) {
			reasons = append(reasons, string(d.Reason))
		}
	}
	slices.Sort(reasons)
	return strings.Join(append(reasons, Advice(e)...), "\n")
}

// showQueue tells of a job that waits until ctx ends: its place in the queue,
// and when no provisioner takes it why, once and again when that changes.
func (v *jobView) showQueue(ctx context.Context, w Watch) {
	p := v.spinner.Painter
	if w.Warning != "" {
		v.spinner.Print(p.Yellow("warning: ") + terminal.OneLine(w.Warning))
	}
	var job coder.ProvisionerJob
	told := ""
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
		if e.Status != coder.ProvisionerJobStatusPending || slices.ContainsFunc(e.Daemons, func(d coder.ProvisionerRefusal) bool {
			return d.Reason == coder.ProvisionerReasonTakesIt
		}) && e.Held == "" {
			continue
		}
		if place := QueueText(v.app, e); place != "" {
			v.spinner.Say("Waiting for a provisioner (" + place + ")")
		}
		key := pendingKey(e)
		if key == told {
			continue
		}
		if told == "" && w.Warning != "" && w.Warning == e.Warning {
			told = key
			continue
		}
		told = key
		v.spinner.Print("    " + p.Yellow(terminal.OneLine(e.Summary)))
		for _, line := range Advice(e) {
			v.spinner.Print("    " + p.Yellow(line))
		}
	}
}

// showPlace is what is left to tell when the server does not explain jobs.
func (v *jobView) showPlace(ctx context.Context, w Watch) {
	job, err := w.Job(ctx)
	if err == nil && job.Status == coder.ProvisionerJobStatusPending && job.QueuePosition > 0 {
		v.spinner.Say(fmt.Sprintf("Waiting for a provisioner (place %d of %d)", job.QueuePosition, job.QueueSize))
	}
}
