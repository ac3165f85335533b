package template

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/archive"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/resource"
)

// Limits of an import's results.
const (
	maxReadme  = 1 << 20
	maxModules = 20 << 20 // larger modules are downloaded by each build (TPL-21)
)

// importer is the queue's Handler of template_version_import jobs.
type importer struct{ s *Service }

// importOf reads the payload of an import job.
func (s *Service) importOf(ctx context.Context, q *sqlc.Queries, job queue.Job) (in importInput, err error) {
	if err = job.ReadInput(&in); err == nil && in.UserVariableValues == nil {
		in.UserVariableValues, err = s.Vault.JobVariables(ctx, q, job.ID)
	}
	return in, err
}

// inInput returns the values of variables to store in the input of a job: all for servers of the previous
// version, which read them there, else none. See putVariables.
func (s *Service) inInput(values []codersdk.VariableValue) []codersdk.VariableValue {
	if s.Vault.Ready() {
		return nil
	}
	return values
}

// putVariables stores values of variables encrypted until the job ends, unless they are in its input.
func (s *Service) putVariables(ctx context.Context, q *sqlc.Queries, jobID uuid.UUID, values []codersdk.VariableValue) error {
	if !s.Vault.Ready() {
		return nil
	}
	return s.Vault.PutJobVariables(ctx, q, jobID, values)
}

func (h importer) Prepare(ctx context.Context, job queue.Job) (*provisionerd.AcquiredJob, error) {
	in, err := h.s.importOf(ctx, h.s.Store.Queries, job)
	if err != nil {
		return nil, err
	}
	acquired, meta, _, err := h.s.plan(ctx, job, in.TemplateVersionID)
	if err != nil {
		return nil, err
	}
	meta.WorkspaceName = "default"
	values := make([]*provisioner.VariableValue, 0, len(in.UserVariableValues))
	for _, v := range in.UserVariableValues {
		values = append(values, &provisioner.VariableValue{Name: v.Name, Value: v.Value})
	}
	acquired.Type = &provisionerd.AcquiredJob_TemplateImport_{TemplateImport: &provisionerd.AcquiredJob_TemplateImport{
		Metadata: meta, UserVariableValues: values,
	}}
	return acquired, nil
}

// plan returns the common inputs of imports and dry runs: the source, and placeholder
// metadata of a workspace.
func (s *Service) plan(
	ctx context.Context,
	job queue.Job,
	versionID uuid.UUID,
) (*provisionerd.AcquiredJob, *provisioner.Metadata, sqlc.VersionTemplateRow, error) {
	v, err := s.Store.VersionTemplate(ctx, versionID)
	if err != nil {
		return nil, nil, v, err
	}
	source, err := s.Store.FileData(ctx, job.FileID)
	if err != nil {
		return nil, nil, v, err
	}
	who, err := s.Store.VersionInitiator(ctx, job.InitiatorID)
	if err != nil {
		return nil, nil, v, err
	}
	meta := &provisioner.Metadata{
		CoderUrl: s.AccessURL.String(), WorkspaceTransition: provisioner.WorkspaceTransition_START,
		WorkspaceOwner: who.Username, WorkspaceOwnerId: who.ID.String(), WorkspaceOwnerEmail: who.Email,
		WorkspaceOwnerName: who.Name, WorkspaceOwnerLoginType: who.LoginType, WorkspaceOwnerSshPublicKey: who.SshPublicKey,
		WorkspaceOwnerGroups: []string{"Everyone"},
		TemplateName:         v.TemplateName, TemplateVersion: v.Name, TemplateVersionId: v.ID.String(),
	}
	if v.TemplateID != nil {
		meta.TemplateId = v.TemplateID.String()
	}
	if v.ModuleFilesID != nil && !v.DisableModuleCache {
		meta.TemplateVersionModulesFile = v.ModuleFilesID.String()
	}
	return &provisionerd.AcquiredJob{UserName: who.Username, TemplateSourceArchive: source}, meta, v, nil
}

