package template

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/resource"
)

// imported returns a version whose import has finished, so that its results are available.
func (s *Service) imported(ctx context.Context, actor access.Subject, id uuid.UUID) (sqlc.VersionByIDRow, error) {
	r, err := version(ctx, s.Store.Queries, actor, codersdk.RBACActionRead, id)
	if err != nil {
		return r, err
	}
	switch codersdk.ProvisionerJobStatus(r.JobStatus) {
	case codersdk.ProvisionerJobStatusPending, codersdk.ProvisionerJobStatusRunning, codersdk.ProvisionerJobStatusCanceling:
		return r, codersdk.Errorf(codersdk.CodePrecondition, "Version %q is still being imported (%s); try again when its import has finished",
			r.TemplateVersion.Name, r.JobStatus)
	}
	return r, nil
}

// TemplateVersionJob returns the ID of a version's import job, for its log.
func (s *Service) TemplateVersionJob(ctx context.Context, actor access.Subject, id uuid.UUID) (uuid.UUID, error) {
	r, err := version(ctx, s.Store.Queries, actor, codersdk.RBACActionRead, id)
	return r.TemplateVersion.JobID, err
}

// TemplateVersionResources returns the resources of workspaces of a version, as the import
// planned them for the transitions start and stop.
func (s *Service) TemplateVersionResources(ctx context.Context, actor access.Subject, id uuid.UUID) ([]codersdk.WorkspaceResource, error) {
	r, err := s.imported(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	return s.load(ctx, r.TemplateVersion.JobID)
}

// resources returns the resources of a finished job.
func (s *Service) resources(ctx context.Context, job codersdk.ProvisionerJob) ([]codersdk.WorkspaceResource, error) {
	if job.CompletedAt == nil {
		return nil, codersdk.Errorf(codersdk.CodePrecondition, "The job has not finished; it is %s", job.Status)
	}
	return s.load(ctx, job.ID)
}

func (s *Service) load(ctx context.Context, job uuid.UUID) ([]codersdk.WorkspaceResource, error) {
	byJob, err := resource.Load(ctx, s.Store.Queries, s.now(), []uuid.UUID{job})
	return byJob[job], err
}

// TemplateVersionParameters returns the parameters of a version.
func (s *Service) TemplateVersionParameters(ctx context.Context, actor access.Subject, id uuid.UUID) ([]codersdk.TemplateVersionParameter, error) {
	r, err := s.imported(ctx, actor, id)
	return r.TemplateVersion.Parameters, err
}

// TemplateVersionVariables returns the variables of a version. The values of sensitive
// variables are empty.
func (s *Service) TemplateVersionVariables(ctx context.Context, actor access.Subject, id uuid.UUID) ([]codersdk.TemplateVersionVariable, error) {
	r, err := s.imported(ctx, actor, id)
	vs := r.TemplateVersion.Variables
	for i := range vs {
		if vs[i].Sensitive {
			vs[i].Value, vs[i].DefaultValue = "", ""
		}
	}
	return vs, err
}

// TemplateVersionPresets returns the presets of a version.
func (s *Service) TemplateVersionPresets(ctx context.Context, actor access.Subject, id uuid.UUID) ([]codersdk.Preset, error) {
	r, err := s.imported(ctx, actor, id)
	out := make([]codersdk.Preset, 0, len(r.TemplateVersion.Presets))
	for _, p := range r.TemplateVersion.Presets {
		out = append(out, codersdk.Preset(p))
	}
	return out, err
}

// TemplateVersionExternalAuth returns the external authentications that a version declares, and whether the
// actor has linked them.
func (s *Service) TemplateVersionExternalAuth(ctx context.Context, actor access.Subject, id uuid.UUID) ([]codersdk.TemplateVersionExternalAuth, error) {
	r, err := s.imported(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	declared := r.TemplateVersion.ExternalAuth
	linked := map[string]bool{}
	if s.Links != nil {
		if linked, err = s.Links.Linked(ctx, actor.UserID, declared); err != nil {
			return nil, err
		}
	}
	for i, d := range declared {
		full := codersdk.TemplateVersionExternalAuth{ID: d.ID, DisplayName: d.ID, AuthenticateURL: s.AccessURL.JoinPath("external-auth", d.ID).String()}
		if s.Links != nil {
			full, _ = s.Links.Requirement(d.ID)
		}
		full.Optional, full.Authenticated = d.Optional, linked[d.ID]
		declared[i] = full
	}
	return declared, nil
}
