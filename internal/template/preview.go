package template

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
)

// maxInputs is the maximum number of values of a form.
const maxInputs = 500

// PreviewParameters returns the form of a version's parameters with some values filled in:
// the parameters that exist for these values, with their values, options and problems. The
// owner of the workspace must be a member of the version's organization. (TPL-10)
func (s *Service) PreviewParameters(
	ctx context.Context,
	actor access.Subject,
	id uuid.UUID,
	req codersdk.DynamicParametersRequest,
) (codersdk.DynamicParametersResponse, error) {
	out := codersdk.DynamicParametersResponse{ID: req.ID, Diagnostics: []codersdk.FriendlyDiagnostic{}, Parameters: []codersdk.PreviewParameter{}}
	if len(req.Inputs) > maxInputs {
		return out, codersdk.Invalid("inputs", "at most %d values are allowed", maxInputs)
	}
	r, err := s.imported(ctx, actor, id)
	if err != nil {
		return out, err
	}
	v, owner := r.TemplateVersion, req.OwnerID
	if owner == uuid.Nil {
		owner = actor.UserID
	}
	if owner != actor.UserID { // the form depends on the owner's groups and roles
		mine := access.Object{Type: codersdk.RBACResourceWorkspace, OrganizationID: v.OrganizationID, OwnerID: owner}
		if !actor.Can(codersdk.RBACActionCreate, mine) {
			return out, codersdk.Errorf(codersdk.CodeForbidden, "You do not have permission to create workspaces for other users here")
		}
		u, err := s.Store.ParameterOwner(ctx, v.OrganizationID, owner)
		if codersdk.Is(err, codersdk.CodeNotFound) || err == nil && !u.IsMember {
			return out, codersdk.Invalid("owner_id", "user not found in the template's organization")
		}
		if err != nil {
			return out, err
		}
	}
	form, diags, err := s.forms.Preview(ctx, s.Store.Queries, v, owner, req.Inputs)
	if err != nil {
		return out, err
	}
	out.Parameters, out.Diagnostics = append(out.Parameters, form...), append(out.Diagnostics, diags...)
	return out, nil
}
