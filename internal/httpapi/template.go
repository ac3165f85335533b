package httpapi

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/search"
	"github.com/seed-2a7f8fe7/coder/internal/template"
)

// templateTerms describes the search of template lists.
const templateTerms = "Part of a name, or name:, exact_name:, organization:, author:, deprecated:, has-ai-task:, has_external_agent:."

// templateRoutes are templates. (TPL-05, TPL-06, TPL-13..17)
func (a *API) templateRoutes() []rest.Route {
	if a.Templates == nil {
		return nil
	}
	const (
		tpl    = codersdk.RBACResourceTemplate
		read   = codersdk.RBACActionRead
		update = codersdk.RBACActionUpdate
	)
	return []rest.Route{
		{Method: "GET", Path: "/templates", Summary: "List templates",
			Query:  rest.Paged(rest.Searched(templateTerms)),
			Action: read, Resource: tpl, Out: []codersdk.Template{}, Handler: a.getTemplates},
		{Method: "GET", Path: "/templates/examples", Summary: "List starter templates",
			Action: read, Resource: tpl, Out: []codersdk.TemplateExample{}, Handler: a.getTemplateExamples},
		{Method: "GET", Path: "/organizations/{organization}/templates", Summary: "List an organization's templates",
			Query:  rest.Paged(rest.Searched(templateTerms)),
			Action: read, Resource: tpl, Out: []codersdk.Template{}, Handler: a.getOrganizationTemplates},
		{Method: "POST", Path: "/organizations/{organization}/templates", Summary: "Create a template from a version",
			Action: codersdk.RBACActionCreate, Resource: tpl, In: codersdk.CreateTemplateRequest{}, Out: codersdk.Template{}, Status: 201,
			Handler: a.postTemplate},
		{Method: "GET", Path: "/organizations/{organization}/templates/examples", Summary: "List starter templates",
			Action: read, Resource: tpl, Out: []codersdk.TemplateExample{}, Handler: a.getTemplateExamples},
		{Method: "GET", Path: "/organizations/{organization}/templates/{templatename}", Summary: "Get a template by name",
			Action: read, Resource: tpl, Out: codersdk.Template{}, Handler: a.getTemplateByName},
		{Method: "GET", Path: "/templates/{template}", Summary: "Get a template",
			Action: read, Resource: tpl, Out: codersdk.Template{}, Handler: a.getTemplate},
		{Method: "PATCH", Path: "/templates/{template}", Summary: "Update a template's settings",
			Action: update, Resource: tpl, In: codersdk.UpdateTemplateMeta{}, Out: codersdk.Template{}, Handler: a.patchTemplate},
		{Method: "DELETE", Path: "/templates/{template}", Summary: "Delete a template that has no workspaces",
			Action: codersdk.RBACActionDelete, Resource: tpl, Out: codersdk.Response{}, Handler: a.deleteTemplate},
		{Method: "PATCH", Path: "/templates/{template}/versions", Summary: "Set the active version",
			Action: update, Resource: tpl, In: codersdk.UpdateActiveTemplateVersion{}, Out: codersdk.Response{},
			Handler: a.patchActiveVersion},
		{Method: "GET", Path: "/templates/{template}/acl", Summary: "Get a template's access list",
			Action: update, Resource: tpl, Out: codersdk.TemplateACL{}, Handler: a.getTemplateACL},
		{Method: "PATCH", Path: "/templates/{template}/acl", Summary: "Update a template's access list",
			Action: update, Resource: tpl, In: codersdk.UpdateTemplateACL{}, Out: codersdk.Response{}, Handler: a.patchTemplateACL},
		{Method: "GET", Path: "/templates/{template}/acl/available", Summary: "List the users and groups that an access list may name",
			Query:  rest.Paged(rest.Searched("Part of a username or email.")),
			Action: update, Resource: tpl, Out: codersdk.ACLAvailable{}, Handler: a.getTemplateACLAvailable},
	}
}

