package parameter

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/rule/parametervalue"
	"github.com/seed-2a7f8fe7/coder/internal/rule/templatesource"
	"github.com/seed-2a7f8fe7/coder/internal/terraform"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/form"
)

// Source is the source of a template that was not imported, and what its form depends on.
type Source struct {
	OrganizationID uuid.UUID
	OwnerID        uuid.UUID // of the workspace
	Files          []templatesource.TemplateFile
	Variables      []codersdk.TemplateVersionVariable
	Values         map[string]string // by parameter name
}

// PreviewSource returns the form of a source, and its problems. Parameters of modules of other
// places are missing, and attributes that only Terraform can evaluate are empty.
func (f *Forms) PreviewSource(ctx context.Context, q *sqlc.Queries, s Source) ([]codersdk.PreviewParameter, []codersdk.FriendlyDiagnostic, error) {
	read := form.ReadFiles(s.Files)
	owner, err := ownerOf(ctx, q, s.OrganizationID, s.OwnerID)
	if err != nil {
		return nil, nil, err
	}
	found, diags := read.Parameters(nil, terraform.FormInput{Owner: owner, Variables: s.Variables, Values: s.Values})
	out := make([]codersdk.PreviewParameter, 0, len(found))
	for i, p := range found {
		var input *string
		if value, ok := s.Values[p.Name]; ok {
			input = &value
		}
		view := parametervalue.Preview(p.TemplateVersionParameter, i, input)
		view.Styling = p.Styling
		out = append(out, view)
	}
	return out, diags, nil
}
