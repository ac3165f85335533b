package template

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/resource"
)

// imported gives a version whose import is over, so that what it learned is there.
func (s *Service) imported(ctx context.Context, actor access.Subject, id uuid.UUID) (sqlc.VersionByIDRow, error) {
	r, err := version(ctx, s.Store.Queries, actor, coder.RBACActionRead, id)
	if err != nil {
		return r, err
	}
	switch coder.ProvisionerJobStatus(r.JobStatus) {
	case coder.ProvisionerJobStatusPending, coder.ProvisionerJobStatusRunning, coder.ProvisionerJobStatusCanceling:
		return r, coder.Errorf(coder.CodePrecondition, "The import of version %s is not over yet; it is %s", r.TemplateVersion.Name, r.JobStatus)
	}
	return r, nil
}

// TemplateVersionJob gives the id of the job that imports a version, for its log.
func (s *Service) TemplateVersionJob(ctx context.Context, actor access.Subject, id uuid.UUID) (uuid.UUID, error) {
	r, err := version(ctx, s.Store.Queries, actor, coder.RBACActionRead, id)
	return r.TemplateVersion.JobID, err
}

// TemplateVersionResources gives what workspaces of a version are made of, as
// the import planned it: for the transition start and for stop.
func (s *Service) TemplateVersionResources(ctx context.Context, actor access.Subject, id uuid.UUID) ([]coder.WorkspaceResource, error) {
	r, err := s.imported(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	return s.load(ctx, r.TemplateVersion.JobID)
}

// resources gives those of a job that is over.
func (s *Service) resources(ctx context.Context, job coder.ProvisionerJob) ([]coder.WorkspaceResource, error) {
	if job.CompletedAt == nil {
		return nil, coder.Errorf(coder.CodePrecondition, "The job is not over yet; it is %s", job.Status)
	}
	return s.load(ctx, job.ID)
}

func (s *Service) load(ctx context.Context, job uuid.UUID) ([]coder.WorkspaceResource, error) {
	byJob, err := resource.Load(ctx, s.Store.Queries, s.now(), []uuid.UUID{job})
	return byJob[job], err
}

// TemplateVersionParameters gives the parameters of a version.
func (s *Service) TemplateVersionParameters(ctx context.Context, actor access.Subject, id uuid.UUID) ([]coder.TemplateVersionParameter, error) {
	r, err := s.imported(ctx, actor, id)
	return r.TemplateVersion.Parameters, err
}

// TemplateVersionVariables gives the variables of a version; the values of
// sensitive ones are blank.
func (s *Service) TemplateVersionVariables(ctx context.Context, actor access.Subject, id uuid.UUID) ([]coder.TemplateVersionVariable, error) {
	r, err := s.imported(ctx, actor, id)
	vs := r.TemplateVersion.Variables
	for i := range vs {
		if vs[i].Sensitive {
			vs[i].Value, vs[i].DefaultValue = "", ""
		}
	}
	return vs, err
}

// TemplateVersionPresets gives the presets of a version.
func (s *Service) TemplateVersionPresets(ctx context.Context, actor access.Subject, id uuid.UUID) ([]coder.Preset, error) {
	r, err := s.imported(ctx, actor, id)
	return r.TemplateVersion.Presets, err
}

// TemplateVersionExternalAuth gives the external logins that a version wants of
// a workspace's owner.
func (s *Service) TemplateVersionExternalAuth(ctx context.Context, actor access.Subject, id uuid.UUID) ([]coder.TemplateVersionExternalAuth, error) {
	r, err := s.imported(ctx, actor, id)
	logins := r.TemplateVersion.ExternalAuth
	for i := range logins {
		l := &logins[i]
		l.DisplayName, l.AuthenticateURL = l.ID, s.AccessURL.JoinPath("external-auth", l.ID).String()
	}
	return logins, err
}
