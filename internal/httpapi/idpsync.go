package httpapi

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/login"
)

// idpSyncRoutes are how claims become organizations, groups and roles.
func (a *API) idpSyncRoutes() []Route {
	if a.Login == nil {
		return nil
	}
	const kind = coder.RBACResourceIdpsyncSettings
	const read, update = coder.RBACActionRead, coder.RBACActionUpdate
	const org, site = "/organizations/{organization}/settings/idpsync", "/settings/idpsync"
	return []Route{
		{Method: "GET", Path: org + "/groups", Summary: "How claims become groups", Action: read, Resource: kind, Out: coder.GroupSyncSettings{}, Handler: a.getGroupSync},
		{Method: "PATCH", Path: org + "/groups", Summary: "Replace how claims become groups", Action: update, Resource: kind, In: coder.GroupSyncSettings{}, Out: coder.GroupSyncSettings{}, Handler: groupSync(a, func(s *coder.GroupSyncSettings, in coder.GroupSyncSettings) { *s = in })},
		{Method: "PATCH", Path: org + "/groups/config", Summary: "Change which claim becomes groups", Action: update, Resource: kind, In: coder.PatchGroupIDPSyncConfigRequest{}, Out: coder.GroupSyncSettings{}, Handler: groupSync(a, func(s *coder.GroupSyncSettings, in coder.PatchGroupIDPSyncConfigRequest) {
			s.Field, s.RegexFilter, s.AutoCreateMissing = in.Field, in.RegexFilter, in.AutoCreateMissing
		})},
		{Method: "PATCH", Path: org + "/groups/mapping", Summary: "Add and remove mappings to groups", Action: update, Resource: kind, In: coder.PatchGroupIDPSyncMappingRequest{}, Out: coder.GroupSyncSettings{}, Handler: groupSync(a, func(s *coder.GroupSyncSettings, in coder.PatchGroupIDPSyncMappingRequest) {
			s.Mapping = login.Remap(s.Mapping, texts(in.Add), texts(in.Remove))
		})},
		{Method: "GET", Path: org + "/roles", Summary: "How claims become roles", Action: read, Resource: kind, Out: coder.RoleSyncSettings{}, Handler: a.getRoleSync},
		{Method: "PATCH", Path: org + "/roles", Summary: "Replace how claims become roles", Action: update, Resource: kind, In: coder.RoleSyncSettings{}, Out: coder.RoleSyncSettings{}, Handler: roleSync(a, func(s *coder.RoleSyncSettings, in coder.RoleSyncSettings) { *s = in })},
		{Method: "PATCH", Path: org + "/roles/config", Summary: "Change which claim becomes roles", Action: update, Resource: kind, In: coder.PatchRoleIDPSyncConfigRequest{}, Out: coder.RoleSyncSettings{}, Handler: roleSync(a, func(s *coder.RoleSyncSettings, in coder.PatchRoleIDPSyncConfigRequest) { s.Field = in.Field })},
		{Method: "PATCH", Path: org + "/roles/mapping", Summary: "Add and remove mappings to roles", Action: update, Resource: kind, In: coder.PatchRoleIDPSyncMappingRequest{}, Out: coder.RoleSyncSettings{}, Handler: roleSync(a, func(s *coder.RoleSyncSettings, in coder.PatchRoleIDPSyncMappingRequest) {
			s.Mapping = login.Remap(s.Mapping, in.Add, in.Remove)
		})},
		{Method: "GET", Path: org + "/available-fields", Summary: "The claims of an organization's members", Action: read, Resource: kind, Out: []string{}, Handler: a.getOrganizationClaims},
		{Method: "GET", Path: org + "/field-values", Summary: "The values of a claim of an organization's members", Action: read, Resource: kind, Out: []string{}, Handler: a.getOrganizationClaimValues},
		{Method: "GET", Path: site + "/organization", Summary: "How claims become memberships", Action: read, Resource: kind, Out: coder.OrganizationSyncSettings{}, Handler: a.getOrganizationSync},
		{Method: "PATCH", Path: site + "/organization", Summary: "Replace how claims become memberships", Action: update, Resource: kind, In: coder.OrganizationSyncSettings{}, Out: coder.OrganizationSyncSettings{}, Handler: organizationSync(a, func(s *coder.OrganizationSyncSettings, in coder.OrganizationSyncSettings) { *s = in })},
		{Method: "PATCH", Path: site + "/organization/config", Summary: "Change which claim becomes memberships", Action: update, Resource: kind, In: coder.PatchOrganizationIDPSyncConfigRequest{}, Out: coder.OrganizationSyncSettings{}, Handler: organizationSync(a, func(s *coder.OrganizationSyncSettings, in coder.PatchOrganizationIDPSyncConfigRequest) {
			s.Field, s.AssignDefault = in.Field, in.AssignDefault
		})},
		{Method: "PATCH", Path: site + "/organization/mapping", Summary: "Add and remove mappings to memberships", Action: update, Resource: kind, In: coder.PatchOrganizationIDPSyncMappingRequest{}, Out: coder.OrganizationSyncSettings{}, Handler: organizationSync(a, func(s *coder.OrganizationSyncSettings, in coder.PatchOrganizationIDPSyncMappingRequest) {
			s.Mapping = login.Remap(s.Mapping, in.Add, in.Remove)
		})},
		{Method: "GET", Path: site + "/available-fields", Summary: "The claims of all users", Action: read, Resource: kind, Out: []string{}, Handler: a.getClaims},
		{Method: "GET", Path: site + "/field-values", Summary: "The values of a claim of all users", Action: read, Resource: kind, Out: []string{}, Handler: a.getClaimValues},
	}
}

