package httpapi

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// roleRoutes are the roles of organizations, and their workspace sharing
// setting.
func (a *API) roleRoutes() []rest.Route {
	if a.Organizations == nil {
		return nil
	}
	const role, org = codersdk.RBACResourceAssignOrgRole, codersdk.RBACResourceOrganization
	return []rest.Route{
		{Method: "GET", Path: "/organizations/{organization}/members/roles", Summary: "List the roles of an organization",
			Action: codersdk.RBACActionRead, Resource: role, Out: []codersdk.AssignableRoles{}, Handler: a.getMemberRoles},
		{Method: "POST", Path: "/organizations/{organization}/members/roles", Summary: "Create a custom role",
			Action: codersdk.RBACActionCreate, Resource: role, In: codersdk.CustomRoleRequest{}, Out: codersdk.Role{},
			Handler: a.postMemberRole},
		{Method: "PUT", Path: "/organizations/{organization}/members/roles", Summary: "Update a custom role",
			Action: codersdk.RBACActionUpdate, Resource: role, In: codersdk.CustomRoleRequest{}, Out: codersdk.Role{},
			Handler: a.putMemberRole},
		{Method: "DELETE", Path: "/organizations/{organization}/members/roles/{roleName}", Summary: "Delete a custom role",
			Action: codersdk.RBACActionDelete, Resource: role, Status: 204, Handler: a.deleteMemberRole},
		{Method: "GET", Path: "/organizations/{organization}/settings/workspace-sharing", Summary: "Get the workspace sharing setting",
			Action: codersdk.RBACActionRead, Resource: org, Out: codersdk.WorkspaceSharingSettings{}, Handler: a.getSharing},
		{Method: "PATCH", Path: "/organizations/{organization}/settings/workspace-sharing",
			Summary: "Update the workspace sharing setting",
			Action:  codersdk.RBACActionUpdate, Resource: org, In: codersdk.WorkspaceSharingSettings{},
			Out: codersdk.WorkspaceSharingSettings{}, Handler: a.patchSharing},
	}
}

// inOrganization replies with the result of a use case for the organization in
// the path.
func inOrganization[Out any](a *API, w http.ResponseWriter, r *http.Request, get func(context.Context, access.Subject, uuid.UUID) (Out, error)) error {
	o, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	out, err := get(r.Context(), rest.Actor(r), o.ID)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

// changeInOrganization decodes the body and passes it to a use case for the
// organization in the path.
func changeInOrganization[In, Out any](a *API, w http.ResponseWriter, r *http.Request,
	put func(context.Context, access.Subject, uuid.UUID, In) (Out, error),
) error {
	req, err := rest.Decode[In](r)
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
	o, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	if err := a.Organizations.DeleteRole(r.Context(), rest.Actor(r), o.ID, r.PathValue("roleName")); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (a *API) getSharing(w http.ResponseWriter, r *http.Request) error {
	return inOrganization(a, w, r, a.Organizations.Sharing)
}

func (a *API) patchSharing(w http.ResponseWriter, r *http.Request) error {
	return changeInOrganization(a, w, r, a.Organizations.UpdateSharing)
}
