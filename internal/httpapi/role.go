package httpapi

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
)

// roleRoutes are the roles of organizations, and whether workspaces of one may
// be shared.
func (a *API) roleRoutes() []Route {
	if a.Organizations == nil {
		return nil
	}
	const role, org = coder.RBACResourceAssignOrgRole, coder.RBACResourceOrganization
	return []Route{
		{Method: "GET", Path: "/organizations/{organization}/members/roles", Summary: "The roles in an organization", Action: coder.RBACActionRead, Resource: role, Out: []coder.AssignableRoles{}, Handler: a.getMemberRoles},
		{Method: "POST", Path: "/organizations/{organization}/members/roles", Summary: "Make a role of an organization's own", Action: coder.RBACActionCreate, Resource: role, In: coder.CustomRoleRequest{}, Out: coder.Role{}, Handler: a.postMemberRole},
		{Method: "PUT", Path: "/organizations/{organization}/members/roles", Summary: "Change a role of an organization's own", Action: coder.RBACActionUpdate, Resource: role, In: coder.CustomRoleRequest{}, Out: coder.Role{}, Handler: a.putMemberRole},
		{Method: "DELETE", Path: "/organizations/{organization}/members/roles/{roleName}", Summary: "Delete a role of an organization's own", Action: coder.RBACActionDelete, Resource: role, Out: coder.Role{}, Handler: a.deleteMemberRole},
		{Method: "GET", Path: "/organizations/{organization}/settings/workspace-sharing", Summary: "Whether workspaces may be shared", Action: coder.RBACActionRead, Resource: org, Out: coder.WorkspaceSharingSettings{}, Handler: a.getSharing},
		{Method: "PATCH", Path: "/organizations/{organization}/settings/workspace-sharing", Summary: "Say whether workspaces may be shared", Action: coder.RBACActionUpdate, Resource: org, In: coder.WorkspaceSharingSettings{}, Out: coder.WorkspaceSharingSettings{}, Handler: a.patchSharing},
	}
}

// inOrganization answers what a use case gives for the organization in the path.
func inOrganization[Out any](a *API, w http.ResponseWriter, r *http.Request, get func(context.Context, access.Subject, uuid.UUID) (Out, error)) error {
	o, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	out, err := get(r.Context(), a.actor(r), o.ID)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

// changeInOrganization decodes a body and hands it to a use case for the
// organization in the path.
func changeInOrganization[In, Out any](a *API, w http.ResponseWriter, r *http.Request, put func(context.Context, access.Subject, uuid.UUID, In) (Out, error)) error {
	req, err := decode[In](r)
	if err != nil {
		return err
	}
	return inOrganization(a, w, r, func(ctx context.Context, actor access.Subject, id uuid.UUID) (Out, error) {
		return put(ctx, actor, id, req)
	})
}

func (a *API) getMemberRoles(w http.ResponseWriter, r *http.Request) error {
	return inOrganization(a, w, r, a.Organizations.Roles)
}

func (a *API) postMemberRole(w http.ResponseWriter, r *http.Request) error {
	return changeInOrganization(a, w, r, a.Organizations.CreateRole)
}

func (a *API) putMemberRole(w http.ResponseWriter, r *http.Request) error {
	return changeInOrganization(a, w, r, a.Organizations.UpdateRole)
}

func (a *API) deleteMemberRole(w http.ResponseWriter, r *http.Request) error {
	return inOrganization(a, w, r, func(ctx context.Context, actor access.Subject, id uuid.UUID) (coder.Role, error) {
		return a.Organizations.DeleteRole(ctx, actor, id, r.PathValue("roleName"))
	})
}

func (a *API) getSharing(w http.ResponseWriter, r *http.Request) error {
	return inOrganization(a, w, r, a.Organizations.Sharing)
}

func (a *API) patchSharing(w http.ResponseWriter, r *http.Request) error {
	return changeInOrganization(a, w, r, a.Organizations.UpdateSharing)
}
