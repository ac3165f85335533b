package httpapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/search"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
)

// organizationRoutes are organizations and their members.
func (a *API) organizationRoutes() []rest.Route {
	const org, member, role = codersdk.RBACResourceOrganization, codersdk.RBACResourceOrganizationMember, codersdk.RBACResourceAssignOrgRole
	return []rest.Route{
		{Method: "GET", Path: "/organizations", Summary: "List organizations",
			Query:  rest.Paged(),
			Action: codersdk.RBACActionRead, Resource: org, Out: []codersdk.Organization{}, Handler: a.getOrganizations},
		{Method: "POST", Path: "/organizations", Summary: "Create an organization",
			Action: codersdk.RBACActionCreate, Resource: org, In: codersdk.CreateOrganizationRequest{}, Out: codersdk.Organization{},
			Status: 201, Handler: a.postOrganization},
		{Method: "GET", Path: "/organizations/{organization}", Summary: "Get an organization",
			Action: codersdk.RBACActionRead, Resource: org, Out: codersdk.Organization{}, Handler: a.getOrganization},
		{Method: "PATCH", Path: "/organizations/{organization}", Summary: "Update an organization",
			Action: codersdk.RBACActionUpdate, Resource: org, In: codersdk.UpdateOrganizationRequest{}, Out: codersdk.Organization{},
			Handler: a.patchOrganization},
		{Method: "DELETE", Path: "/organizations/{organization}", Summary: "Delete an organization",
			Action: codersdk.RBACActionDelete, Resource: org, Out: codersdk.Response{}, Handler: a.deleteOrganization},
		{Method: "GET", Path: "/organizations/{organization}/members", Summary: "List members",
			Query:  rest.Paged(rest.Searched("Part of a username or email, or user_id:.")),
			Action: codersdk.RBACActionRead, Resource: member, Out: []codersdk.OrganizationMemberWithUserData{}, Handler: a.getMembers},
		{Method: "GET", Path: "/organizations/{organization}/paginated-members", Summary: "List members with their total count",
			Query:  rest.Paged(rest.Searched("Part of a username or email, or user_id:.")),
			Action: codersdk.RBACActionRead, Resource: member, Out: codersdk.PaginatedMembersResponse{}, Handler: a.getMembersPage},
		{Method: "GET", Path: "/organizations/{organization}/members/{user}", Summary: "Get a member",
			Action: codersdk.RBACActionRead, Resource: member, Out: codersdk.OrganizationMemberWithUserData{}, Handler: a.getMember},
		{Method: "POST", Path: "/organizations/{organization}/members/{user}", Summary: "Add a member",
			Action: codersdk.RBACActionCreate, Resource: member, Out: codersdk.OrganizationMember{}, Handler: a.postMember},
		{Method: "DELETE", Path: "/organizations/{organization}/members/{user}", Summary: "Remove a member",
			Action: codersdk.RBACActionDelete, Resource: member, Status: 204, Handler: a.deleteMember},
		{Method: "PUT", Path: "/organizations/{organization}/members/{user}/roles", Summary: "Replace a member's roles",
			Action: codersdk.RBACActionAssign, Resource: role, In: codersdk.UpdateRoles{}, Out: codersdk.OrganizationMember{},
			Handler: a.putMemberRoles},
	}
}

func (a *API) getOrganizations(w http.ResponseWriter, r *http.Request) error {
	p, err := rest.PageOf(r)
	if err != nil {
		return err
	}
	out, err := a.Identity.Organizations(r.Context(), rest.Actor(r), p)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) postOrganization(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.CreateOrganizationRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Identity.CreateOrganization(r.Context(), rest.Actor(r), req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, out)
}

func (a *API) getOrganization(w http.ResponseWriter, r *http.Request) error {
	out, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) patchOrganization(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.UpdateOrganizationRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Identity.UpdateOrganization(r.Context(), rest.Actor(r), r.PathValue("organization"), req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) deleteOrganization(w http.ResponseWriter, r *http.Request) error {
	if err := a.Identity.DeleteOrganization(r.Context(), rest.Actor(r), r.PathValue("organization")); err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, codersdk.Response{Message: "The organization is deleted"})
}

// members returns the page of members that both list routes reply with.
func (a *API) members(r *http.Request) (codersdk.PaginatedMembersResponse, error) {
	var f identity.MemberSearch
	t, err := search.Parse(r.URL.Query().Get("q"))
	if err != nil {
		return codersdk.PaginatedMembersResponse{}, err
	}
	f.Text, f.UserID = t.FreeText(), t.ID("user_id")
	if err := t.Finish(); err != nil {
		return codersdk.PaginatedMembersResponse{}, err
	}
	if f.Limit, f.Offset, err = rest.Page(r); err != nil {
		return codersdk.PaginatedMembersResponse{}, err
	}
	return a.Identity.Members(r.Context(), rest.Actor(r), r.PathValue("organization"), f)
}

func (a *API) getMembers(w http.ResponseWriter, r *http.Request) error {
	out, err := a.members(r)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out.Members)
}

func (a *API) getMembersPage(w http.ResponseWriter, r *http.Request) error {
	out, err := a.members(r)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) getMember(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Identity.Member(r.Context(), rest.Actor(r), r.PathValue("organization"), r.PathValue("user"))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) postMember(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Identity.AddMember(r.Context(), rest.Actor(r), r.PathValue("organization"), r.PathValue("user"))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) deleteMember(w http.ResponseWriter, r *http.Request) error {
	if err := a.Identity.RemoveMember(r.Context(), rest.Actor(r), r.PathValue("organization"), r.PathValue("user")); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (a *API) putMemberRoles(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.UpdateRoles](r)
	if err != nil {
		return err
	}
	out, err := a.Identity.UpdateMemberRoles(r.Context(), rest.Actor(r), r.PathValue("organization"), r.PathValue("user"), req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}