// Update stores early results of an import and returns the values of the variables. A missing
// value is no error here: Fail names the variable later, when users can see the variables.
func (h importer) Update(ctx context.Context, q *sqlc.Queries, job queue.Job, req *provisionerd.UpdateJobRequest) (*provisionerd.UpdateJobResponse, error) {
	in, err := h.s.importOf(ctx, q, job)
	if err != nil {
		return nil, err
	}
	v, err := q.VersionLock(ctx, in.TemplateVersionID)
	if err != nil {
		return nil, err
	}
	before, err := h.s.activeVariables(ctx, q, v.TemplateID)
	if err != nil {
		return nil, err
	}
	now, err := h.s.Vault.OpenVariables(v.ID, v.Variables, v.VariablesKeyID)
	if err != nil {
		return nil, err
	}
	learned := sqlc.VersionSetLearnedParams{ID: v.ID, Readme: v.Readme, WorkspaceTags: v.WorkspaceTags, Now: h.s.now()}
	if len(req.Readme) > 0 {
		learned.Readme = text(req.Readme, maxReadme)
	}
	if len(req.TemplateVariables) > 0 {
		now = variables(req.TemplateVariables, in.UserVariableValues, before)
	}
	if len(req.WorkspaceTags) > 0 {
		learned.WorkspaceTags = req.WorkspaceTags
	}
	learned.Variables, learned.VariablesKeyID = h.s.Vault.SealVariables(v.ID, now)
	if err := q.VersionSetLearned(ctx, learned); err != nil {
		return nil, err
	}
	return &provisionerd.UpdateJobResponse{VariableValues: values(now, given(in.UserVariableValues))}, nil
}

// activeVariables returns the variables of the active version of a template, nil if there is none.
func (s *Service) activeVariables(ctx context.Context, q *sqlc.Queries, templateID *uuid.UUID) ([]codersdk.TemplateVersionVariable, error) {
	if templateID == nil {
		return nil, nil
	}
	row, err := q.VersionVariables(ctx, *templateID)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.Vault.OpenVariables(row.ID, row.Variables, row.VariablesKeyID)
}

// given returns values by name.
func given(vs []codersdk.VariableValue) map[string]string {
	out := make(map[string]string, len(vs))
	for _, v := range vs {
		out[v.Name] = v.Value
	}
	return out
}

// variables returns the value of each variable: the value set for the version, else the last
// value set for the template, else the default. (TPL-08)
func variables(
	found []*provisioner.TemplateVariable,
	user []codersdk.VariableValue,
	before []codersdk.TemplateVersionVariable,
) []codersdk.TemplateVersionVariable {
	stored := map[string]string{}
	for _, b := range before {
		if b.Value != b.DefaultValue {
			stored[b.Name] = b.Value
		}
	}
	chosen := given(user)
	out := make([]codersdk.TemplateVersionVariable, 0, len(found))
	for _, f := range found {
		v := codersdk.TemplateVersionVariable{
			Name: f.Name, Description: f.Description, Type: f.Type, DefaultValue: f.DefaultValue,
			Required: f.Required, Sensitive: f.Sensitive, Value: f.DefaultValue,
		}
		if value, ok := stored[f.Name]; ok {
			v.Value = value
		}
		if value, ok := chosen[f.Name]; ok {
			v.Value = value
		}
		out = append(out, v)
	}
	return out
}

// values returns the values to pass to Terraform: those that differ from the defaults, and
// those that were set explicitly for this version.
func values(vs []codersdk.TemplateVersionVariable, chosen map[string]string) []*provisioner.VariableValue {
	var out []*provisioner.VariableValue
	for _, v := range vs {
		_, explicit := chosen[v.Name]
		if explicit || v.Value != v.DefaultValue { // a required variable without a value is missing, not empty
			out = append(out, &provisioner.VariableValue{Name: v.Name, Value: v.Value, Sensitive: v.Sensitive})
		}
	}
	return out
}

// missing returns the required variables without a value.
func missing(vs []codersdk.TemplateVersionVariable, chosen map[string]string) []string {
	var out []string
	for _, v := range vs {
		if _, explicit := chosen[v.Name]; v.Required && v.Value == "" && !explicit {
			out = append(out, v.Name)
		}
	}
	return out
}

