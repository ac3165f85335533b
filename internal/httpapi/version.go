package httpapi

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/template"
)

// versionRoutes are the routes of template versions. (TPL-02, TPL-06, TPL-19)
func (a *API) versionRoutes() []Route {
	if a.Templates == nil {
		return nil
	}
	const (
		tpl    = coder.RBACResourceTemplate
		read   = coder.RBACActionRead
		update = coder.RBACActionUpdate
	)
	s := a.Templates
	return append([]Route{
		{Method: "POST", Path: "/organizations/{organization}/templateversions", Summary: "Make a version and start its import", Action: coder.RBACActionCreate, Resource: tpl, In: coder.CreateTemplateVersionRequest{}, Out: coder.TemplateVersion{}, Status: 201, Handler: a.postVersion},
		{Method: "GET", Path: "/organizations/{organization}/templates/{templatename}/versions/{templateversionname}", Summary: "A version by names", Action: read, Resource: tpl, Out: coder.TemplateVersion{}, Handler: a.versionByNames(s.TemplateVersionByNames)},
		{Method: "GET", Path: "/organizations/{organization}/templates/{templatename}/versions/{templateversionname}/previous", Summary: "The version made before", Action: read, Resource: tpl, Out: coder.TemplateVersion{}, Handler: a.versionByNames(s.PreviousTemplateVersion)},
		{Method: "GET", Path: "/templates/{template}/versions", Summary: "List a template's versions", Query: paged(Param{"after_id", "string", "The last version of the page before."}, Param{"include_archived", "boolean", "Archived ones, too."}), Action: read, Resource: tpl, Out: []coder.TemplateVersion{}, Handler: a.getVersions},
		{Method: "GET", Path: "/templates/{template}/versions/{templateversionname}", Summary: "A version by its name", Action: read, Resource: tpl, Out: coder.TemplateVersion{}, Handler: a.getVersionByName},
		{Method: "POST", Path: "/templates/{template}/versions/archive", Summary: "Archive versions that nobody needs", Action: update, Resource: tpl, In: coder.ArchiveTemplateVersionsRequest{}, Out: archived{}, Handler: a.postArchiveVersions},
		{Method: "GET", Path: "/templateversions/{templateversion}", Summary: "One version", Action: read, Resource: tpl, Out: coder.TemplateVersion{}, Handler: versionDetail(a, s.TemplateVersion)},
		{Method: "PATCH", Path: "/templateversions/{templateversion}", Summary: "Rename a version", Action: update, Resource: tpl, In: coder.PatchTemplateVersionRequest{}, Out: coder.TemplateVersion{}, Handler: a.patchVersion},
		{Method: "PATCH", Path: "/templateversions/{templateversion}/cancel", Summary: "Cancel a version's import", Action: update, Resource: tpl, Out: coder.Response{}, Handler: a.cancelVersion},
		{Method: "POST", Path: "/templateversions/{templateversion}/archive", Summary: "Archive a version", Action: update, Resource: tpl, Out: coder.Response{}, Handler: a.archiveVersion(true)},
		{Method: "POST", Path: "/templateversions/{templateversion}/unarchive", Summary: "Unarchive a version", Action: update, Resource: tpl, Out: coder.Response{}, Handler: a.archiveVersion(false)},
		{Method: "GET", Path: "/templateversions/{templateversion}/logs", Summary: "The log of a version's import", Action: read, Resource: tpl, Out: []coder.ProvisionerJobLog{}, Handler: a.getVersionLogs},
		{Method: "GET", Path: "/templateversions/{templateversion}/resources", Summary: "What workspaces of a version are made of", Action: read, Resource: tpl, Out: []coder.WorkspaceResource{}, Handler: versionDetail(a, s.TemplateVersionResources)},
		{Method: "GET", Path: "/templateversions/{templateversion}/rich-parameters", Summary: "A version's parameters", Action: read, Resource: tpl, Out: []coder.TemplateVersionParameter{}, Handler: versionDetail(a, s.TemplateVersionParameters)},
		{Method: "GET", Path: "/templateversions/{templateversion}/variables", Summary: "A version's variables", Action: read, Resource: tpl, Out: []coder.TemplateVersionVariable{}, Handler: versionDetail(a, s.TemplateVersionVariables)},
		{Method: "GET", Path: "/templateversions/{templateversion}/presets", Summary: "A version's presets", Action: read, Resource: tpl, Out: []coder.Preset{}, Handler: versionDetail(a, s.TemplateVersionPresets)},
		{Method: "GET", Path: "/templateversions/{templateversion}/external-auth", Summary: "The logins a version wants", Action: read, Resource: tpl, Out: []coder.TemplateVersionExternalAuth{}, Handler: versionDetail(a, s.TemplateVersionExternalAuth)},
		{Method: "GET", Path: "/templateversions/{templateversion}/parameters", Summary: "Nothing; kept for old clients", Action: read, Resource: tpl, Handler: a.getNothingOfVersion},
		{Method: "GET", Path: "/templateversions/{templateversion}/schema", Summary: "Nothing; kept for old clients", Action: read, Resource: tpl, Handler: a.getNothingOfVersion},
	}, a.dryRunRoutes()...)
}

