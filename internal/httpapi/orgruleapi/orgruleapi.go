// Package orgruleapi serves the rules of organizations for their members.
package orgruleapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/orgrule"
)

// API holds the dependencies of the endpoints.
type API struct {
	Rules    *orgrule.Service
	Identity *identity.Service // finds the organizations that paths name
}

// Routes returns the endpoints.
func (a *API) Routes() []rest.Route {
	const path, resource = "/organizations/{organization}/settings/rules", codersdk.RBACResourceOrganization
	return []rest.Route{
		{Method: "GET", Path: path, Summary: "Get the rules of an organization for its members",
			Action: codersdk.RBACActionRead, Resource: resource, Out: codersdk.OrganizationRules{}, Handler: a.get},
		{Method: "PUT", Path: path, Summary: "Replace the rules of an organization for its members",
			About:  "The rules apply at once, also to tokens and links to external providers that exist.",
			Action: codersdk.RBACActionUpdate, Resource: resource, In: codersdk.OrganizationRules{}, Out: codersdk.OrganizationRules{}, Handler: a.put},
	}
}

func (a *API) get(w http.ResponseWriter, r *http.Request) error {
	o, err := a.Identity.OrganizationByRef(r.Context(), rest.Actor(r), r.PathValue("organization"))
	if err != nil {
		return err
	}
	out, err := a.Rules.Get(r.Context(), rest.Actor(r), o.ID)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) put(w http.ResponseWriter, r *http.Request) error {
	o, err := a.Identity.OrganizationByRef(r.Context(), rest.Actor(r), r.PathValue("organization"))
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.OrganizationRules](r)
	if err != nil {
		return err
	}
	out, err := a.Rules.Update(r.Context(), rest.Actor(r), o.ID, req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}
