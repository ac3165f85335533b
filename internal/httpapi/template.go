package httpapi

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/template"
)

// templateTerms is what lists of templates are searched by.
const templateTerms = "Part of a name, and name:, exact_name:, organization:, author:, deprecated:, has-ai-task:, has_external_agent:."

// templateRoutes are the routes of templates. (TPL-05, TPL-06, TPL-13..17)
func (a *API) templateRoutes() []Route {
	if a.Templates == nil {
		return nil
	}
	const (
		tpl    = coder.RBACResourceTemplate
		read   = coder.RBACActionRead
		update = coder.RBACActionUpdate
	)
	return []Route{
		{Method: "GET", Path: "/templates", Summary: "List templates", Query: paged(searched(templateTerms)), Action: read, Resource: tpl, Out: []coder.Template{}, Handler: a.getTemplates},
		{Method: "GET", Path: "/templates/examples", Summary: "The starter templates", Action: read, Resource: tpl, Out: []coder.TemplateExample{}, Handler: a.getTemplateExamples},
		{Method: "GET", Path: "/organizations/{organization}/templates", Summary: "List an organization's templates", Query: paged(searched(templateTerms)), Action: read, Resource: tpl, Out: []coder.Template{}, Handler: a.getOrganizationTemplates},
		{Method: "POST", Path: "/organizations/{organization}/templates", Summary: "Make a template of a version", Action: coder.RBACActionCreate, Resource: tpl, In: coder.CreateTemplateRequest{}, Out: coder.Template{}, Handler: a.postTemplate},
		{Method: "GET", Path: "/organizations/{organization}/templates/examples", Summary: "The starter templates", Action: read, Resource: tpl, Out: []coder.TemplateExample{}, Handler: a.getTemplateExamples},
		{Method: "GET", Path: "/organizations/{organization}/templates/{templatename}", Summary: "A template by its name", Action: read, Resource: tpl, Out: coder.Template{}, Handler: a.getTemplateByName},
		{Method: "GET", Path: "/templates/{template}", Summary: "One template", Action: read, Resource: tpl, Out: coder.Template{}, Handler: a.getTemplate},
		{Method: "PATCH", Path: "/templates/{template}", Summary: "Change a template's settings", Action: update, Resource: tpl, In: coder.UpdateTemplateMeta{}, Out: coder.Template{}, Handler: a.patchTemplate},
		{Method: "DELETE", Path: "/templates/{template}", Summary: "Delete a template without workspaces", Action: coder.RBACActionDelete, Resource: tpl, Out: coder.Response{}, Handler: a.deleteTemplate},
		{Method: "PATCH", Path: "/templates/{template}/versions", Summary: "Make a version the active one", Action: update, Resource: tpl, In: coder.UpdateActiveTemplateVersion{}, Out: coder.Response{}, Handler: a.patchActiveVersion},
		{Method: "GET", Path: "/templates/{template}/acl", Summary: "Who may use a template", Action: update, Resource: tpl, Out: coder.TemplateACL{}, Handler: a.getTemplateACL},
		{Method: "PATCH", Path: "/templates/{template}/acl", Summary: "Change who may use a template", Action: update, Resource: tpl, In: coder.UpdateTemplateACL{}, Out: coder.Response{}, Handler: a.patchTemplateACL},
		{Method: "GET", Path: "/templates/{template}/acl/available", Summary: "Whom an access list may name", Query: paged(searched("Part of a name or address of users.")), Action: update, Resource: tpl, Out: coder.ACLAvailable{}, Handler: a.getTemplateACLAvailable},
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

// listTemplates knows the search keys name, exact_name, organization, author,
// deprecated, has-ai-task and has_external_agent; bare words search the names.
func (a *API) listTemplates(w http.ResponseWriter, r *http.Request, organization uuid.UUID) error {
	t, err := search(r.URL.Query().Get("q"))
	if err != nil {
		return err
	}
	q := template.Query{
		OrganizationID: organization, Words: t.word(), Organization: t.text("organization"), Name: t.text("name"),
		ExactName: t.text("exact_name"), Author: t.text("author"), Deprecated: t.boolean("deprecated"),
		HasAITask: t.boolean("has-ai-task"), HasExternal: t.boolean("has_external_agent"),
	}
	if err := t.done(); err != nil {
		return err
	}
	if q.Page, err = pageOf(r); err != nil {
		return err
	}
	list, err := a.Templates.Templates(r.Context(), a.actor(r), q)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, list)
}

func (a *API) getTemplateExamples(w http.ResponseWriter, r *http.Request) error {
	if r.PathValue("organization") != "" {
		if _, err := a.pathOrganization(r); err != nil {
			return err
		}
	}
	list, err := a.Templates.TemplateExamples(r.Context(), a.actor(r))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, list)
}

func (a *API) postTemplate(w http.ResponseWriter, r *http.Request) error {
	o, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	req, err := decode[coder.CreateTemplateRequest](r)
	if err != nil {
		return err
	}
	t, err := a.Templates.CreateTemplate(r.Context(), a.actor(r), o.ID, req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, t)
}

func (a *API) getTemplateByName(w http.ResponseWriter, r *http.Request) error {
	o, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	t, err := a.Templates.TemplateByName(r.Context(), a.actor(r), o.ID, r.PathValue("templatename"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, t)
}

func (a *API) getTemplate(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "template")
	if err != nil {
		return err
	}
	t, err := a.Templates.Template(r.Context(), a.actor(r), id)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, t)
}

func (a *API) patchTemplate(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "template")
	if err != nil {
		return err
	}
	req, err := decode[coder.UpdateTemplateMeta](r)
	if err != nil {
		return err
	}
	t, err := a.Templates.UpdateTemplate(r.Context(), a.actor(r), id, req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, t)
}

func (a *API) deleteTemplate(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "template")
	if err != nil {
		return err
	}
	if err := a.Templates.DeleteTemplate(r.Context(), a.actor(r), id); err != nil {
		return err
	}
	return reply(w, http.StatusOK, coder.Response{Message: "The template was deleted"})
}

func (a *API) patchActiveVersion(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "template")
	if err != nil {
		return err
	}
	req, err := decode[coder.UpdateActiveTemplateVersion](r)
	if err != nil {
		return err
	}
	if err := a.Templates.UpdateActiveTemplateVersion(r.Context(), a.actor(r), id, req); err != nil {
		return err
	}
	return reply(w, http.StatusOK, coder.Response{Message: "The version is the active one now"})
}

func (a *API) getTemplateACL(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "template")
	if err != nil {
		return err
	}
	acl, err := a.Templates.TemplateACL(r.Context(), a.actor(r), id)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, acl)
}

func (a *API) patchTemplateACL(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "template")
	if err != nil {
		return err
	}
	req, err := decode[coder.UpdateTemplateACL](r)
	if err != nil {
		return err
	}
	if err := a.Templates.UpdateTemplateACL(r.Context(), a.actor(r), id, req); err != nil {
		return err
	}
	return reply(w, http.StatusOK, coder.Response{Message: "The access list was changed"})
}

func (a *API) getTemplateACLAvailable(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "template")
	if err != nil {
		return err
	}
	p, err := pageOf(r)
	if err != nil {
		return err
	}
	out, err := a.Templates.TemplateACLAvailable(r.Context(), a.actor(r), id, clip(r.URL.Query().Get("q"), maxSearch), p)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}
