package template

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/parameter"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/resource"
)

// dryRunInput is the payload of a dry run's job.
type dryRunInput struct {
	TemplateVersionID   uuid.UUID                          `json:"template_version_id"`
	WorkspaceName       string                             `json:"workspace_name"`
	RichParameterValues []codersdk.WorkspaceBuildParameter `json:"rich_parameter_values"`
	UserVariableValues  []codersdk.VariableValue           `json:"user_variable_values,omitempty"`
}

// CreateTemplateVersionDryRun plans a workspace of a version with the given parameters, for
// users who could create that workspace. (TPL-07)
func (s *Service) CreateTemplateVersionDryRun(
	ctx context.Context,
	actor access.Subject,
	versionID uuid.UUID,
	req codersdk.CreateTemplateVersionDryRunRequest,
) (codersdk.ProvisionerJob, error) {
	var none codersdk.ProvisionerJob
	r, err := version(ctx, s.Store.Queries, actor, codersdk.RBACActionRead, versionID)
	if err != nil {
		return none, err
	}
	v := r.TemplateVersion
	mine := access.Object{Type: codersdk.RBACResourceWorkspace, OrganizationID: v.OrganizationID, OwnerID: actor.UserID}
	if err := actor.Check(codersdk.RBACActionCreate, mine); err != nil {
		return none, err
	}
	imported, err := s.Queue.Job(ctx, s.Store.Queries, v.JobID)
	if err != nil {
		return none, err
	}
	if imported.Status != codersdk.ProvisionerJobStatusSucceeded {
		return none, codersdk.Errorf(codersdk.CodePrecondition, "The import of version %s is %s; a dry run requires a successful import",
			v.Name, imported.Status)
	}
	chosen := lastValues(req.UserVariableValues)
	in := dryRunInput{TemplateVersionID: versionID, WorkspaceName: req.WorkspaceName, UserVariableValues: s.inInput(chosen)}
	if in.WorkspaceName == "" {
		in.WorkspaceName = "dry-run"
	}
	if err := codersdk.CheckName("workspace_name", in.WorkspaceName); err != nil {
		return none, err
	}
	if err := checkVariables(req.UserVariableValues); err != nil {
		return none, err
	}
	values := parameter.Values{Given: req.RichParameterValues}
	values.Create = true
	in.RichParameterValues, err = s.forms.Resolve(ctx, s.Store.Queries, v, actor.UserID, values)
	if err != nil {
		return none, err
	}
	provider, err := s.Store.VersionProvisioner(ctx, v.JobID)
	if err != nil {
		return none, err
	}
	id := uuid.New()
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		err := s.Queue.Add(ctx, q, queue.NewJob{
			ID: id, OrganizationID: v.OrganizationID, InitiatorID: actor.UserID, FileID: imported.FileID,
			Type: codersdk.ProvisionerJobTypeTemplateVersionDryRun, Provisioner: provider,
			Tags: codersdk.NormalizeTags(actor.UserID, v.Tags), Input: in,
		})
		if err != nil {
			return err
		}
		return s.putVariables(ctx, q, id, chosen)
	})
	if err != nil {
		return none, err
	}
	s.Queue.Wake(v.OrganizationID)
	job, err := s.Queue.Job(ctx, s.Store.Queries, id)
	if err != nil || job.Status != codersdk.ProvisionerJobStatusPending {
		return job, err
	}
	_, job.ProvisionerWarning, err = s.Queue.Outlook(ctx, s.Store.Queries, id)
	return job, err
}

// TemplateVersionDryRun returns the job of a dry run to the user who started it and to users
// who can change the template.
func (s *Service) TemplateVersionDryRun(ctx context.Context, actor access.Subject, versionID, jobID uuid.UUID) (codersdk.ProvisionerJob, error) {
	r, err := version(ctx, s.Store.Queries, actor, codersdk.RBACActionRead, versionID)
	if err != nil {
		return codersdk.ProvisionerJob{}, err
	}
	job, err := s.Queue.Job(ctx, s.Store.Queries, jobID)
	if err != nil {
		return job, err
	}
	mine := job.InitiatorID == actor.UserID || actor.Can(codersdk.RBACActionUpdate, versionObject(r))
	if job.Type != codersdk.ProvisionerJobTypeTemplateVersionDryRun || job.Input.TemplateVersionID != versionID || !mine {
		return codersdk.ProvisionerJob{}, codersdk.NotFound()
	}
	return job, nil
}

