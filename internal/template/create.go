package template

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/examples"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/archive"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// importInput is the payload of an import job.
type importInput struct {
	TemplateVersionID  uuid.UUID                `json:"template_version_id"`
	UserVariableValues []codersdk.VariableValue `json:"user_variable_values,omitempty"` // see inInput
}

// nameTries is the number of attempts to find a random name that is not taken.
const nameTries = 8

// CreateTemplateVersion creates a version from an uploaded file or an example and starts its
// import. A version without a template can be used by CreateTemplate. (TPL-02, TPL-03,
// TPL-08, TPL-16)
func (s *Service) CreateTemplateVersion(
	ctx context.Context,
	actor access.Subject,
	organizationID uuid.UUID,
	req codersdk.CreateTemplateVersionRequest,
) (codersdk.TemplateVersion, error) {
	var none codersdk.TemplateVersion
	if err := checkVersion(req); err != nil {
		return none, err
	}
	req.UserVariableValues = lastValues(req.UserVariableValues)
	if err := s.mayCreateVersion(ctx, actor, organizationID, req.TemplateID); err != nil {
		return none, err
	}
	file, err := s.sourceOf(ctx, actor, req)
	if err != nil {
		return none, err
	}
	for try := 1; ; try++ {
		name := req.Name
		if name == "" {
			name = codersdk.RandomName()
		}
		id, err := s.addVersion(ctx, actor, organizationID, file, name, req)
		if req.Name == "" && try < nameTries && postgres.Constraint(err) == "template_versions_name" {
			continue
		}
		if err != nil {
			return none, taken(err, "template_versions_name", "name", "version", name)
		}
		s.Queue.Wake(organizationID)
		return s.TemplateVersion(ctx, access.System(), id)
	}
}

func checkVersion(req codersdk.CreateTemplateVersionRequest) error {
	if req.Name != "" {
		if err := codersdk.CheckVersionName("name", req.Name); err != nil {
			return err
		}
	}
	if req.StorageMethod != "" && req.StorageMethod != codersdk.ProvisionerStorageMethodFile {
		return codersdk.Invalid("storage_method", "%.20q is not supported; use file", req.StorageMethod)
	}
	if req.Provisioner != "terraform" && req.Provisioner != "echo" {
		return codersdk.Invalid("provisioner", "%.20q is not supported; use terraform or echo", req.Provisioner)
	}
	switch {
	case req.FileID == uuid.Nil && req.ExampleID == "":
		return codersdk.Invalid("file_id", "is required: upload the source with POST /files, or set example_id")
	case req.FileID != uuid.Nil && req.ExampleID != "":
		return codersdk.Invalid("example_id", "set either file_id or example_id, not both")
	}
	if err := codersdk.CheckTags("tags", req.Tags); err != nil {
		return err
	}
	if err := checkMessage(req.Message); err != nil {
		return err
	}
	return checkVariables(req.UserVariableValues)
}

// lastValues keeps the last value of a variable that is set more than once.
func lastValues(values []codersdk.VariableValue) []codersdk.VariableValue {
	var out []codersdk.VariableValue
	for _, v := range values {
		same := func(x codersdk.VariableValue) bool { return x.Name == v.Name }
		if i := slices.IndexFunc(out, same); i >= 0 {
			out[i] = v
		} else {
			out = append(out, v)
		}
	}
	return out
}

// checkVariables rejects malformed variables.
func checkVariables(values []codersdk.VariableValue) error {
	for _, v := range values {
		switch {
		case v.Name == "":
			return codersdk.Invalid("user_variable_values", "a variable needs a name")
		case strings.ContainsRune(v.Name+v.Value, 0):
			return codersdk.Invalid("user_variable_values", "the value of variable %q contains a NUL character", v.Name)
		}
	}
	return nil
}

func (s *Service) mayCreateVersion(ctx context.Context, actor access.Subject, organizationID, templateID uuid.UUID) error {
	if templateID == uuid.Nil {
		return actor.Check(codersdk.RBACActionCreate, access.Object{Type: codersdk.RBACResourceTemplate, OrganizationID: organizationID})
	}
	t, err := s.Store.TemplateByID(ctx, templateID)
	if err != nil {
		return err
	}
	if t.Template.OrganizationID != organizationID {
		return codersdk.NotFound()
	}
	return actor.Check(codersdk.RBACActionUpdate, object(t.Template))
}

// sourceOf returns the ID of the version's source file.
func (s *Service) sourceOf(ctx context.Context, actor access.Subject, req codersdk.CreateTemplateVersionRequest) (uuid.UUID, error) {
	if req.ExampleID == "" {
		err := mayReadFile(ctx, s.Store.Queries, actor, req.FileID)
		if codersdk.Is(err, codersdk.CodeNotFound) {
			return uuid.Nil, codersdk.Invalid("file_id", "file not found; upload it first with POST /files")
		}
		return req.FileID, err
	}
	source, ok := examples.Source(req.ExampleID)
	if !ok {
		return uuid.Nil, codersdk.Invalid("example_id", "example %.64q not found; GET /templates/examples lists the examples", req.ExampleID)
	}
	tar, err := archive.PackFS(source, archive.Upload())
	if err != nil {
		return uuid.Nil, err
	}
	id, _, err := s.keep(ctx, s.Store.Queries, actor.UserID, tar)
	return id, err
}

// addVersion inserts the version, its job and the audit entry in one transaction.
func (s *Service) addVersion(
	ctx context.Context,
	actor access.Subject,
	organizationID, file uuid.UUID,
	name string,
	req codersdk.CreateTemplateVersionRequest,
) (uuid.UUID, error) {
	id := uuid.New()
	tags := codersdk.Tags{}
	for k, v := range req.Tags {
		tags[k] = v
	}
	v := sqlc.VersionInsertParams{
		ID: id, OrganizationID: organizationID, JobID: uuid.New(), Name: name, Message: req.Message,
		CreatedBy: actor.UserID, Tags: tags, ExampleID: req.ExampleID, Now: s.now(),
	}
	if req.TemplateID != uuid.Nil {
		v.TemplateID = &req.TemplateID
	}
	return id, s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		err := s.Queue.Add(ctx, q, queue.NewJob{
			ID: v.JobID, OrganizationID: organizationID, InitiatorID: actor.UserID, FileID: file,
			Type: codersdk.ProvisionerJobTypeTemplateVersionImport, Provisioner: req.Provisioner,
			Tags:  codersdk.NormalizeTags(actor.UserID, tags),
			Input: importInput{TemplateVersionID: id, UserVariableValues: s.inInput(req.UserVariableValues)},
		})
		if err != nil {
			return err
		}
		if err := s.putVariables(ctx, q, v.JobID, req.UserVariableValues); err != nil {
			return err
		}
		if err := q.VersionInsert(ctx, v); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionCreate, ResourceType: codersdk.ResourceTypeTemplateVersion, ResourceID: id,
			OrganizationID: organizationID, Target: name,
			Diff: audit.Diff(nil, map[string]any{"name": name, "message": req.Message, "template_id": v.TemplateID, "tags": tags, "example_id": req.ExampleID}),
		})
	})
}

// TemplateExamples lists the starter templates that are included in the server.
func (s *Service) TemplateExamples(ctx context.Context, actor access.Subject) ([]codersdk.TemplateExample, error) {
	if actor.UserID == uuid.Nil && !actor.System {
		return nil, codersdk.NotFound()
	}
	return examples.List()
}