func (h importer) Complete(ctx context.Context, q *sqlc.Queries, job queue.Job, done *provisionerd.CompletedJob) error {
	in, err := h.s.importOf(ctx, q, job)
	if err != nil {
		return err
	}
	r := done.GetTemplateImport()
	v, err := q.VersionLock(ctx, in.TemplateVersionID)
	if err != nil {
		return err
	}
	if names := missing(v.Variables, given(in.UserVariableValues)); len(names) > 0 {
		return codersdk.Errorf(codersdk.CodeInvalid, "%s", needsVariables(names))
	}
	params, err := parameters(r.RichParameters)
	if err != nil {
		return err
	}
	sets, err := presets(r.Presets)
	if err != nil {
		return err
	}
	if err := q.JobVariablesDelete(ctx, job.ID); err != nil {
		return err
	}
	if err := h.s.checkProviders(externalAuth(r)); err != nil {
		return err
	}
	o := resource.Options{Now: h.s.now(), Preview: true}
	if err := resource.Insert(ctx, q, job.ID, codersdk.WorkspaceTransitionStart, r.StartResources, o); err != nil {
		return err
	}
	if err := resource.Insert(ctx, q, job.ID, codersdk.WorkspaceTransitionStop, r.StopResources, o); err != nil {
		return err
	}
	modules, err := h.s.modules(ctx, q, job, r)
	if err != nil {
		return err
	}
	return q.VersionSetResult(ctx, sqlc.VersionSetResultParams{
		ID: v.ID, Parameters: params, Presets: sets, ExternalAuth: externalAuth(r),
		ModuleFilesID: modules, HasAiTask: r.HasAiTasks, HasExternalAgent: r.HasExternalAgents, Now: h.s.now(),
	})
}

// modules stores the modules that Terraform downloaded, from the result or from an earlier
// upload. Builds work without them, so modules that are too large or violate the rules of
// archives are dropped.
func (s *Service) modules(ctx context.Context, q *sqlc.Queries, job queue.Job, r *provisionerd.CompletedJob_TemplateImport) (*uuid.UUID, error) {
	data, id := r.ModuleFiles, uuid.Nil
	if len(data) == 0 {
		var err error
		if id, err = q.FileByHash(ctx, hex.EncodeToString(r.ModuleFilesHash), job.InitiatorID); err == nil {
			data, err = q.FileData(ctx, id)
		}
		if codersdk.Is(err, codersdk.CodeNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	if len(data) > maxModules {
		s.Log.Info("the modules of a template version are too large to store", "job", job.ID, "bytes", len(data))
		return nil, nil
	}
	if err := archive.Check(data, archive.Modules()); err != nil {
		s.Log.Warn("cannot store the modules of a template version", "job", job.ID, "error", err)
		return nil, nil
	}
	if id != uuid.Nil {
		return &id, nil
	}
	id, _, err := s.keep(ctx, q, job.InitiatorID, data)
	return &id, err
}

// Fail replaces the error of an import that lacks required variables by one that names them.
func (h importer) Fail(ctx context.Context, q *sqlc.Queries, job queue.Job, failed *provisionerd.FailedJob) error {
	in, err := h.s.importOf(ctx, q, job)
	if err != nil {
		return err
	}
	v, err := q.VersionLock(ctx, in.TemplateVersionID)
	if err != nil {
		return err
	}
	if names := missing(v.Variables, given(in.UserVariableValues)); len(names) > 0 {
		failed.Error, failed.ErrorCode = needsVariables(names), string(codersdk.JobErrorCodeRequiredTemplateVariables)
	}
	if err := notifyImportFailed(ctx, q, job, v, failed.Error); err != nil {
		return err
	}
	return q.JobVariablesDelete(ctx, job.ID)
}

// needsVariables returns a message whose start identifies this failure to clients.
func needsVariables(names []string) string {
	return fmt.Sprintf("required template variables need values: %s. Set them with --variable name=value", strings.Join(names, ", "))
}

func (importer) Changed(context.Context, queue.Job) {}
