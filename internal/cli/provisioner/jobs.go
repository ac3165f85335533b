package provisioner

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// jobRow is a job and the name of its organization.
type jobRow struct {
	coder.ProvisionerJob
	Organization string `json:"organization_name"`
}

func jobColumns() []app.Column[jobRow] {
	worker := func(j jobRow) string {
		if j.WorkerID == nil {
			return ""
		}
		return idText(*j.WorkerID)
	}
	return []app.Column[jobRow]{
		{Name: "id", Show: func(j jobRow) string { return j.ID.String() }},
		{Name: "created at", Show: func(j jobRow) string { return app.Date(j.CreatedAt) }},
		{Name: "started at", Show: func(j jobRow) string { return app.DateOf(j.StartedAt) }},
		{Name: "completed at", Show: func(j jobRow) string { return app.DateOf(j.CompletedAt) }},
		{Name: "canceled at", Show: func(j jobRow) string { return app.DateOf(j.CanceledAt) }},
		{Name: "error", Show: func(j jobRow) string { return j.Error }},
		{Name: "error code", Show: func(j jobRow) string { return string(j.ErrorCode) }},
		{Name: "status", Show: func(j jobRow) string { return string(j.Status) }},
		{Name: "worker id", Show: worker},
		{Name: "worker name", Show: func(j jobRow) string { return j.WorkerName }},
		{Name: "file id", Show: func(j jobRow) string { return idText(j.FileID) }},
		{Name: "tags", Show: func(j jobRow) string { return app.TagText(j.Tags) }},
		{Name: "queue position", Show: func(j jobRow) string { return strconv.Itoa(j.QueuePosition) }},
		{Name: "queue size", Show: func(j jobRow) string { return strconv.Itoa(j.QueueSize) }},
		{Name: "organization id", Show: func(j jobRow) string { return j.OrganizationID.String() }},
		{Name: "initiator id", Show: func(j jobRow) string { return idText(j.InitiatorID) }},
		{Name: "template version id", Show: func(j jobRow) string { return idText(j.Input.TemplateVersionID) }},
		{Name: "workspace build id", Show: func(j jobRow) string { return idText(j.Input.WorkspaceBuildID) }},
		{Name: "type", Show: func(j jobRow) string { return string(j.Type) }},
		{Name: "available workers", Show: func(j jobRow) string { return strings.Join(j.AvailableWorkers, ",") }},
		{Name: "template version name", Show: func(j jobRow) string { return j.Metadata.TemplateVersionName }},
		{Name: "template id", Show: func(j jobRow) string { return idText(j.Metadata.TemplateID) }},
		{Name: "template name", Show: func(j jobRow) string { return j.Metadata.TemplateName }},
		{Name: "template display name", Show: func(j jobRow) string { return j.Metadata.TemplateDisplayName }},
		{Name: "template icon", Show: func(j jobRow) string { return j.Metadata.TemplateIcon }},
		{Name: "workspace id", Show: func(j jobRow) string { return idText(j.Metadata.WorkspaceID) }},
		{Name: "workspace name", Show: func(j jobRow) string { return j.Metadata.WorkspaceName }},
		{Name: "logs overflowed", Show: func(j jobRow) string { return app.YesNo(j.LogsOverflowed) }},
		{Name: "organization", Show: func(j jobRow) string { return j.Organization }},
		{Name: "queue", Show: func(j jobRow) string {
			if j.QueuePosition == 0 {
				return ""
			}
			return fmt.Sprintf("%d/%d", j.QueuePosition, j.QueueSize)
		}},
	}
}

func jobsListCommand(a *app.Run) *app.Command {
	l := &app.Listing[jobRow]{All: jobColumns(), NoMatch: "No jobs."}
	var status []string
	var limit int
	var initiator, ref string
	return &app.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short: "List the jobs of an organization, the newest first.",
		Options: []*option.Option{
			option.Words(&status, "status", "Only those in this state.", "pending", "running", "succeeded", "canceling", "canceled", "failed", "unknown").Short("s").Env("CODER_PROVISIONER_JOB_LIST_STATUS"),
			option.Int(&limit, "limit", "How many to list at most.").Short("l").Env("CODER_PROVISIONER_JOB_LIST_LIMIT").Def("50"),
			option.String(&initiator, "initiator", "Only those that this user began.").Short("i").Env("CODER_PROVISIONER_JOB_LIST_INITIATOR"),
			app.Org(&ref), l.ColumnOption("created at,id,type,template display name,status,queue,tags"), l.FormatOption(),
		},
		Run: func(ctx context.Context, _ []string) error {
			c, o, err := a.ClientAndOrganization(ctx, ref)
			if err != nil {
				return err
			}
			q := url.Values{"limit": {strconv.Itoa(limit)}}
			if len(status) > 0 {
				q.Set("status", strings.Join(status, ","))
			}
			if initiator != "" {
				u, err := c.User(ctx, initiator)
				if err != nil {
					return fmt.Errorf("--initiator %s: %w", initiator, err)
				}
				q.Set("initiator", u.ID.String())
			}
			all, err := c.ProvisionerJobs(ctx, o.ID.String(), q)
			if err != nil {
				return err
			}
			rows := make([]jobRow, len(all))
			for i, j := range all {
				rows[i] = jobRow{j, o.Name}
			}
			return l.Write(a, rows)
		},
	}
}

func jobsCancelCommand(a *app.Run) *app.Command {
	var ref string
	return &app.Command{
		Name: "cancel", Args: "<job_id>", Min: 1, Max: 1,
		Short:   "Cancel a job.",
		Options: []*option.Option{app.Org(&ref)},
		Run: func(ctx context.Context, args []string) error {
			id, err := uuid.Parse(args[0])
			if err != nil {
				return app.Failure("%q is no id of a job; 'coder provisioner jobs list' shows them", args[0])
			}
			c, o, err := a.ClientAndOrganization(ctx, ref)
			if err != nil {
				return err
			}
			job, err := c.ProvisionerJob(ctx, o.ID.String(), id)
			if err != nil {
				return err
			}
			switch job.Type {
			case coder.ProvisionerJobTypeWorkspaceBuild:
				err = c.CancelWorkspaceBuild(ctx, job.Input.WorkspaceBuildID, nil)
			case coder.ProvisionerJobTypeTemplateVersionImport:
				err = c.CancelTemplateVersion(ctx, job.Input.TemplateVersionID)
			case coder.ProvisionerJobTypeTemplateVersionDryRun:
				err = c.CancelTemplateVersionDryRun(ctx, job.Input.TemplateVersionID, job.ID)
			default:
				err = app.Failure("a job of type %q cannot be canceled", job.Type)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Job %s is told to end.\n", id)
			return err
		},
	}
}
