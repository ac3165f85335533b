package scimapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// Routes returns the endpoints for administrators.
func (a *API) Routes() []rest.Route {
	return []rest.Route{
		{Method: "GET", Path: "/deployment/scim", Summary: "Get the state of SCIM provisioning",
			Action: codersdk.RBACActionRead, Resource: codersdk.RBACResourceDeploymentConfig, Out: codersdk.SCIMStatus{},
			Handler: func(w http.ResponseWriter, r *http.Request) error {
				return rest.ServeResult(a.SCIM.Status)(w, r)
			}},
	}
}
