package provisioner

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

func queueCommand(a *app.Run) *app.Command {
	type row = coder.ProvisionerQueueTagSet
	seconds := func(s float64) string {
		if s <= 0 {
			return ""
		}
		return terminal.Span(time.Duration(s * float64(time.Second)))
	}
	l := &app.Listing[row]{
		All: []app.Column[row]{
			{Name: "tags", Show: func(t row) string { return tagsOrNone(t.Tags) }},
			{Name: "pending", Show: func(t row) string { return strconv.Itoa(t.Pending) }},
			{Name: "held", Show: func(t row) string { return strconv.Itoa(t.Held) }},
			{Name: "running", Show: func(t row) string { return strconv.Itoa(t.Running) }},
			{Name: "slots", Show: func(t row) string { return fmt.Sprintf("%d/%d", t.SlotsBusy, t.Slots) }},
			{Name: "oldest wait", Show: func(t row) string { return seconds(t.OldestWaitSeconds) }},
			{Name: "mean job", Show: func(t row) string { return seconds(t.MeanSeconds) }},
			{Name: "recommended slots", Show: func(t row) string { return strconv.Itoa(t.RecommendedSlots) }},
		},
		NoMatch: "Nothing waits, and nothing runs.",
	}
	var ref string
	var target time.Duration
	return &app.Command{
		Name: "queue", Max: 0,
		Short: "Show what waits and what runs, by the tags that are asked for.",
		Long: "Slots are the busy ones of those that the provisioners there have; a provisioner counts for every set of tags " +
			"that it matches. Held jobs wait for their template's limit, not for a slot. The recommended slots would " +
			"begin all that is pending within the target.",
		Examples: []app.Example{{Text: "How many slots would begin everything within ten seconds", Line: "coder provisioner queue --target 10s"}},
		Options: []*option.Option{app.Org(&ref),
			option.Duration(&target, "target", "How long a job should wait at most, from a second to a day: what the recommended slots are for.").Def(coder.DefaultProvisionerQueueTarget.String()),
			l.ColumnOption("tags,pending,held,running,slots,oldest wait,recommended slots"), l.FormatOption()},
		Run: func(ctx context.Context, _ []string) error {
			if target < time.Second || target > 24*time.Hour || target%time.Second != 0 {
				return app.Failure("--target %s is not a number of whole seconds from 1 to a day", target)
			}
			c, o, err := a.ClientAndOrganization(ctx, ref)
			if err != nil {
				return err
			}
			q, err := wholeQueue(ctx, c, o.ID.String(), target)
			if err != nil {
				return err
			}
			if l.Format == "json" {
				return app.WriteJSON(a.Stdout, q)
			}
			for _, w := range q.Warnings {
				a.Warn(string(w.Code) + " " + w.Message)
			}
			return l.Write(a, q.TagSets)
		},
	}
}

// wholeQueue reads every page of a queue.
func wholeQueue(ctx context.Context, c *client.Client, organization string, target time.Duration) (coder.ProvisionerQueue, error) {
	all := coder.ProvisionerQueue{TagSets: []coder.ProvisionerQueueTagSet{}}
	for {
		page, err := c.ProvisionerQueue(ctx, organization, url.Values{
			"offset": {strconv.Itoa(len(all.TagSets))}, "target_seconds": {strconv.Itoa(int(target.Seconds()))},
		})
		if err != nil {
			return all, err
		}
		all.Count, all.RecommendedSlots, all.Warnings = page.Count, page.RecommendedSlots, page.Warnings
		all.TagSets = append(all.TagSets, page.TagSets...)
		if len(page.TagSets) == 0 || len(all.TagSets) >= page.Count {
			return all, nil
		}
	}
}

// tagsOrNone names the tags of a job or provisioner without the two that
// every one has.
func tagsOrNone(tags coder.Tags) string {
	own := map[string]string{}
	for k, v := range tags {
		if k != coder.TagOwner && (k != coder.TagScope || v != coder.ScopeOrganization) {
			own[k] = v
		}
	}
	if len(own) == 0 {
		return "none"
	}
	return app.TagText(own)
}

