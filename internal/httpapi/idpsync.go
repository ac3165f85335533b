package httpapi

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/login"
)

// idpSyncRoutes map identity provider claims to organizations, groups and
// roles.
func (a *API) idpSyncRoutes() []rest.Route {
	if a.Login == nil {
		return nil
	}
	const kind = codersdk.RBACResourceIdpsyncSettings
	const read, update = codersdk.RBACActionRead, codersdk.RBACActionUpdate
	const org, site = "/organizations/{organization}/settings/idpsync", "/settings/idpsync"
	return []rest.Route{
		{Method: "GET", Path: org + "/groups", Summary: "Get the group sync settings",
			Action: read, Resource: kind, Out: codersdk.GroupSyncSettings{}, Handler: a.getGroupSync},
		{Method: "PATCH", Path: org + "/groups", Summary: "Replace the group sync settings",
			Action: update, Resource: kind, In: codersdk.GroupSyncSettings{}, Out: codersdk.GroupSyncSettings{},
			Handler: groupSync(a, func(s *codersdk.GroupSyncSettings, in codersdk.GroupSyncSettings) { *s = in })},
		{Method: "PATCH", Path: org + "/groups/config", Summary: "Change the claim and options of group sync",
			Action: update, Resource: kind, In: codersdk.PatchGroupIDPSyncConfigRequest{}, Out: codersdk.GroupSyncSettings{},
			Handler: groupSync(a, func(s *codersdk.GroupSyncSettings, in codersdk.PatchGroupIDPSyncConfigRequest) {
				s.Field, s.RegexFilter, s.AutoCreateMissing = in.Field, in.RegexFilter, in.AutoCreateMissing
			})},
		{Method: "PATCH", Path: org + "/groups/mapping", Summary: "Add and remove group mappings",
			Action: update, Resource: kind, In: codersdk.PatchGroupIDPSyncMappingRequest{}, Out: codersdk.GroupSyncSettings{},
			Handler: groupSync(a, func(s *codersdk.GroupSyncSettings, in codersdk.PatchGroupIDPSyncMappingRequest) {
				s.Mapping = login.Remap(s.Mapping, mappingsAsText(in.Add), mappingsAsText(in.Remove))
			})},
		{Method: "GET", Path: org + "/roles", Summary: "Get the role sync settings",
			Action: read, Resource: kind, Out: codersdk.RoleSyncSettings{}, Handler: a.getRoleSync},
		{Method: "PATCH", Path: org + "/roles", Summary: "Replace the role sync settings",
			Action: update, Resource: kind, In: codersdk.RoleSyncSettings{}, Out: codersdk.RoleSyncSettings{},
			Handler: roleSync(a, func(s *codersdk.RoleSyncSettings, in codersdk.RoleSyncSettings) { *s = in })},
		{Method: "PATCH", Path: org + "/roles/config", Summary: "Change the claim of role sync",
			Action: update, Resource: kind, In: codersdk.PatchRoleIDPSyncConfigRequest{}, Out: codersdk.RoleSyncSettings{},
			Handler: roleSync(a, func(s *codersdk.RoleSyncSettings, in codersdk.PatchRoleIDPSyncConfigRequest) { s.Field = in.Field })},
		{Method: "PATCH", Path: org + "/roles/mapping", Summary: "Add and remove role mappings",
			Action: update, Resource: kind, In: codersdk.PatchRoleIDPSyncMappingRequest{}, Out: codersdk.RoleSyncSettings{},
			Handler: roleSync(a, func(s *codersdk.RoleSyncSettings, in codersdk.PatchRoleIDPSyncMappingRequest) {
				s.Mapping = login.Remap(s.Mapping, in.Add, in.Remove)
			})},
		{Method: "GET", Path: org + "/available-fields", Summary: "List the claims of an organization's members",
			Action: read, Resource: kind, Out: []string{}, Handler: a.getOrganizationClaims},
		{Method: "GET", Path: org + "/field-values", Summary: "List the values of a claim of an organization's members",
			Action: read, Resource: kind, Out: []string{}, Handler: a.getOrganizationClaimValues},
		{Method: "GET", Path: site + "/organization", Summary: "Get the organization sync settings",
			Action: read, Resource: kind, Out: codersdk.OrganizationSyncSettings{}, Handler: a.getOrganizationSync},
		{Method: "PATCH", Path: site + "/organization", Summary: "Replace the organization sync settings",
			Action: update, Resource: kind, In: codersdk.OrganizationSyncSettings{}, Out: codersdk.OrganizationSyncSettings{},
			Handler: organizationSync(a, func(s *codersdk.OrganizationSyncSettings, in codersdk.OrganizationSyncSettings) { *s = in })},
		{Method: "PATCH", Path: site + "/organization/config", Summary: "Change the claim and options of organization sync",
			Action: update, Resource: kind, In: codersdk.PatchOrganizationIDPSyncConfigRequest{}, Out: codersdk.OrganizationSyncSettings{},
			Handler: organizationSync(a, func(s *codersdk.OrganizationSyncSettings, in codersdk.PatchOrganizationIDPSyncConfigRequest) {
				s.Field, s.AssignDefault = in.Field, in.AssignDefault
			})},
		{Method: "PATCH", Path: site + "/organization/mapping", Summary: "Add and remove organization mappings",
			Action: update, Resource: kind, In: codersdk.PatchOrganizationIDPSyncMappingRequest{}, Out: codersdk.OrganizationSyncSettings{},
			Handler: organizationSync(a, func(s *codersdk.OrganizationSyncSettings, in codersdk.PatchOrganizationIDPSyncMappingRequest) {
				s.Mapping = login.Remap(s.Mapping, in.Add, in.Remove)
			})},
		{Method: "GET", Path: site + "/available-fields", Summary: "List the claims of all users",
			Action: read, Resource: kind, Out: []string{}, Handler: a.getClaims},
		{Method: "GET", Path: site + "/field-values", Summary: "List the values of a claim of all users",
			Action: read, Resource: kind, Out: []string{}, Handler: a.getClaimValues},
	}
}

