package template

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
)

// maxInputs bounds the values of a form.
const maxInputs = 500

// PreviewParameters gives the form of a version's parameters with some values
// filled in: every parameter that there is with them, with its value, what it
// may be, and what is wrong with it. Whoever is to own the workspace must be a
// member of the version's organization. (TPL-10)
func (s *Service) PreviewParameters(ctx context.Context, actor access.Subject, id uuid.UUID, req coder.DynamicParametersRequest) (coder.DynamicParametersResponse, error) {
	out := coder.DynamicParametersResponse{ID: req.ID, Diagnostics: []coder.FriendlyDiagnostic{}, Parameters: []coder.PreviewParameter{}}
	if len(req.Inputs) > maxInputs {
		return out, coder.Invalid("inputs", "at most %d values", maxInputs)
	}
	r, err := s.imported(ctx, actor, id)
	if err != nil {
		return out, err
	}
	v, owner := r.TemplateVersion, req.OwnerID
	if owner == uuid.Nil {
		owner = actor.UserID
	}
	if owner != actor.UserID { // a form tells of its owner's groups and roles
		mine := access.Object{Type: coder.RBACResourceWorkspace, OrganizationID: v.OrganizationID, OwnerID: owner}
		if !actor.Can(coder.RBACActionCreate, mine) {
			return out, coder.Errorf(coder.CodeForbidden, "You may not make workspaces for somebody else here")
		}
		u, err := s.Store.ParameterOwner(ctx, v.OrganizationID, owner)
		if coder.Is(err, coder.CodeNotFound) || err == nil && !u.IsMember {
			return out, coder.Invalid("owner_id", "there is no such member of the template's organization")
		}
		if err != nil {
			return out, err
		}
	}
	form, diags, err := s.forms.Of(ctx, s.Store.Queries, v, owner, req.Inputs)
	if err != nil {
		return out, err
	}
	known := map[string]bool{}
	for _, p := range v.Parameters {
		known[p.Name] = true
	}
	for i, p := range form {
		known[p.Name] = true
		var input *string
		if v, ok := req.Inputs[p.Name]; ok {
			input = &v
		}
		view := p.Preview(i, input)
		view.Styling = p.Styling
		out.Parameters = append(out.Parameters, view)
	}
	out.Diagnostics = append(out.Diagnostics, diags...)
	for _, name := range slices.Sorted(maps.Keys(req.Inputs)) {
		if !known[name] {
			out.Diagnostics = append(out.Diagnostics, coder.FriendlyDiagnostic{
				Severity: coder.DiagnosticSeverityWarning, Summary: "Unknown parameter", Detail: fmt.Sprintf("This version of the template has no parameter %.100q.", name),
			})
		}
	}
	return out, nil
}
