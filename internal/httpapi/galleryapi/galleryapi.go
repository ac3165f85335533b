// Package galleryapi serves what the pages of templates need beside the templates: their
// summaries, the composition of new ones, and the check of their source.
package galleryapi

import (
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/gallery"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/rule/templatesource"
)

// API holds the dependencies of the endpoints.
type API struct {
	Gallery  *gallery.Service
	Identity *identity.Service // finds the organizations that paths name
}

// Routes returns the endpoints.
func (a *API) Routes() []rest.Route {
	const resource, read = codersdk.RBACResourceTemplate, codersdk.RBACActionRead
	return []rest.Route{
		{Method: "GET", Path: "/templates/summaries", Summary: "Get the workspaces and the latest import of templates",
			About:  "Templates that the user cannot read are left out.",
			Query:  []rest.Param{{Name: "ids", Type: "string", About: "Ids of templates, separated by commas, at most 100."}},
			Action: read, Resource: resource, Out: []templatesource.TemplateSummary{}, Handler: a.getSummaries},
		{Method: "GET", Path: "/templates/modules", Summary: "List the modules that can be added to starter templates",
			Action: read, Resource: resource, Out: []templatesource.TemplateModule{}, Handler: rest.ServeResult(a.Gallery.Modules)},
		{Method: "POST", Path: "/templates/compose", Summary: "Compose the source of a template from a starter template and modules",
			About:  "Creates nothing: upload the files, then create a version of them.",
			Action: read, Resource: resource, In: templatesource.ComposeTemplateRequest{}, Out: templatesource.ComposedTemplate{},
			Handler: rest.ServeChange(a.Gallery.Compose)},
		{Method: "POST", Path: "/templates/format", Summary: "Format a Terraform file",
			Action: read, Resource: resource, In: templatesource.FormatTemplateRequest{}, Out: templatesource.FormatTemplateResponse{},
			Handler: rest.ServeChange(a.Gallery.Format)},
		{Method: "POST", Path: "/organizations/{organization}/templates/check", Summary: "Check the source of a template without importing it",
			About:  "Users who can update the template in template_id need no permission to create templates.",
			Action: codersdk.RBACActionCreate, Resource: resource, MaxBody: 3 << 20, In: templatesource.CheckTemplateRequest{}, Out: templatesource.CheckedTemplate{},
			Handler: a.check},
	}
}

func (a *API) getSummaries(w http.ResponseWriter, r *http.Request) error {
	var ids []uuid.UUID
	for text := range strings.SplitSeq(r.URL.Query().Get("ids"), ",") {
		if text == "" {
			continue
		}
		id, err := uuid.Parse(text)
		if err != nil {
			return codersdk.Invalid("ids", "%.64q is not an id", text)
		}
		ids = append(ids, id)
	}
	out, err := a.Gallery.Summaries(r.Context(), rest.Actor(r), ids)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) check(w http.ResponseWriter, r *http.Request) error {
	o, err := a.Identity.OrganizationByRef(r.Context(), rest.Actor(r), r.PathValue("organization"))
	if err != nil {
		return err
	}
	req, err := rest.Decode[templatesource.CheckTemplateRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Gallery.Check(r.Context(), rest.Actor(r), o.ID, req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}
