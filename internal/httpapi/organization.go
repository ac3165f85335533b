package httpapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
)

// organizationRoutes are organizations and their members.
func (a *API) organizationRoutes() []Route {
	const org, member, role = coder.RBACResourceOrganization, coder.RBACResourceOrganizationMember, coder.RBACResourceAssignOrgRole
	return []Route{
		{Method: "GET", Path: "/organizations", Summary: "List organizations", Query: paged(), Action: coder.RBACActionRead, Resource: org, Out: []coder.Organization{}, Handler: a.getOrganizations},
		{Method: "POST", Path: "/organizations", Summary: "Make an organization", Action: coder.RBACActionCreate, Resource: org, In: coder.CreateOrganizationRequest{}, Out: coder.Organization{}, Status: 201, Handler: a.postOrganization},
		{Method: "GET", Path: "/organizations/{organization}", Summary: "One organization", Action: coder.RBACActionRead, Resource: org, Out: coder.Organization{}, Handler: a.getOrganization},
		{Method: "PATCH", Path: "/organizations/{organization}", Summary: "Change an organization", Action: coder.RBACActionUpdate, Resource: org, In: coder.UpdateOrganizationRequest{}, Out: coder.Organization{}, Handler: a.patchOrganization},
		{Method: "DELETE", Path: "/organizations/{organization}", Summary: "Delete an organization", Action: coder.RBACActionDelete, Resource: org, Out: coder.Response{}, Handler: a.deleteOrganization},
		{Method: "GET", Path: "/organizations/{organization}/members", Summary: "List members", Query: paged(searched("Part of a name or address, and user_id:.")), Action: coder.RBACActionRead, Resource: member, Out: []coder.OrganizationMemberWithUserData{}, Handler: a.getMembers},
		{Method: "GET", Path: "/organizations/{organization}/paginated-members", Summary: "A page of members", Query: paged(searched("Part of a name or address, and user_id:.")), Action: coder.RBACActionRead, Resource: member, Out: coder.PaginatedMembersResponse{}, Handler: a.getMembersPage},
		{Method: "GET", Path: "/organizations/{organization}/members/{user}", Summary: "One member", Action: coder.RBACActionRead, Resource: member, Out: coder.OrganizationMemberWithUserData{}, Handler: a.getMember},
		{Method: "POST", Path: "/organizations/{organization}/members/{user}", Summary: "Add a member", Action: coder.RBACActionCreate, Resource: member, Out: coder.OrganizationMember{}, Handler: a.postMember},
		{Method: "DELETE", Path: "/organizations/{organization}/members/{user}", Summary: "Remove a member", Action: coder.RBACActionDelete, Resource: member, Status: 204, Handler: a.deleteMember},
		{Method: "PUT", Path: "/organizations/{organization}/members/{user}/roles", Summary: "Replace a member's roles", Action: coder.RBACActionAssign, Resource: role, In: coder.UpdateRoles{}, Out: coder.OrganizationMember{}, Handler: a.putMemberRoles},
	}
}

func (a *API) getOrganizations(w http.ResponseWriter, r *http.Request) error {
	p, err := pageOf(r)
	if err != nil {
		return err
	}
	out, err := a.Identity.Organizations(r.Context(), a.actor(r), p)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) postOrganization(w http.ResponseWriter, r *http.Request) error {
	req, err := decode[coder.CreateOrganizationRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Identity.CreateOrganization(r.Context(), a.actor(r), req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, out)
}

func (a *API) getOrganization(w http.ResponseWriter, r *http.Request) error {
	out, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) patchOrganization(w http.ResponseWriter, r *http.Request) error {
	req, err := decode[coder.UpdateOrganizationRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Identity.UpdateOrganization(r.Context(), a.actor(r), r.PathValue("organization"), req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) deleteOrganization(w http.ResponseWriter, r *http.Request) error {
	if err := a.Identity.DeleteOrganization(r.Context(), a.actor(r), r.PathValue("organization")); err != nil {
		return err
	}
	return reply(w, http.StatusOK, coder.Response{Message: "The organization is deleted"})
}

// members answers both lists of members.
func (a *API) members(r *http.Request) (coder.PaginatedMembersResponse, error) {
	var f identity.MemberSearch
	t, err := search(r.URL.Query().Get("q"))
	if err != nil {
		return coder.PaginatedMembersResponse{}, err
	}
	f.Text, f.UserID = t.word(), t.id("user_id")
	if err := t.done(); err != nil {
		return coder.PaginatedMembersResponse{}, err
	}
	if f.Limit, f.Offset, err = page(r); err != nil {
		return coder.PaginatedMembersResponse{}, err
	}
	return a.Identity.Members(r.Context(), a.actor(r), r.PathValue("organization"), f)
}

func (a *API) getMembers(w http.ResponseWriter, r *http.Request) error {
	out, err := a.members(r)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out.Members)
}

func (a *API) getMembersPage(w http.ResponseWriter, r *http.Request) error {
	out, err := a.members(r)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) getMember(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Identity.Member(r.Context(), a.actor(r), r.PathValue("organization"), r.PathValue("user"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) postMember(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Identity.AddMember(r.Context(), a.actor(r), r.PathValue("organization"), r.PathValue("user"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) deleteMember(w http.ResponseWriter, r *http.Request) error {
	if err := a.Identity.RemoveMember(r.Context(), a.actor(r), r.PathValue("organization"), r.PathValue("user")); err != nil {
		return err
	}
	return done(w)
}

func (a *API) putMemberRoles(w http.ResponseWriter, r *http.Request) error {
	req, err := decode[coder.UpdateRoles](r)
	if err != nil {
		return err
	}
	out, err := a.Identity.UpdateMemberRoles(r.Context(), a.actor(r), r.PathValue("organization"), r.PathValue("user"), req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}
