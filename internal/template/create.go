package template

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/examples"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/archive"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// importInput is what an import job carries.
type importInput struct {
	TemplateVersionID  uuid.UUID             `json:"template_version_id"`
	UserVariableValues []coder.VariableValue `json:"user_variable_values,omitempty"`
}

// nameTries is how often a random name may turn out to be taken.
const nameTries = 8

// CreateTemplateVersion makes a version from an uploaded file or an example
// and starts its import. Without a template it waits for CreateTemplate.
// (TPL-02, TPL-03, TPL-08, TPL-16)
func (s *Service) CreateTemplateVersion(ctx context.Context, actor access.Subject, organizationID uuid.UUID, req coder.CreateTemplateVersionRequest) (coder.TemplateVersion, error) {
	var none coder.TemplateVersion
	if err := checkVersion(req); err != nil {
		return none, err
	}
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
			name = coder.RandomName()
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

func checkVersion(req coder.CreateTemplateVersionRequest) error {
	if req.Name != "" {
		if err := coder.CheckVersionName("name", req.Name); err != nil {
			return err
		}
	}
	if req.StorageMethod != "" && req.StorageMethod != coder.ProvisionerStorageMethodFile {
		return coder.Invalid("storage_method", "%.20q is not file", req.StorageMethod)
	}
	if req.Provisioner != "terraform" && req.Provisioner != "echo" {
		return coder.Invalid("provisioner", "%.20q is neither terraform nor echo", req.Provisioner)
	}
	switch {
	case req.FileID == uuid.Nil && req.ExampleID == "":
		return coder.Invalid("file_id", "upload the source with POST /files and give its id, or give an example_id")
	case req.FileID != uuid.Nil && req.ExampleID != "":
		return coder.Invalid("example_id", "give a file_id or an example_id, not both")
	}
	if err := coder.CheckTags("tags", req.Tags); err != nil {
		return err
	}
	if err := checkMessage(req.Message); err != nil {
		return err
	}
	return checkVariables(req.UserVariableValues)
}

func checkVariables(values []coder.VariableValue) error {
	seen := map[string]bool{}
	for _, v := range values {
		switch {
		case v.Name == "":
			return coder.Invalid("user_variable_values", "a variable needs a name")
		case seen[v.Name]:
			return coder.Invalid("user_variable_values", "the variable %q is given more than once", v.Name)
		case strings.ContainsRune(v.Name+v.Value, 0):
			return coder.Invalid("user_variable_values", "the variable %q holds a NUL character", v.Name)
		}
		seen[v.Name] = true
	}
	return nil
}

func (s *Service) mayCreateVersion(ctx context.Context, actor access.Subject, organizationID, templateID uuid.UUID) error {
	if templateID == uuid.Nil {
		return actor.Check(coder.RBACActionCreate, access.Object{Type: coder.RBACResourceTemplate, OrganizationID: organizationID})
	}
	t, err := s.Store.TemplateByID(ctx, templateID)
	if err != nil {
		return err
	}
	if t.Template.OrganizationID != organizationID {
		return coder.NotFound()
	}
	return actor.Check(coder.RBACActionUpdate, object(t.Template))
}

// sourceOf gives the id of the file that the version is made from.
func (s *Service) sourceOf(ctx context.Context, actor access.Subject, req coder.CreateTemplateVersionRequest) (uuid.UUID, error) {
	if req.ExampleID == "" {
		err := mayReadFile(ctx, s.Store.Queries, actor, req.FileID)
		if coder.Is(err, coder.CodeNotFound) {
			return uuid.Nil, coder.Invalid("file_id", "there is no such file; upload it first with POST /files")
		}
		return req.FileID, err
	}
	source, ok := examples.Source(req.ExampleID)
	if !ok {
		return uuid.Nil, coder.Invalid("example_id", "there is no example %.64q; GET /templates/examples lists them", req.ExampleID)
	}
	tar, err := archive.PackFS(source, archive.Upload())
	if err != nil {
		return uuid.Nil, err
	}
	id, _, err := s.keep(ctx, s.Store.Queries, actor.UserID, tar)
	return id, err
}

// addVersion adds the version, its job and their record in one transaction.
func (s *Service) addVersion(ctx context.Context, actor access.Subject, organizationID, file uuid.UUID, name string, req coder.CreateTemplateVersionRequest) (uuid.UUID, error) {
	id := uuid.New()
	tags := coder.Tags{}
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
			Type: coder.ProvisionerJobTypeTemplateVersionImport, Provisioner: req.Provisioner,
			Tags:  coder.NormalizeTags(actor.UserID, tags),
			Input: importInput{TemplateVersionID: id, UserVariableValues: req.UserVariableValues},
		})
		if err != nil {
			return err
		}
		if err := q.VersionInsert(ctx, v); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: coder.AuditActionCreate, ResourceType: coder.ResourceTypeTemplateVersion, ResourceID: id,
			OrganizationID: organizationID, Target: name,
			Diff: audit.Diff(nil, map[string]any{"name": name, "message": req.Message, "template_id": v.TemplateID, "tags": tags, "example_id": req.ExampleID}),
		})
	})
}

// TemplateExamples lists the starter templates that come with the server.
func (s *Service) TemplateExamples(ctx context.Context, actor access.Subject) ([]coder.TemplateExample, error) {
	if actor.UserID == uuid.Nil && !actor.System {
		return nil, coder.NotFound()
	}
	return examples.List()
}
