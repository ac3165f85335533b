package provisioner

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

func queueCommand(a *command.Run) *command.Command {
	type row = codersdk.ProvisionerQueueTagSet
	seconds := func(s float64) string {
		if s <= 0 {
			return ""
		}
		return terminal.Span(time.Duration(s * float64(time.Second)))
	}
	l := &command.Listing[row]{
		All: []command.Column[row]{
			{Name: "tags", Show: func(t row) string { return tagsOrNone(t.Tags) }},
			{Name: "pending", Show: func(t row) string { return strconv.Itoa(t.Pending) }},
			{Name: "held", Show: func(t row) string { return strconv.Itoa(t.Held) }},
			{Name: "running", Show: func(t row) string { return strconv.Itoa(t.Running) }},
			{Name: "slots", Show: func(t row) string { return fmt.Sprintf("%d/%d", t.SlotsBusy, t.Slots) }},
			{Name: "oldest wait", Show: func(t row) string { return seconds(t.OldestWaitSeconds) }},
			{Name: "mean job", Show: func(t row) string { return seconds(t.MeanSeconds) }},
			{Name: "recommended slots", Show: func(t row) string { return strconv.Itoa(t.RecommendedSlots) }},
		},
		NoMatch: "No pending or running jobs.",
	}
	var ref string
	var target time.Duration
	return &command.Command{
		Name: "queue", Max: 0,
		Short: "Show pending and running jobs by their tags",
		Long: "Slots are the busy ones out of those that the connected provisioners have. A provisioner counts for " +
			"every tag set that it matches. Held jobs wait for their template's limit, not for a slot. The " +
			"recommended slots would start all pending jobs within the target.",
		Examples: []command.Example{{Text: "Show the slots needed to start every job within ten seconds", Line: "coder provisioner queue --target 10s"}},
		Options: []*option.Option{command.Org(&ref),
			option.Duration(&target, "target", "Target for the longest wait of a job, from 1s to 24h, used for the recommended slots").
				Def(codersdk.DefaultProvisionerQueueTarget.String()),
			l.ColumnOption("tags,pending,held,running,slots,oldest wait,recommended slots"), l.FormatOption()},
		Run: func(ctx context.Context, _ []string) error {
			if target < time.Second || target > 24*time.Hour || target%time.Second != 0 {
				return command.Failure("--target %s must be a number of whole seconds from 1s to 24h", target)
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
				return command.WriteJSON(a.Stdout, q)
			}
			for _, w := range q.Warnings {
				a.Warn(string(w.Code) + " " + w.Message)
			}
			return l.Write(a, q.TagSets)
		},
	}
}

// wholeQueue reads every page of a queue.
func wholeQueue(ctx context.Context, c *codersdk.Client, organization string, target time.Duration) (codersdk.ProvisionerQueue, error) {
	all := codersdk.ProvisionerQueue{TagSets: []codersdk.ProvisionerQueueTagSet{}}
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

// tagsOrNone formats tags without the two that every job and provisioner has.
func tagsOrNone(tags codersdk.Tags) string {
	own := map[string]string{}
	for k, v := range tags {
		if k != codersdk.TagOwner && (k != codersdk.TagScope || v != codersdk.ScopeOrganization) {
			own[k] = v
		}
	}
	if len(own) == 0 {
		return "none"
	}
	return command.TagText(own)
}

func jobsExplainCommand(a *command.Run) *command.Command {
	type row = codersdk.ProvisionerRefusal
	l := &command.Listing[row]{
		All: []command.Column[row]{
			{Name: "provisioner", Show: func(r row) string {
				if r.Name == "" {
					return "(no permission)"
				}
				return r.Name
			}},
			{Name: "id", Show: func(r row) string { return idText(r.DaemonID) }},
			{Name: "status", Show: func(r row) string { return string(r.Status) }},
			{Name: "reason", Show: func(r row) string { return strings.ReplaceAll(string(r.Reason), "_", " ") }},
			{Name: "since", Show: func(r row) string { return command.DateOf(r.Since) }},
			{Name: "busy with", Show: func(r row) string {
				if r.BusyWith == nil {
					return ""
				}
				return r.BusyWith.String()
			}},
			{Name: "why", Show: func(r row) string { return r.Message }},
			{Name: "version", Show: func(r row) string { return r.Version }},
			{Name: "tags", Show: func(r row) string { return command.TagText(r.Tags) }},
			{Name: "key name", Show: func(r row) string { return r.KeyName }},
		},
		NoMatch: "No provisioner is or was recently connected. Run one with 'coder provisioner start'.",
	}
	var ref string
	return &command.Command{
		Name: "explain", Args: "<job_id>", Min: 1, Max: 1,
		Short:   "Explain why a job is pending, for each provisioner, and how to get it started",
		Options: []*option.Option{command.Org(&ref), l.ColumnOption("provisioner,status,reason,since,busy with,why"), l.FormatOption()},
		Run: func(ctx context.Context, args []string) error {
			id, err := uuid.Parse(args[0])
			if err != nil {
				return command.Failure("%q is not a job ID; 'coder provisioner jobs list' shows the IDs", args[0])
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
				return command.WriteJSON(a.Stdout, e)
			}
			return writeExplanation(a, l, e)
		},
	}
}

// writeExplanation prints the state of a job, the provisioners, and the
// possible fixes.
func writeExplanation(a *command.Run, l *command.Listing[codersdk.ProvisionerRefusal], e codersdk.ProvisionerJobExplanation) error {
	p := a.Painter(a.Stdout)
	headline := e.Summary
	if e.NearestMiss != nil && e.Held == "" {
		headline = "The job is pending because no connected provisioner accepts it."
	}
	fmt.Fprintf(a.Stdout, "%s\nJob %s is %s; its tags: %s.\n", p.Bold(terminal.OneLine(headline)), e.JobID, e.Status, tagsOrNone(e.Tags))
	if e.Status != codersdk.ProvisionerJobStatusPending {
		return nil
	}
	if place := command.QueueText(a, e); place != "" {
		fmt.Fprintf(a.Stdout, "Among the jobs with these tags: %s.\n", place)
	}
	fmt.Fprintln(a.Stdout)
	if err := l.Write(a, e.Daemons); err != nil {
		return err
	}
	if e.HeldFix != "" {
		fmt.Fprintf(a.Stdout, "\nTo allow one more concurrent build of the template:\n  %s\n", p.Bold(terminal.OneLine(e.HeldFix)))
	}
	if e.WeightFix != "" {
		fmt.Fprintf(a.Stdout, "\nTo let the built-in provisioners serve this organization:\n  %s\n", p.Bold(terminal.OneLine(e.WeightFix)))
	}
	if e.NearestMiss == nil {
		return nil
	}
	near := *e.NearestMiss
	fmt.Fprintf(
		a.Stdout,
		"\nThe closest match is %s. To start a provisioner that accepts the job:\n  %s\n",
		terminal.OneLine(near.DaemonName),
		p.Bold(terminal.OneLine(near.Fix)),
	)
	if near.TemplateFix != "" {
		fmt.Fprintf(a.Stdout, "Or change the template so that this provisioner accepts it:\n  %s\n", p.Bold(terminal.OneLine(near.TemplateFix)))
	}
	return nil
}
