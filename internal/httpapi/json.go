package httpapi

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// pathOwner returns the id of the user that the path names as the owner of a
// resource.
func (a *API) pathOwner(r *http.Request) (uuid.UUID, error) {
	return a.Identity.OwnerByRef(r.Context(), rest.Actor(r), r.PathValue("user"))
}

// pathUser returns the user that the path names by id, name or "me".
func (a *API) pathUser(r *http.Request) (codersdk.User, error) {
	return a.Identity.UserByRef(r.Context(), rest.Actor(r), r.PathValue("user"))
}

// pathOrganization returns the organization that the path names by id, name or
// "default".
func (a *API) pathOrganization(r *http.Request) (codersdk.Organization, error) {
	return a.Identity.OrganizationByRef(r.Context(), rest.Actor(r), r.PathValue("organization"))
}
