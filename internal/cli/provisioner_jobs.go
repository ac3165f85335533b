package cli

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// jobRow is a job and the name of its organization.
type jobRow struct {
	coder.ProvisionerJob
	Organization string `json:"organization_name"`
}

func jobColumns() []column[jobRow] {
	worker := func(j jobRow) string {
		if j.WorkerID == nil {
			return ""
		}
		return idText(*j.WorkerID)
	}
	return []column[jobRow]{
		{"id", func(j jobRow) string { return j.ID.String() }},
		{"created at", func(j jobRow) string { return date(j.CreatedAt) }},
		{"started at", func(j jobRow) string { return dateOf(j.StartedAt) }},
		{"completed at", func(j jobRow) string { return dateOf(j.CompletedAt) }},
		{"canceled at", func(j jobRow) string { return dateOf(j.CanceledAt) }},
		{"error", func(j jobRow) string { return j.Error }},
		{"error code", func(j jobRow) string { return string(j.ErrorCode) }},
		{"status", func(j jobRow) string { return string(j.Status) }},
		{"worker id", worker},
		{"worker name", func(j jobRow) string { return j.WorkerName }},
		{"file id", func(j jobRow) string { return idText(j.FileID) }},
		{"tags", func(j jobRow) string { return tagText(j.Tags) }},
		{"queue position", func(j jobRow) string { return strconv.Itoa(j.QueuePosition) }},
		{"queue size", func(j jobRow) string { return strconv.Itoa(j.QueueSize) }},
		{"organization id", func(j jobRow) string { return j.OrganizationID.String() }},
		{"initiator id", func(j jobRow) string { return idText(j.InitiatorID) }},
		{"template version id", func(j jobRow) string { return idText(j.Input.TemplateVersionID) }},
		{"workspace build id", func(j jobRow) string { return idText(j.Input.WorkspaceBuildID) }},
		{"type", func(j jobRow) string { return string(j.Type) }},
		{"available workers", func(j jobRow) string { return strings.Join(j.AvailableWorkers, ",") }},
		{"template version name", func(j jobRow) string { return j.Metadata.TemplateVersionName }},
		{"template id", func(j jobRow) string { return idText(j.Metadata.TemplateID) }},
		{"template name", func(j jobRow) string { return j.Metadata.TemplateName }},
		{"template display name", func(j jobRow) string { return j.Metadata.TemplateDisplayName }},
		{"template icon", func(j jobRow) string { return j.Metadata.TemplateIcon }},
		{"workspace id", func(j jobRow) string { return idText(j.Metadata.WorkspaceID) }},
		{"workspace name", func(j jobRow) string { return j.Metadata.WorkspaceName }},
		{"logs overflowed", func(j jobRow) string { return yesNo(j.LogsOverflowed) }},
		{"organization", func(j jobRow) string { return j.Organization }},
		{"queue", func(j jobRow) string {
			if j.QueuePosition == 0 {
				return ""
			}
			return fmt.Sprintf("%d/%d", j.QueuePosition, j.QueueSize)
		}},
	}
}

func (a *app) jobsListCommand() *command {
	l := &listing[jobRow]{all: jobColumns(), noMatch: "No jobs."}
	var status []string
	var limit int
	var initiator, ref string
	return &command{
		name: "list", aliases: []string{"ls"}, max: 0,
		short: "List the jobs of an organization, the newest first.",
		options: []*option.Option{
			option.Words(&status, "status", "Only those in this state.", "pending", "running", "succeeded", "canceling", "canceled", "failed", "unknown").Short("s").Env("CODER_PROVISIONER_JOB_LIST_STATUS"),
			option.Int(&limit, "limit", "How many to list at most.").Short("l").Env("CODER_PROVISIONER_JOB_LIST_LIMIT").Def("50"),
			option.String(&initiator, "initiator", "Only those that this user began.").Short("i").Env("CODER_PROVISIONER_JOB_LIST_INITIATOR"),
			org(&ref), l.columnOption("created at,id,type,template display name,status,queue,tags"), l.formatOption(),
		},
		run: func(ctx context.Context, _ []string) error {
			c, o, err := a.clientAndOrganization(ctx, ref)
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
			return l.write(a, rows)
		},
	}
}

func (a *app) jobsCancelCommand() *command {
	var ref string
	return &command{
		name: "cancel", args: "<job_id>", min: 1, max: 1,
		short:   "Cancel a job.",
		options: []*option.Option{org(&ref)},
		run: func(ctx context.Context, args []string) error {
			id, err := uuid.Parse(args[0])
			if err != nil {
				return failure("%q is no id of a job; 'coder provisioner jobs list' shows them", args[0])
			}
			c, o, err := a.clientAndOrganization(ctx, ref)
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
				err = failure("a job of type %q cannot be canceled", job.Type)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "Job %s is told to end.\n", id)
			return err
		},
	}
}