func (a *API) getTemplates(w http.ResponseWriter, r *http.Request) error {
	return a.listTemplates(w, r, uuid.Nil)
}

func (a *API) getOrganizationTemplates(w http.ResponseWriter, r *http.Request) error {
	o, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	return a.listTemplates(w, r, o.ID)
}

// listTemplates replies with the templates that match the search in q (see
// templateTerms); words without a key match names.
func (a *API) listTemplates(w http.ResponseWriter, r *http.Request, organization uuid.UUID) error {
	t, err := search.Parse(r.URL.Query().Get("q"))
	if err != nil {
		return err
	}
	q := template.Query{
		OrganizationID: organization, Words: t.FreeText(), Organization: t.Text("organization"), Name: t.Text("name"),
		ExactName: t.Text("exact_name"), Author: t.Text("author"), Deprecated: t.Boolean("deprecated"),
		HasAITask: t.Boolean("has-ai-task"), HasExternal: t.Boolean("has_external_agent"),
	}
	if err := t.Finish(); err != nil {
		return err
	}
	if q.Page, err = rest.PageOf(r); err != nil {
		return err
	}
	list, err := a.Templates.Templates(r.Context(), rest.Actor(r), q)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, list)
}

func (a *API) getTemplateExamples(w http.ResponseWriter, r *http.Request) error {
	if r.PathValue("organization") != "" {
		if _, err := a.pathOrganization(r); err != nil {
			return err
		}
	}
	list, err := a.Templates.TemplateExamples(r.Context(), rest.Actor(r))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, list)
}

func (a *API) postTemplate(w http.ResponseWriter, r *http.Request) error {
	o, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.CreateTemplateRequest](r)
	if err != nil {
		return err
	}
	t, err := a.Templates.CreateTemplate(r.Context(), rest.Actor(r), o.ID, req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, t)
}

func (a *API) getTemplateByName(w http.ResponseWriter, r *http.Request) error {
	o, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	t, err := a.Templates.TemplateByName(r.Context(), rest.Actor(r), o.ID, r.PathValue("templatename"))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, t)
}

func (a *API) getTemplate(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "template")
	if err != nil {
		return err
	}
	t, err := a.Templates.Template(r.Context(), rest.Actor(r), id)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, t)
}

func (a *API) patchTemplate(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "template")
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.UpdateTemplateMeta](r)
	if err != nil {
		return err
	}
	t, err := a.Templates.UpdateTemplate(r.Context(), rest.Actor(r), id, req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, t)
}

func (a *API) deleteTemplate(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "template")
	if err != nil {
		return err
	}
	if err := a.Templates.DeleteTemplate(r.Context(), rest.Actor(r), id); err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, codersdk.Response{Message: "The template is deleted"})
}

func (a *API) patchActiveVersion(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "template")
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.UpdateActiveTemplateVersion](r)
	if err != nil {
		return err
	}
	if err := a.Templates.UpdateActiveTemplateVersion(r.Context(), rest.Actor(r), id, req); err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, codersdk.Response{Message: "The version is now the active version"})
}

func (a *API) getTemplateACL(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "template")
	if err != nil {
		return err
	}
	acl, err := a.Templates.TemplateACL(r.Context(), rest.Actor(r), id)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, acl)
}

func (a *API) patchTemplateACL(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "template")
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.UpdateTemplateACL](r)
	if err != nil {
		return err
	}
	if err := a.Templates.UpdateTemplateACL(r.Context(), rest.Actor(r), id, req); err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, codersdk.Response{Message: "The access list is updated"})
}

func (a *API) getTemplateACLAvailable(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "template")
	if err != nil {
		return err
	}
	p, err := rest.PageOf(r)
	if err != nil {
		return err
	}
	out, err := a.Templates.TemplateACLAvailable(r.Context(), rest.Actor(r), id, rest.Truncate(r.URL.Query().Get("q"), rest.MaxSearch), p)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}