// archived is a Response that also says which versions were archived.
type archived struct {
	Message     string      `json:"message"`
	TemplateID  uuid.UUID   `json:"template_id"`
	ArchivedIDs []uuid.UUID `json:"archived_ids"`
}

func (a *API) postVersion(w http.ResponseWriter, r *http.Request) error {
	o, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	req, err := decode[coder.CreateTemplateVersionRequest](r)
	if err != nil {
		return err
	}
	v, err := a.Templates.CreateTemplateVersion(r.Context(), a.actor(r), o.ID, req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, v)
}

// versionByNames answers a version that is found by the names in the path.
func (a *API) versionByNames(find func(ctx context.Context, actor access.Subject, organization uuid.UUID, template, name string) (coder.TemplateVersion, error)) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		o, err := a.pathOrganization(r)
		if err != nil {
			return err
		}
		v, err := find(r.Context(), a.actor(r), o.ID, r.PathValue("templatename"), r.PathValue("templateversionname"))
		if err != nil {
			return err
		}
		return reply(w, http.StatusOK, v)
	}
}

func (a *API) getVersions(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "template")
	if err != nil {
		return err
	}
	var p template.Page
	if p.Limit, p.Offset, err = page(r); err != nil {
		return err
	}
	if p.AfterID, err = queryID(r, "after_id"); err != nil {
		return err
	}
	if p.IncludeArchived, err = queryBool(r, "include_archived"); err != nil {
		return err
	}
	list, err := a.Templates.TemplateVersions(r.Context(), a.actor(r), id, p)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, list)
}

func (a *API) getVersionByName(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "template")
	if err != nil {
		return err
	}
	v, err := a.Templates.TemplateVersionByName(r.Context(), a.actor(r), id, r.PathValue("templateversionname"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, v)
}

func (a *API) postArchiveVersions(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "template")
	if err != nil {
		return err
	}
	req, err := decode[coder.ArchiveTemplateVersionsRequest](r)
	if err != nil {
		return err
	}
	ids, err := a.Templates.ArchiveTemplateVersions(r.Context(), a.actor(r), id, req.All)
	if err != nil {
		return err
	}
	if ids == nil {
		ids = []uuid.UUID{}
	}
	return reply(w, http.StatusOK, archived{Message: "The versions were archived", TemplateID: id, ArchivedIDs: ids})
}

// versionDetail answers what one call tells of the version in the path.
func versionDetail[T any](a *API, get func(context.Context, access.Subject, uuid.UUID) (T, error)) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := pathID(r, "templateversion")
		if err != nil {
			return err
		}
		v, err := get(r.Context(), a.actor(r), id)
		if err != nil {
			return err
		}
		return reply(w, http.StatusOK, v)
	}
}

func (a *API) patchVersion(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "templateversion")
	if err != nil {
		return err
	}
	req, err := decode[coder.PatchTemplateVersionRequest](r)
	if err != nil {
		return err
	}
	v, err := a.Templates.UpdateTemplateVersion(r.Context(), a.actor(r), id, req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, v)
}

func (a *API) cancelVersion(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "templateversion")
	if err != nil {
		return err
	}
	if err := a.Templates.CancelTemplateVersion(r.Context(), a.actor(r), id); err != nil {
		return err
	}
	return reply(w, http.StatusOK, coder.Response{Message: "The import is being canceled"})
}

func (a *API) archiveVersion(archived bool) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := pathID(r, "templateversion")
		if err != nil {
			return err
		}
		if err := a.Templates.ArchiveTemplateVersion(r.Context(), a.actor(r), id, archived); err != nil {
			return err
		}
		return reply(w, http.StatusOK, coder.Response{Message: "The version was changed"})
	}
}

func (a *API) getVersionLogs(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "templateversion")
	if err != nil {
		return err
	}
	job, err := a.Templates.TemplateVersionJob(r.Context(), a.actor(r), id)
	if err != nil {
		return err
	}
	return a.serveJobLogs(w, r, job)
}

func (a *API) getNothingOfVersion(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "templateversion")
	if err != nil {
		return err
	}
	if _, err := a.Templates.TemplateVersionJob(r.Context(), a.actor(r), id); err != nil {
		return err
	}
	return reply(w, http.StatusOK, []struct{}{})
}