// texts are mappings with ids as the settings of groups keep them.
func texts(in []coder.IDPSyncMapping[uuid.UUID]) []coder.IDPSyncMapping[string] {
	out := make([]coder.IDPSyncMapping[string], len(in))
	for i, m := range in {
		out[i] = coder.IDPSyncMapping[string]{Given: m.Given, Gets: m.Gets.String()}
	}
	return out
}

func groupSync[In any](a *API, put func(*coder.GroupSyncSettings, In)) HandlerFunc {
	return changeSync(func(ctx context.Context, r *http.Request, in In) (coder.GroupSyncSettings, error) {
		org, err := a.pathOrganization(r)
		if err != nil {
			return coder.GroupSyncSettings{}, err
		}
		return a.Login.SetGroupSync(ctx, a.actor(r), org, func(s *coder.GroupSyncSettings) { put(s, in) })
	})
}

func roleSync[In any](a *API, put func(*coder.RoleSyncSettings, In)) HandlerFunc {
	return changeSync(func(ctx context.Context, r *http.Request, in In) (coder.RoleSyncSettings, error) {
		org, err := a.pathOrganization(r)
		if err != nil {
			return coder.RoleSyncSettings{}, err
		}
		return a.Login.SetRoleSync(ctx, a.actor(r), org, func(s *coder.RoleSyncSettings) { put(s, in) })
	})
}

func organizationSync[In any](a *API, put func(*coder.OrganizationSyncSettings, In)) HandlerFunc {
	return changeSync(func(ctx context.Context, r *http.Request, in In) (coder.OrganizationSyncSettings, error) {
		return a.Login.SetOrganizationSync(ctx, a.actor(r), func(s *coder.OrganizationSyncSettings) { put(s, in) })
	})
}

// changeSync decodes a change, makes it, and answers what the settings are then.
func changeSync[In, Out any](put func(context.Context, *http.Request, In) (Out, error)) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		in, err := decode[In](r)
		if err != nil {
			return err
		}
		out, err := put(r.Context(), r, in)
		if err != nil {
			return err
		}
		return reply(w, http.StatusOK, out)
	}
}

func (a *API) getGroupSync(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	out, err := a.Login.GroupSync(r.Context(), a.actor(r), org)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) getRoleSync(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	out, err := a.Login.RoleSync(r.Context(), a.actor(r), org)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) getOrganizationSync(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Login.OrganizationSync(r.Context(), a.actor(r))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
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
	out, err := a.Login.ClaimFields(r.Context(), a.actor(r), org)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
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
	out, err := a.Login.ClaimValues(r.Context(), a.actor(r), org, r.URL.Query().Get("claimField"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}
