package provisioner

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// jobRow is a job with the name of its organization.
type jobRow struct {
	codersdk.ProvisionerJob
	Organization string `json:"organization_name"`
}

func jobColumns() []command.Column[jobRow] {
	worker := func(j jobRow) string {
		if j.WorkerID == nil {
			return ""
		}
		return idText(*j.WorkerID)
	}
	return []command.Column[jobRow]{
		{Name: "id", Show: func(j jobRow) string { return j.ID.String() }},
		{Name: "created at", Show: func(j jobRow) string { return command.Date(j.CreatedAt) }},
		{Name: "started at", Show: func(j jobRow) string { return command.DateOf(j.StartedAt) }},
		{Name: "completed at", Show: func(j jobRow) string { return command.DateOf(j.CompletedAt) }},
		{Name: "canceled at", Show: func(j jobRow) string { return command.DateOf(j.CanceledAt) }},
		{Name: "error", Show: func(j jobRow) string { return j.Error }},
		{Name: "error code", Show: func(j jobRow) string { return string(j.ErrorCode) }},
		{Name: "status", Show: func(j jobRow) string { return string(j.Status) }},
		{Name: "worker id", Show: worker},
		{Name: "worker name", Show: func(j jobRow) string { return j.WorkerName }},
		{Name: "file id", Show: func(j jobRow) string { return idText(j.FileID) }},
		{Name: "tags", Show: func(j jobRow) string { return command.TagText(j.Tags) }},
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
		{Name: "logs overflowed", Show: func(j jobRow) string { return command.YesNo(j.LogsOverflowed) }},
		{Name: "organization", Show: func(j jobRow) string { return j.Organization }},
		{Name: "queue", Show: func(j jobRow) string {
			if j.QueuePosition == 0 {
				return ""
			}
			return fmt.Sprintf("%d/%d", j.QueuePosition, j.QueueSize)
		}},
	}
}

func jobsListCommand(a *command.Run) *command.Command {
	l := &command.Listing[jobRow]{All: jobColumns(), NoMatch: "No jobs found."}
	var status []string
	var limit int
	var initiator, ref string
	return &command.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short: "List the provisioner jobs of an organization",
		Options: []*option.Option{
			option.Words(&status, "status", "Status to filter by", "pending", "running", "succeeded", "canceling", "canceled", "failed", "unknown").
				Short("s").
				Env("CODER_PROVISIONER_JOB_LIST_STATUS"),
			option.Int(&limit, "limit", "Maximum number of jobs to list").Short("l").Env("CODER_PROVISIONER_JOB_LIST_LIMIT").Def("50"),
			option.String(&initiator, "initiator", "Initiator to filter by, as a username or ID").Short("i").Env("CODER_PROVISIONER_JOB_LIST_INITIATOR"),
			command.Org(&ref), l.ColumnOption("created at,id,type,template display name,status,queue,tags"), l.FormatOption(),
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

func jobsCancelCommand(a *command.Run) *command.Command {
	var ref string
	return &command.Command{
		Name: "cancel", Args: "<job_id>", Min: 1, Max: 1,
		Short:   "Cancel a provisioner job",
		Options: []*option.Option{command.Org(&ref)},
		Run: func(ctx context.Context, args []string) error {
			id, err := uuid.Parse(args[0])
			if err != nil {
				return command.Failure("%q is not a job ID; 'coder provisioner jobs list' shows the IDs", args[0])
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
			case codersdk.ProvisionerJobTypeWorkspaceBuild:
				err = c.CancelWorkspaceBuild(ctx, job.Input.WorkspaceBuildID, nil)
			case codersdk.ProvisionerJobTypeTemplateVersionImport:
				err = c.CancelTemplateVersion(ctx, job.Input.TemplateVersionID)
			case codersdk.ProvisionerJobTypeTemplateVersionDryRun:
				err = c.CancelTemplateVersionDryRun(ctx, job.Input.TemplateVersionID, job.ID)
			default:
				err = command.Failure("jobs of type %q cannot be canceled", job.Type)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Canceling job %s.\n", id)
			return err
		},
	}
}
