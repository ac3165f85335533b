package template

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/resource"
)

// dryRunInput is what a dry run's job carries.
type dryRunInput struct {
	TemplateVersionID   uuid.UUID                       `json:"template_version_id"`
	WorkspaceName       string                          `json:"workspace_name"`
	RichParameterValues []coder.WorkspaceBuildParameter `json:"rich_parameter_values"`
	UserVariableValues  []coder.VariableValue           `json:"user_variable_values,omitempty"`
}

// CreateTemplateVersionDryRun plans a workspace of a version with somebody's
// parameters, for whoever could make that workspace. (TPL-07)
func (s *Service) CreateTemplateVersionDryRun(ctx context.Context, actor access.Subject, versionID uuid.UUID, req coder.CreateTemplateVersionDryRunRequest) (coder.ProvisionerJob, error) {
	var none coder.ProvisionerJob
	r, err := version(ctx, s.Store.Queries, actor, coder.RBACActionRead, versionID)
	if err != nil {
		return none, err
	}
	v := r.TemplateVersion
	mine := access.Object{Type: coder.RBACResourceWorkspace, OrganizationID: v.OrganizationID, OwnerID: actor.UserID}
	if err := actor.Check(coder.RBACActionCreate, mine); err != nil {
		return none, err
	}
	imported, err := s.Queue.Job(ctx, s.Store.Queries, v.JobID)
	if err != nil {
		return none, err
	}
	if imported.Status != coder.ProvisionerJobStatusSucceeded {
		return none, coder.Errorf(coder.CodePrecondition, "The import of version %s is %s; a dry run needs one that succeeded", v.Name, imported.Status)
	}
	in := dryRunInput{TemplateVersionID: versionID, WorkspaceName: req.WorkspaceName, UserVariableValues: req.UserVariableValues}
	if in.WorkspaceName == "" {
		in.WorkspaceName = "dry-run"
	}
	if err := coder.CheckName("workspace_name", in.WorkspaceName); err != nil {
		return none, err
	}
	if err := checkVariables(req.UserVariableValues); err != nil {
		return none, err
	}
	defs, given, err := s.forms.Resolve(ctx, s.Store.Queries, v, actor.UserID, req.RichParameterValues, nil, nil)
	if err != nil {
		return none, err
	}
	in.RichParameterValues, err = coder.ResolveParameters(defs, given, nil, coder.ParameterOptions{Create: true})
	if err != nil {
		return none, err
	}
	provider, err := s.Store.VersionProvisioner(ctx, v.JobID)
	if err != nil {
		return none, err
	}
	id := uuid.New()
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		return s.Queue.Add(ctx, q, queue.NewJob{
			ID: id, OrganizationID: v.OrganizationID, InitiatorID: actor.UserID, FileID: imported.FileID,
			Type: coder.ProvisionerJobTypeTemplateVersionDryRun, Provisioner: provider,
			Tags: coder.NormalizeTags(actor.UserID, v.Tags), Input: in,
		})
	})
	if err != nil {
		return none, err
	}
	s.Queue.Wake(v.OrganizationID)
	job, err := s.Queue.Job(ctx, s.Store.Queries, id)
	if err != nil || job.Status != coder.ProvisionerJobStatusPending {
		return job, err
	}
	_, job.ProvisionerWarning, err = s.Queue.Outlook(ctx, s.Store.Queries, id)
	return job, err
}

// TemplateVersionDryRun gives the job of a dry run to who started it or may
// change the template.
func (s *Service) TemplateVersionDryRun(ctx context.Context, actor access.Subject, versionID, jobID uuid.UUID) (coder.ProvisionerJob, error) {
	r, err := version(ctx, s.Store.Queries, actor, coder.RBACActionRead, versionID)
	if err != nil {
		return coder.ProvisionerJob{}, err
	}
	job, err := s.Queue.Job(ctx, s.Store.Queries, jobID)
	if err != nil {
		return job, err
	}
	mine := job.InitiatorID == actor.UserID || actor.Can(coder.RBACActionUpdate, versionObject(r))
	if job.Type != coder.ProvisionerJobTypeTemplateVersionDryRun || job.Input.TemplateVersionID != versionID || !mine {
		return coder.ProvisionerJob{}, coder.NotFound()
	}
	return job, nil
}

// TemplateVersionDryRunResources gives what the workspace would be made of.
func (s *Service) TemplateVersionDryRunResources(ctx context.Context, actor access.Subject, versionID, jobID uuid.UUID) ([]coder.WorkspaceResource, error) {
	job, err := s.TemplateVersionDryRun(ctx, actor, versionID, jobID)
	if err != nil {
		return nil, err
	}
	return s.resources(ctx, job)
}

// TemplateVersionDryRunMatched counts the provisioners that could do a dry run.
func (s *Service) TemplateVersionDryRunMatched(ctx context.Context, actor access.Subject, versionID, jobID uuid.UUID) (coder.MatchedProvisioners, error) {
	job, err := s.TemplateVersionDryRun(ctx, actor, versionID, jobID)
	if err != nil || job.CompletedAt != nil {
		return coder.MatchedProvisioners{}, err
	}
	m, _, err := s.Queue.Outlook(ctx, s.Store.Queries, job.ID)
	return m, err
}

// CancelTemplateVersionDryRun stops a dry run.
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
	chosen := given(in.UserVariableValues)
	for i := range v.Variables {
		if value, ok := chosen[v.Variables[i].Name]; ok {
			v.Variables[i].Value = value
		}
	}
	meta.WorkspaceName = in.WorkspaceName
	run := &provisionerd.AcquiredJob_TemplateDryRun{Metadata: meta, VariableValues: values(v.Variables, chosen)}
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
	return resource.Insert(ctx, q, job.ID, coder.WorkspaceTransitionStart, done.GetTemplateDryRun().GetResources(), resource.Options{Now: h.s.now(), Preview: true})
}

func (dryRunner) Fail(context.Context, *sqlc.Queries, queue.Job, *provisionerd.FailedJob) error {
	return nil
}

func (dryRunner) Changed(context.Context, queue.Job) {}
