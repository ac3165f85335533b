package httpapi

import (
	"net/http"
	"strconv"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/deployment"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// licenseRoutes accept, list and delete licenses. Every feature is included
// without a license. (LIC-01)
func (a *API) licenseRoutes() []rest.Route {
	if a.Site == nil {
		return nil
	}
	const res = codersdk.RBACResourceLicense
	return []rest.Route{
		{Method: "GET", Path: "/licenses", Summary: "List licenses",
			About:  "Every feature is included without a license.",
			Action: codersdk.RBACActionRead, Resource: res, Out: []codersdk.License{}, Handler: rest.ServeResult(a.Site.Licenses)},
		{Method: "POST", Path: "/licenses", Summary: "Add a license",
			About: "The license is listed and changes nothing: every feature is included without one. " +
				"Its signature is not verified, and its text is not stored.",
			Action: codersdk.RBACActionCreate, Resource: res, MaxBody: 128 << 10, In: codersdk.AddLicenseRequest{}, Out: codersdk.License{},
			Status: http.StatusCreated, Handler: a.postLicense},
		{Method: "POST", Path: "/licenses/refresh-entitlements", Summary: "Refresh entitlements",
			About:  "Entitlements do not depend on licenses, so the request changes nothing.",
			Action: codersdk.RBACActionRead, Resource: res, Out: codersdk.Response{}, Status: http.StatusCreated,
			Handler: a.postRefreshEntitlements},
		{Method: "DELETE", Path: "/licenses/{id}", Summary: "Delete a license",
			Action: codersdk.RBACActionDelete, Resource: res, Handler: a.deleteLicense},
	}
}

func (a *API) postLicense(w http.ResponseWriter, r *http.Request) error {
	in, err := rest.Decode[codersdk.AddLicenseRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Site.AddLicense(r.Context(), rest.Actor(r), in)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, out)
}

func (a *API) postRefreshEntitlements(w http.ResponseWriter, r *http.Request) error {
	if err := deployment.Check(rest.Actor(r), codersdk.RBACActionRead, codersdk.RBACResourceLicense); err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, codersdk.Response{Message: "Entitlements are up to date: every feature is included without a license"})
}

func (a *API) deleteLicense(w http.ResponseWriter, r *http.Request) error {
	if err := deployment.Check(rest.Actor(r), codersdk.RBACActionDelete, codersdk.RBACResourceLicense); err != nil {
		return err
	}
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 32)
	if err != nil {
		return codersdk.Invalid("id", "%q is not a license id", rest.Truncate(r.PathValue("id"), 32))
	}
	if err := a.Site.DeleteLicense(r.Context(), rest.Actor(r), int32(id)); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}