// mappingsAsText converts group ids in mappings to strings, the form in which
// group sync stores them.
func mappingsAsText(in []codersdk.IDPSyncMapping[uuid.UUID]) []codersdk.IDPSyncMapping[string] {
	out := make([]codersdk.IDPSyncMapping[string], len(in))
	for i, m := range in {
		out[i] = codersdk.IDPSyncMapping[string]{Given: m.Given, Gets: m.Gets.String()}
	}
	return out
}

func groupSync[In any](a *API, put func(*codersdk.GroupSyncSettings, In)) rest.HandlerFunc {
	return changeSync(func(ctx context.Context, r *http.Request, in In) (codersdk.GroupSyncSettings, error) {
		org, err := a.pathOrganization(r)
		if err != nil {
			return codersdk.GroupSyncSettings{}, err
		}
		return a.Login.SetGroupSync(ctx, rest.Actor(r), org, func(s *codersdk.GroupSyncSettings) { put(s, in) })
	})
}

func roleSync[In any](a *API, put func(*codersdk.RoleSyncSettings, In)) rest.HandlerFunc {
	return changeSync(func(ctx context.Context, r *http.Request, in In) (codersdk.RoleSyncSettings, error) {
		org, err := a.pathOrganization(r)
		if err != nil {
			return codersdk.RoleSyncSettings{}, err
		}
		return a.Login.SetRoleSync(ctx, rest.Actor(r), org, func(s *codersdk.RoleSyncSettings) { put(s, in) })
	})
}

func organizationSync[In any](a *API, put func(*codersdk.OrganizationSyncSettings, In)) rest.HandlerFunc {
	return changeSync(func(ctx context.Context, r *http.Request, in In) (codersdk.OrganizationSyncSettings, error) {
		return a.Login.SetOrganizationSync(ctx, rest.Actor(r), func(s *codersdk.OrganizationSyncSettings) { put(s, in) })
	})
}

// changeSync decodes a change, applies it, and replies with the resulting
// settings.
func changeSync[In, Out any](put func(context.Context, *http.Request, In) (Out, error)) rest.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		in, err := rest.Decode[In](r)
		if err != nil {
			return err
		}
		out, err := put(r.Context(), r, in)
		if err != nil {
			return err
		}
		return rest.Reply(w, http.StatusOK, out)
	}
}

func (a *API) getGroupSync(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	out, err := a.Login.GroupSync(r.Context(), rest.Actor(r), org)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) getRoleSync(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	out, err := a.Login.RoleSync(r.Context(), rest.Actor(r), org)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) getOrganizationSync(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Login.OrganizationSync(r.Context(), rest.Actor(r))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) getOrganizationClaims(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	return a.claimFields(w, r, org.ID)
}

func (a *API) getClaims(w http.ResponseWriter, r *http.Request) error {
	return a.claimFields(w, r, uuid.Nil)
}

func (a *API) claimFields(w http.ResponseWriter, r *http.Request, org uuid.UUID) error {
	out, err := a.Login.ClaimFields(r.Context(), rest.Actor(r), org)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) getOrganizationClaimValues(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	return a.claimValues(w, r, org.ID)
}

func (a *API) getClaimValues(w http.ResponseWriter, r *http.Request) error {
	return a.claimValues(w, r, uuid.Nil)
}

func (a *API) claimValues(w http.ResponseWriter, r *http.Request, org uuid.UUID) error {
	out, err := a.Login.ClaimValues(r.Context(), rest.Actor(r), org, r.URL.Query().Get("claimField"))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}
