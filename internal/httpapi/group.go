package httpapi

import (
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
)

// excludeMembers is the query parameter of group lists that leaves the members
// out.
func excludeMembers() rest.Param {
	return rest.Param{Name: "exclude_members", Type: "boolean", About: "Leave the members out; list them by group instead."}
}

// groupRoutes are groups, and the quotas of members.
func (a *API) groupRoutes() []rest.Route {
	if a.Organizations == nil {
		return nil
	}
	const group = codersdk.RBACResourceGroup
	return []rest.Route{
		{Method: "GET", Path: "/groups", Summary: "List groups",
			Query: rest.Paged(
				rest.Searched("Part of a name."),
				rest.Param{Name: "organization", Type: "string", About: "Id or name."},
				rest.Param{Name: "has_member", Type: "string", About: "Id or name of a user."},
				rest.Param{Name: "group_ids", Type: "string", About: "Comma-separated ids."},
				excludeMembers(),
			),
			Action: codersdk.RBACActionRead, Resource: group, Out: []codersdk.Group{}, Handler: a.getGroups},
		{Method: "GET", Path: "/groups/{group}", Summary: "Get a group",
			Action: codersdk.RBACActionRead, Resource: group, Out: codersdk.Group{}, Handler: a.getGroup},
		{Method: "GET", Path: "/groups/{group}/members", Summary: "List a group's members",
			Query:  rest.Paged(rest.Searched("Part of a username or email.")),
			Action: codersdk.RBACActionRead, Resource: group, Out: codersdk.GroupMembersResponse{}, Handler: a.getGroupMembers},
		{Method: "PATCH", Path: "/groups/{group}", Summary: "Update a group",
			Action: codersdk.RBACActionUpdate, Resource: group, In: codersdk.PatchGroupRequest{}, Out: codersdk.Group{},
			Handler: a.patchGroup},
		{Method: "DELETE", Path: "/groups/{group}", Summary: "Delete a group",
			Action: codersdk.RBACActionDelete, Resource: group, Out: codersdk.Group{}, Handler: a.deleteGroup},
		{Method: "GET", Path: "/organizations/{organization}/groups", Summary: "List an organization's groups",
			Query:  rest.Paged(rest.Searched("Part of a name."), excludeMembers()),
			Action: codersdk.RBACActionRead, Resource: group, Out: []codersdk.Group{}, Handler: a.getOrganizationGroups},
		{Method: "POST", Path: "/organizations/{organization}/groups", Summary: "Create a group",
			Action: codersdk.RBACActionCreate, Resource: group, In: codersdk.CreateGroupRequest{}, Out: codersdk.Group{}, Status: 201,
			Handler: a.postGroup},
		{Method: "GET", Path: "/organizations/{organization}/groups/{groupName}", Summary: "Get a group by name",
			Action: codersdk.RBACActionRead, Resource: group, Out: codersdk.Group{}, Handler: a.getGroupByName},
		{Method: "GET", Path: "/organizations/{organization}/members/{user}/workspace-quota", Summary: "Get a member's workspace quota",
			Action: codersdk.RBACActionRead, Resource: codersdk.RBACResourceWorkspace, Out: codersdk.WorkspaceQuota{}, Handler: a.getQuota},
		{Method: "GET", Path: "/workspace-quota/{user}", Summary: "Get a member's workspace quota in the default organization",
			Action: codersdk.RBACActionRead, Resource: codersdk.RBACResourceWorkspace, Out: codersdk.WorkspaceQuota{}, Handler: a.getQuota},
	}
}

func (a *API) getGroups(w http.ResponseWriter, r *http.Request) error {
	var f organization.GroupSearch
	q := r.URL.Query()
	if ref := q.Get("organization"); ref != "" {
		o, err := a.Identity.OrganizationByRef(r.Context(), rest.Actor(r), ref)
		if err != nil {
			return err
		}
		f.OrganizationID = o.ID
	}
	if ref := q.Get("has_member"); ref != "" {
		u, err := a.Identity.UserByRef(r.Context(), rest.Actor(r), ref)
		if err != nil {
			return err
		}
		f.HasMember = u.ID
	}
	if list := q.Get("group_ids"); list != "" {
		for _, text := range strings.Split(list, ",") {
			id, err := uuid.Parse(text)
			if err != nil {
				return codersdk.Invalid("group_ids", "%q is not a UUID", rest.Truncate(text, 64))
			}
			f.IDs = append(f.IDs, id)
		}
	}
	return a.listGroups(w, r, f)
}

// listGroups replies with one page of groups.
func (a *API) listGroups(w http.ResponseWriter, r *http.Request, f organization.GroupSearch) error {
	var err error
	if f.WithoutMembers, err = rest.QueryBool(r, "exclude_members"); err != nil {
		return err
	}
	f.Words = rest.Truncate(r.URL.Query().Get("q"), rest.MaxSearch)
	if f.Limit, f.Offset, err = rest.Page(r); err != nil {
		return err
	}
	out, err := a.Organizations.Groups(r.Context(), rest.Actor(r), f)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) getOrganizationGroups(w http.ResponseWriter, r *http.Request) error {
	o, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	return a.listGroups(w, r, organization.GroupSearch{OrganizationID: o.ID})
}

func (a *API) getGroup(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "group")
	if err != nil {
		return err
	}
	out, err := a.Organizations.Group(r.Context(), rest.Actor(r), id)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) getGroupMembers(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "group")
	if err != nil {
		return err
	}
	limit, offset, err := rest.Page(r)
	if err != nil {
		return err
	}
	out, err := a.Organizations.GroupMembers(r.Context(), rest.Actor(r), id, rest.Truncate(r.URL.Query().Get("q"), rest.MaxSearch), limit, offset)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) getGroupByName(w http.ResponseWriter, r *http.Request) error {
	o, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	out, err := a.Organizations.GroupByName(r.Context(), rest.Actor(r), o.ID, r.PathValue("groupName"))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) postGroup(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.CreateGroupRequest](r)
	if err != nil {
		return err
	}
	o, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	out, err := a.Organizations.CreateGroup(r.Context(), rest.Actor(r), o.ID, req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, out)
}

func (a *API) patchGroup(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "group")
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.PatchGroupRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Organizations.UpdateGroup(r.Context(), rest.Actor(r), id, req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

// deleteGroup deletes the group and replies with its last state.
func (a *API) deleteGroup(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "group")
	if err != nil {
		return err
	}
	out, err := a.Organizations.Group(r.Context(), rest.Actor(r), id)
	if err != nil {
		return err
	}
	if err := a.Organizations.DeleteGroup(r.Context(), rest.Actor(r), id); err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) getQuota(w http.ResponseWriter, r *http.Request) error {
	ref := r.PathValue("organization")
	if ref == "" {
		ref = "default"
	}
	o, err := a.Identity.OrganizationByRef(r.Context(), rest.Actor(r), ref)
	if err != nil {
		return err
	}
	m, err := a.Identity.Member(r.Context(), rest.Actor(r), o.ID.String(), r.PathValue("user"))
	if err != nil {
		return err
	}
	out, err := a.Organizations.Quota(r.Context(), rest.Actor(r), o.ID, m.UserID)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}