func jobsExplainCommand(a *app.Run) *app.Command {
	type row = coder.ProvisionerRefusal
	l := &app.Listing[row]{
		All: []app.Column[row]{
			{Name: "provisioner", Show: func(r row) string {
				if r.Name == "" {
					return "(not yours to see)"
				}
				return r.Name
			}},
			{Name: "id", Show: func(r row) string { return idText(r.DaemonID) }},
			{Name: "status", Show: func(r row) string { return string(r.Status) }},
			{Name: "reason", Show: func(r row) string { return strings.ReplaceAll(string(r.Reason), "_", " ") }},
			{Name: "since", Show: func(r row) string { return app.DateOf(r.Since) }},
			{Name: "busy with", Show: func(r row) string {
				if r.BusyWith == nil {
					return ""
				}
				return r.BusyWith.String()
			}},
			{Name: "why", Show: func(r row) string { return r.Message }},
			{Name: "version", Show: func(r row) string { return r.Version }},
			{Name: "tags", Show: func(r row) string { return app.TagText(r.Tags) }},
			{Name: "key name", Show: func(r row) string { return r.KeyName }},
		},
		NoMatch: "No provisioner is there or was there lately. Run one with 'coder provisioner start'.",
	}
	var ref string
	return &app.Command{
		Name: "explain", Args: "<job_id>", Min: 1, Max: 1,
		Short:   "Say why a job waits: what keeps each provisioner from it, and what would help.",
		Options: []*option.Option{app.Org(&ref), l.ColumnOption("provisioner,status,reason,since,busy with,why"), l.FormatOption()},
		Run: func(ctx context.Context, args []string) error {
			id, err := uuid.Parse(args[0])
			if err != nil {
				return app.Failure("%q is no id of a job; 'coder provisioner jobs list' shows them", args[0])
			}
			c, o, err := a.ClientAndOrganization(ctx, ref)
			if err != nil {
				return err
			}
			e, err := c.ExplainProvisionerJob(ctx, o.ID.String(), id)
			if err != nil {
				return err
			}
			if l.Format == "json" {
				return app.WriteJSON(a.Stdout, e)
			}
			return writeExplanation(a, l, e)
		},
	}
}

// writeExplanation shows what is known of a job, the provisioners, and what to do.
func writeExplanation(a *app.Run, l *app.Listing[coder.ProvisionerRefusal], e coder.ProvisionerJobExplanation) error {
	p := a.Painter(a.Stdout)
	headline := e.Summary
	if e.NearestMiss != nil && e.Held == "" {
		headline = "No provisioner that is there takes this job, so it waits."
	}
	fmt.Fprintf(a.Stdout, "%s\nJob %s is %s; its tags: %s.\n", p.Bold(terminal.OneLine(headline)), e.JobID, e.Status, tagsOrNone(e.Tags))
	if e.Status != coder.ProvisionerJobStatusPending {
		return nil
	}
	if place := app.QueueText(a, e); place != "" {
		fmt.Fprintf(a.Stdout, "Of the jobs with these tags it has %s.\n", place)
	}
	fmt.Fprintln(a.Stdout)
	if err := l.Write(a, e.Daemons); err != nil {
		return err
	}
	if e.HeldFix != "" {
		fmt.Fprintf(a.Stdout, "\nTo let the template have one build more at once:\n  %s\n", p.Bold(terminal.OneLine(e.HeldFix)))
	}
	if e.WeightFix != "" {
		fmt.Fprintf(a.Stdout, "\nTo let the server's own provisioners serve this organization:\n  %s\n", p.Bold(terminal.OneLine(e.WeightFix)))
	}
	if e.NearestMiss == nil {
		return nil
	}
	near := *e.NearestMiss
	fmt.Fprintf(a.Stdout, "\nThe nearest is %s. To start one that takes the job:\n  %s\n", terminal.OneLine(near.DaemonName), p.Bold(terminal.OneLine(near.Fix)))
	if near.TemplateFix != "" {
		fmt.Fprintf(a.Stdout, "Or change the template, so that this one takes it:\n  %s\n", p.Bold(terminal.OneLine(near.TemplateFix)))
	}
	return nil
}
