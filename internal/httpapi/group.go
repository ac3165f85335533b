package httpapi

import (
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
)

// excludeMembers is a parameter of lists of groups.
func excludeMembers() Param {
	return Param{"exclude_members", "boolean", "Leaves the members out; there is a page of them for each group."}
}

// groupRoutes are groups and what their members may spend.
func (a *API) groupRoutes() []Route {
	if a.Organizations == nil {
		return nil
	}
	const group = coder.RBACResourceGroup
	return []Route{
		{Method: "GET", Path: "/groups", Summary: "List groups", Query: paged(searched("Part of a name."), Param{"organization", "string", "Id or name."}, Param{"has_member", "string", "Id or name of a user."}, Param{"group_ids", "string", "Ids, apart by commas."}, excludeMembers()), Action: coder.RBACActionRead, Resource: group, Out: []coder.Group{}, Handler: a.getGroups},
		{Method: "GET", Path: "/groups/{group}", Summary: "One group", Action: coder.RBACActionRead, Resource: group, Out: coder.Group{}, Handler: a.getGroup},
		{Method: "GET", Path: "/groups/{group}/members", Summary: "A page of a group's members", Query: paged(searched("Part of a name or address.")), Action: coder.RBACActionRead, Resource: group, Out: coder.GroupMembersResponse{}, Handler: a.getGroupMembers},
		{Method: "PATCH", Path: "/groups/{group}", Summary: "Change a group", Action: coder.RBACActionUpdate, Resource: group, In: coder.PatchGroupRequest{}, Out: coder.Group{}, Handler: a.patchGroup},
		{Method: "DELETE", Path: "/groups/{group}", Summary: "Delete a group", Action: coder.RBACActionDelete, Resource: group, Out: coder.Group{}, Handler: a.deleteGroup},
		{Method: "GET", Path: "/organizations/{organization}/groups", Summary: "List an organization's groups", Query: paged(searched("Part of a name."), excludeMembers()), Action: coder.RBACActionRead, Resource: group, Out: []coder.Group{}, Handler: a.getOrganizationGroups},
		{Method: "POST", Path: "/organizations/{organization}/groups", Summary: "Make a group", Action: coder.RBACActionCreate, Resource: group, In: coder.CreateGroupRequest{}, Out: coder.Group{}, Status: 201, Handler: a.postGroup},
		{Method: "GET", Path: "/organizations/{organization}/groups/{groupName}", Summary: "One group by name", Action: coder.RBACActionRead, Resource: group, Out: coder.Group{}, Handler: a.getGroupByName},
		{Method: "GET", Path: "/organizations/{organization}/members/{user}/workspace-quota", Summary: "What a member may spend", Action: coder.RBACActionRead, Resource: coder.RBACResourceWorkspace, Out: coder.WorkspaceQuota{}, Handler: a.getQuota},
		{Method: "GET", Path: "/workspace-quota/{user}", Summary: "What a member of the default organization may spend", Action: coder.RBACActionRead, Resource: coder.RBACResourceWorkspace, Out: coder.WorkspaceQuota{}, Handler: a.getQuota},
	}
}

func (a *API) getGroups(w http.ResponseWriter, r *http.Request) error {
	var f organization.GroupSearch
	q := r.URL.Query()
	if ref := q.Get("organization"); ref != "" {
		o, err := a.Identity.OrganizationByRef(r.Context(), a.actor(r), ref)
		if err != nil {
			return err
		}
		f.OrganizationID = o.ID
	}
	if ref := q.Get("has_member"); ref != "" {
		u, err := a.Identity.UserByRef(r.Context(), a.actor(r), ref)
		if err != nil {
			return err
		}
		f.HasMember = u.ID
	}
	if list := q.Get("group_ids"); list != "" {
		for _, text := range strings.Split(list, ",") {
			id, err := uuid.Parse(text)
			if err != nil {
				return coder.Invalid("group_ids", "%q is not a UUID", clip(text, 64))
			}
			f.IDs = append(f.IDs, id)
		}
	}
	return a.listGroups(w, r, f)
}

// listGroups answers a page of groups.
func (a *API) listGroups(w http.ResponseWriter, r *http.Request, f organization.GroupSearch) error {
	var err error
	if f.WithoutMembers, err = queryBool(r, "exclude_members"); err != nil {
		return err
	}
	f.Words = clip(r.URL.Query().Get("q"), maxSearch)
	if f.Limit, f.Offset, err = page(r); err != nil {
		return err
	}
	out, err := a.Organizations.Groups(r.Context(), a.actor(r), f)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) getOrganizationGroups(w http.ResponseWriter, r *http.Request) error {
	o, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	return a.listGroups(w, r, organization.GroupSearch{OrganizationID: o.ID})
}

func (a *API) getGroup(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "group")
	if err != nil {
		return err
	}
	out, err := a.Organizations.Group(r.Context(), a.actor(r), id)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) getGroupMembers(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "group")
	if err != nil {
		return err
	}
	limit, offset, err := page(r)
	if err != nil {
		return err
	}
	out, err := a.Organizations.GroupMembers(r.Context(), a.actor(r), id, clip(r.URL.Query().Get("q"), maxSearch), limit, offset)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) getGroupByName(w http.ResponseWriter, r *http.Request) error {
	o, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	out, err := a.Organizations.GroupByName(r.Context(), a.actor(r), o.ID, r.PathValue("groupName"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) postGroup(w http.ResponseWriter, r *http.Request) error {
	req, err := decode[coder.CreateGroupRequest](r)
	if err != nil {
		return err
	}
	o, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	out, err := a.Organizations.CreateGroup(r.Context(), a.actor(r), o.ID, req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, out)
}

func (a *API) patchGroup(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "group")
	if err != nil {
		return err
	}
	req, err := decode[coder.PatchGroupRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Organizations.UpdateGroup(r.Context(), a.actor(r), id, req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

// deleteGroup answers the group as it was.
func (a *API) deleteGroup(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "group")
	if err != nil {
		return err
	}
	out, err := a.Organizations.Group(r.Context(), a.actor(r), id)
	if err != nil {
		return err
	}
	if err := a.Organizations.DeleteGroup(r.Context(), a.actor(r), id); err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) getQuota(w http.ResponseWriter, r *http.Request) error {
	ref := r.PathValue("organization")
	if ref == "" {
		ref = "default"
	}
	o, err := a.Identity.OrganizationByRef(r.Context(), a.actor(r), ref)
	if err != nil {
		return err
	}
	m, err := a.Identity.Member(r.Context(), a.actor(r), o.ID.String(), r.PathValue("user"))
	if err != nil {
		return err
	}
	out, err := a.Organizations.Quota(r.Context(), a.actor(r), o.ID, m.UserID)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}
