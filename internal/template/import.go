package template

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/archive"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/resource"
)

// Bounds of what an import may bring.
const (
	maxReadme  = 1 << 20
	maxModules = 20 << 20 // larger ones are downloaded again by each build (TPL-21)
)

// importer is the queue's Handler of template_version_import jobs.
type importer struct{ s *Service }

// importOf reads what an import job is about.
func importOf(job queue.Job) (in importInput, err error) {
	err = job.ReadInput(&in)
	return in, err
}

func (h importer) Prepare(ctx context.Context, job queue.Job) (*provisionerd.AcquiredJob, error) {
	in, err := importOf(job)
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

// plan gives what imports and dry runs have in common: the source, and what a
// plan is told of the workspace it is not for.
func (s *Service) plan(ctx context.Context, job queue.Job, versionID uuid.UUID) (*provisionerd.AcquiredJob, *provisioner.Metadata, sqlc.VersionTemplateRow, error) {
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

// Update stores what reading the source told and answers the values of the
// variables. A variable without one is not an error here: Fail names it, and
// by then people can see which variables there are.
func (h importer) Update(ctx context.Context, q *sqlc.Queries, job queue.Job, req *provisionerd.UpdateJobRequest) (*provisionerd.UpdateJobResponse, error) {
	in, err := importOf(job)
	if err != nil {
		return nil, err
	}
	v, err := q.VersionLock(ctx, in.TemplateVersionID)
	if err != nil {
		return nil, err
	}
	var before []coder.TemplateVersionVariable
	if v.TemplateID != nil {
		if before, err = q.VersionVariables(ctx, *v.TemplateID); err != nil && !coder.Is(err, coder.CodeNotFound) {
			return nil, err
		}
	}
	learned := sqlc.VersionSetLearnedParams{
		ID: v.ID, Readme: v.Readme, Variables: v.Variables, WorkspaceTags: v.WorkspaceTags, Now: h.s.now(),
	}
	if len(req.Readme) > 0 {
		learned.Readme = text(req.Readme, maxReadme)
	}
	if len(req.TemplateVariables) > 0 {
		learned.Variables = variables(req.TemplateVariables, in.UserVariableValues, before)
	}
	if len(req.WorkspaceTags) > 0 {
		learned.WorkspaceTags = req.WorkspaceTags
	}
	if err := q.VersionSetLearned(ctx, learned); err != nil {
		return nil, err
	}
	return &provisionerd.UpdateJobResponse{VariableValues: values(learned.Variables, given(in.UserVariableValues))}, nil
}

// given gives values by name.
func given(vs []coder.VariableValue) map[string]string {
	out := make(map[string]string, len(vs))
	for _, v := range vs {
		out[v.Name] = v.Value
	}
	return out
}

// variables gives each variable its value: what the version was made with,
// else what somebody once set for the template, else the default. (TPL-08)
func variables(found []*provisioner.TemplateVariable, user []coder.VariableValue, before []coder.TemplateVersionVariable) []coder.TemplateVersionVariable {
	stored := map[string]string{}
	for _, b := range before {
		if b.Value != b.DefaultValue {
			stored[b.Name] = b.Value
		}
	}
	chosen := given(user)
	out := make([]coder.TemplateVersionVariable, 0, len(found))
	for _, f := range found {
		v := coder.TemplateVersionVariable{
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

// values gives what Terraform must be told: what differs from the defaults, and
// what was chosen for this version though it be the same.
func values(vs []coder.TemplateVersionVariable, chosen map[string]string) []*provisioner.VariableValue {
	var out []*provisioner.VariableValue
	for _, v := range vs {
		_, explicit := chosen[v.Name]
		if explicit || v.Value != v.DefaultValue { // a required one without a value is missing, not empty
			out = append(out, &provisioner.VariableValue{Name: v.Name, Value: v.Value, Sensitive: v.Sensitive})
		}
	}
	return out
}

// missing names the required variables that nobody gave a value.
func missing(vs []coder.TemplateVersionVariable, chosen map[string]string) []string {
	var out []string
	for _, v := range vs {
		if _, explicit := chosen[v.Name]; v.Required && v.Value == "" && !explicit {
			out = append(out, v.Name)
		}
	}
	return out
}

func (h importer) Complete(ctx context.Context, q *sqlc.Queries, job queue.Job, done *provisionerd.CompletedJob) error {
	in, err := importOf(job)
	if err != nil {
		return err
	}
	r := done.GetTemplateImport()
	v, err := q.VersionLock(ctx, in.TemplateVersionID)
	if err != nil {
		return err
	}
	if names := missing(v.Variables, given(in.UserVariableValues)); len(names) > 0 {
		return coder.Errorf(coder.CodeInvalid, "%s", needsVariables(names))
	}
	params, err := parameters(r.RichParameters)
	if err != nil {
		return err
	}
	sets, err := presets(r.Presets)
	if err != nil {
		return err
	}
	o := resource.Options{Now: h.s.now(), Preview: true}
	if err := resource.Insert(ctx, q, job.ID, coder.WorkspaceTransitionStart, r.StartResources, o); err != nil {
		return err
	}
	if err := resource.Insert(ctx, q, job.ID, coder.WorkspaceTransitionStop, r.StopResources, o); err != nil {
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

// modules keeps the modules that Terraform downloaded, when they came with the
// result or were uploaded before it. Builds can do without them, so those that
// are too large or break the rules of archives are left out.
func (s *Service) modules(ctx context.Context, q *sqlc.Queries, job queue.Job, r *provisionerd.CompletedJob_TemplateImport) (*uuid.UUID, error) {
	data, id := r.ModuleFiles, uuid.Nil
	if len(data) == 0 {
		var err error
		if id, err = q.FileByHash(ctx, hex.EncodeToString(r.ModuleFilesHash), job.InitiatorID); err == nil {
			data, err = q.FileData(ctx, id)
		}
		if coder.Is(err, coder.CodeNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	if len(data) > maxModules {
		s.Log.Info("the modules of a template version are too large to keep", "job", job.ID, "bytes", len(data))
		return nil, nil
	}
	if err := archive.Check(data, archive.Modules()); err != nil {
		s.Log.Warn("the modules of a template version are not kept", "job", job.ID, "error", err)
		return nil, nil
	}
	if id != uuid.Nil {
		return &id, nil
	}
	id, _, err := s.keep(ctx, q, job.InitiatorID, data)
	return &id, err
}

// Fail gives the failure of an import that lacks variables its real name,
// whatever the tool made of it.
func (h importer) Fail(ctx context.Context, q *sqlc.Queries, job queue.Job, failed *provisionerd.FailedJob) error {
	in, err := importOf(job)
	if err != nil {
		return err
	}
	v, err := q.VersionLock(ctx, in.TemplateVersionID)
	if err != nil {
		return err
	}
	if names := missing(v.Variables, given(in.UserVariableValues)); len(names) > 0 {
		failed.Error, failed.ErrorCode = needsVariables(names), string(coder.JobErrorCodeRequiredTemplateVariables)
	}
	return nil
}

// needsVariables begins with the words by which clients know this failure.
func needsVariables(names []string) string {
	return fmt.Sprintf("required template variables need values: %s. Give them with --variable name=value", strings.Join(names, ", "))
}

func (importer) Changed(context.Context, queue.Job) {}