// TemplateVersionDryRunResources returns the planned resources of the workspace.
func (s *Service) TemplateVersionDryRunResources(ctx context.Context, actor access.Subject, versionID, jobID uuid.UUID) ([]codersdk.WorkspaceResource, error) {
	job, err := s.TemplateVersionDryRun(ctx, actor, versionID, jobID)
	if err != nil {
		return nil, err
	}
	return s.resources(ctx, job)
}

// TemplateVersionDryRunMatched counts the provisioners that can run a dry run.
func (s *Service) TemplateVersionDryRunMatched(ctx context.Context, actor access.Subject, versionID, jobID uuid.UUID) (codersdk.MatchedProvisioners, error) {
	job, err := s.TemplateVersionDryRun(ctx, actor, versionID, jobID)
	if err != nil || job.CompletedAt != nil {
		return codersdk.MatchedProvisioners{}, err
	}
	m, _, err := s.Queue.Outlook(ctx, s.Store.Queries, job.ID)
	return m, err
}

// CancelTemplateVersionDryRun cancels a dry run.
func (s *Service) CancelTemplateVersionDryRun(ctx context.Context, actor access.Subject, versionID, jobID uuid.UUID) error {
	if _, err := s.TemplateVersionDryRun(ctx, actor, versionID, jobID); err != nil {
		return err
	}
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error { return s.Queue.Cancel(ctx, q, jobID) })
	if err == nil {
		s.Queue.Canceled(jobID)
	}
	return err
}

// dryRunner is the queue's Handler of template_version_dry_run jobs.
type dryRunner struct{ s *Service }

func (h dryRunner) Prepare(ctx context.Context, job queue.Job) (*provisionerd.AcquiredJob, error) {
	var in dryRunInput
	if err := job.ReadInput(&in); err != nil {
		return nil, err
	}
	acquired, meta, v, err := h.s.plan(ctx, job, in.TemplateVersionID)
	if err != nil {
		return nil, err
	}
	if in.UserVariableValues == nil {
		if in.UserVariableValues, err = h.s.Vault.JobVariables(ctx, h.s.Store.Queries, job.ID); err != nil {
			return nil, err
		}
	}
	variables, err := h.s.Vault.OpenVariables(v.ID, v.Variables, v.VariablesKeyID)
	if err != nil {
		return nil, err
	}
	chosen := given(in.UserVariableValues)
	for i := range variables {
		if value, ok := chosen[variables[i].Name]; ok {
			variables[i].Value = value
		}
	}
	meta.WorkspaceName = in.WorkspaceName
	run := &provisionerd.AcquiredJob_TemplateDryRun{Metadata: meta, VariableValues: values(variables, chosen)}
	for _, p := range in.RichParameterValues {
		run.RichParameterValues = append(run.RichParameterValues, &provisioner.RichParameterValue{Name: p.Name, Value: p.Value})
	}
	acquired.Type = &provisionerd.AcquiredJob_TemplateDryRun_{TemplateDryRun: run}
	return acquired, nil
}

func (dryRunner) Update(context.Context, *sqlc.Queries, queue.Job, *provisionerd.UpdateJobRequest) (*provisionerd.UpdateJobResponse, error) {
	return nil, nil
}

func (h dryRunner) Complete(ctx context.Context, q *sqlc.Queries, job queue.Job, done *provisionerd.CompletedJob) error {
	if err := q.JobVariablesDelete(ctx, job.ID); err != nil {
		return err
	}
	return resource.Insert(
		ctx,
		q,
		job.ID,
		codersdk.WorkspaceTransitionStart,
		done.GetTemplateDryRun().GetResources(),
		resource.Options{Now: h.s.now(), Preview: true},
	)
}

func (dryRunner) Fail(ctx context.Context, q *sqlc.Queries, job queue.Job, _ *provisionerd.FailedJob) error {
	return q.JobVariablesDelete(ctx, job.ID)
}

func (dryRunner) Changed(context.Context, queue.Job) {}
