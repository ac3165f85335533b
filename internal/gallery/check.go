package gallery

import (
	"context"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/parameter"
	"github.com/seed-2a7f8fe7/coder/internal/rule/templatesource"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/inspect"
)

// Bounds of a source that is checked.
const (
	maxFiles = 200
	maxBytes = 1 << 20 // of all files
)

// place is where the form found a problem, at the start of a detail: "main.tf:12: ".
var place = regexp.MustCompile(`^([^\s:]+):(\d+): `)

// Check returns the problems of a source, its blocks, and its form for actor with some
// values filled in. Actor must be allowed to update the template that the request names, or
// to create templates in the organization.
func (s *Service) Check(
	ctx context.Context, actor access.Subject, organizationID uuid.UUID, req templatesource.CheckTemplateRequest,
) (templatesource.CheckedTemplate, error) {
	out := templatesource.CheckedTemplate{
		Diagnostics: []templatesource.TemplateDiagnostic{}, Blocks: []templatesource.TemplateBlock{}, Parameters: []codersdk.PreviewParameter{},
	}
	if err := s.mayEdit(ctx, actor, organizationID, req.TemplateID); err != nil {
		return out, err
	}
	size := 0
	for _, f := range req.Files {
		size += len(f.Content) + len(f.Path)
	}
	if len(req.Files) > maxFiles || size > maxBytes {
		return out, codersdk.Invalid("files", "at most %d files of together at most 1 MiB are checked", maxFiles)
	}
	source := inspect.Parse(req.Files)
	out.Diagnostics = append(out.Diagnostics, source.Check()...)
	out.Blocks = append(out.Blocks, source.Blocks()...)
	if !hasMain(req.Files) {
		out.Diagnostics = append(out.Diagnostics, templatesource.TemplateDiagnostic{
			Severity: codersdk.DiagnosticSeverityError, Summary: "No Terraform file",
			Detail: "A template needs at least one file that ends with .tf in its root.",
		})
	}
	form, diags, err := s.Forms.PreviewSource(ctx, s.Store.Queries, parameter.Source{
		OrganizationID: organizationID, OwnerID: actor.UserID, Files: req.Files, Variables: source.Variables(), Values: req.Inputs,
	})
	if err != nil {
		return out, err
	}
	out.Parameters = append(out.Parameters, form...)
	for _, d := range diags {
		out.Diagnostics = append(out.Diagnostics, locate(d))
	}
	return out, nil
}

// mayEdit checks that actor can update a template, or create one if id is nil.
func (s *Service) mayEdit(ctx context.Context, actor access.Subject, organizationID uuid.UUID, id *uuid.UUID) error {
	if id == nil {
		return actor.Check(codersdk.RBACActionCreate, access.Object{Type: codersdk.RBACResourceTemplate, OrganizationID: organizationID})
	}
	r, err := s.Store.TemplateByID(ctx, *id)
	if err != nil {
		return err
	}
	t := r.Template
	if t.OrganizationID != organizationID {
		return codersdk.Invalid("template_id", "template not found in this organization")
	}
	return actor.Check(codersdk.RBACActionUpdate, object(t))
}

// hasMain reports whether a source has a Terraform file at its root.
func hasMain(files []templatesource.TemplateFile) bool {
	for _, f := range files {
		name := path.Clean(f.Path)
		if !strings.Contains(name, "/") && templatesource.IsTerraform(name) {
			return true
		}
	}
	return false
}

// locate returns a problem of the form with its place in the source.
func locate(d codersdk.FriendlyDiagnostic) templatesource.TemplateDiagnostic {
	out := templatesource.TemplateDiagnostic{Severity: d.Severity, Summary: d.Summary, Detail: d.Detail}
	if m := place.FindStringSubmatch(d.Detail); m != nil {
		line, err := strconv.Atoi(m[2])
		if err == nil {
			out.Path, out.Line, out.Column, out.EndLine, out.EndColumn = m[1], line, 1, line, 1
			out.Detail = strings.TrimPrefix(d.Detail, m[0])
		}
	}
	return out
}

// Format returns a Terraform file in the format of "terraform fmt". The error is
// codersdk.CodeInvalid for a file with syntax errors.
func (s *Service) Format(_ context.Context, actor access.Subject, req templatesource.FormatTemplateRequest) (templatesource.FormatTemplateResponse, error) {
	if err := signedIn(actor); err != nil {
		return templatesource.FormatTemplateResponse{}, err
	}
	if len(req.Content) > maxBytes {
		return templatesource.FormatTemplateResponse{}, codersdk.Invalid("content", "a file of more than 1 MiB is not formatted")
	}
	text, ok := inspect.Format(req.Content)
	if !ok {
		return templatesource.FormatTemplateResponse{}, codersdk.Invalid("content", "the file has syntax errors; correct them, then format it")
	}
	return templatesource.FormatTemplateResponse{Content: text}, nil
}
