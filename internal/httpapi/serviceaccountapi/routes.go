// Package serviceaccountapi serves the settings of service accounts.
package serviceaccountapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/serviceaccount"
)

// Routes returns the endpoints.
func Routes(accounts *serviceaccount.Service) []rest.Route {
	return []rest.Route{
		{Method: "GET", Path: "/users/{user}/service-account", Summary: "Get the settings of a service account",
			About:  "The user who is responsible for the account can read them too.",
			Action: codersdk.RBACActionRead, Resource: codersdk.RBACResourceUser, Out: codersdk.ServiceAccount{},
			Handler: func(w http.ResponseWriter, r *http.Request) error {
				return rest.ReplyForUser(w, r, rest.Actor(r), accounts.Get)
			}},
		{Method: "PUT", Path: "/users/{user}/service-account", Summary: "Replace the settings of a service account",
			About:  "Tokens end with the account, and tokens with other scopes are revoked.",
			Action: codersdk.RBACActionUpdate, Resource: codersdk.RBACResourceUser, In: codersdk.UpdateServiceAccountRequest{}, Out: codersdk.ServiceAccount{},
			Handler: func(w http.ResponseWriter, r *http.Request) error {
				return rest.ChangeForUser(w, r, rest.Actor(r), accounts.Update)
			}},
	}
}
