package httpapi

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/template"
)

// versionRoutes are template versions. (TPL-02, TPL-06, TPL-19)
func (a *API) versionRoutes() []rest.Route {
	if a.Templates == nil {
		return nil
	}
	const (
		tpl    = codersdk.RBACResourceTemplate
		read   = codersdk.RBACActionRead
		update = codersdk.RBACActionUpdate
	)
	s := a.Templates
	return append([]rest.Route{
		{Method: "POST", Path: "/organizations/{organization}/templateversions", Summary: "Create a version and start its import",
			Action: codersdk.RBACActionCreate, Resource: tpl, In: codersdk.CreateTemplateVersionRequest{}, Out: codersdk.TemplateVersion{},
			Status: 201, Handler: a.postVersion},
		{Method: "GET", Path: "/organizations/{organization}/templates/{templatename}/versions/{templateversionname}",
			Summary: "Get a version by template name and version name",
			Action:  read, Resource: tpl, Out: codersdk.TemplateVersion{}, Handler: a.versionByNames(s.TemplateVersionByNames)},
		{Method: "GET", Path: "/organizations/{organization}/templates/{templatename}/versions/{templateversionname}/previous",
			Summary: "Get the previous version",
			Action:  read, Resource: tpl, Out: codersdk.TemplateVersion{}, Handler: a.versionByNames(s.PreviousTemplateVersion)},
		{Method: "GET", Path: "/templates/{template}/versions", Summary: "List a template's versions",
			Query: rest.Paged(
				rest.Param{Name: "after_id", Type: "string", About: "Id of the last version of the previous page."},
				rest.Param{Name: "include_archived", Type: "boolean", About: "Include archived versions."},
				rest.Param{Name: "newest_first", Type: "boolean", About: "List the newest version first instead of the oldest."},
			),
			Action: read, Resource: tpl, Out: []codersdk.TemplateVersion{}, Handler: a.getVersions},
		{Method: "GET", Path: "/templates/{template}/versions/{templateversionname}", Summary: "Get a version by name",
			Action: read, Resource: tpl, Out: codersdk.TemplateVersion{}, Handler: a.getVersionByName},
		{Method: "POST", Path: "/templates/{template}/versions/archive", Summary: "Archive unused versions",
			Action: update, Resource: tpl, In: codersdk.ArchiveTemplateVersionsRequest{}, Out: archived{}, Handler: a.postArchiveVersions},
		{Method: "GET", Path: "/templateversions/{templateversion}", Summary: "Get a version",
			Action: read, Resource: tpl, Out: codersdk.TemplateVersion{}, Handler: versionDetail(a, s.TemplateVersion)},
		{Method: "PATCH", Path: "/templateversions/{templateversion}", Summary: "Rename a version",
			Action: update, Resource: tpl, In: codersdk.PatchTemplateVersionRequest{}, Out: codersdk.TemplateVersion{},
			Handler: a.patchVersion},
		{Method: "PATCH", Path: "/templateversions/{templateversion}/cancel", Summary: "Cancel a version's import",
			Action: update, Resource: tpl, Out: codersdk.Response{}, Handler: a.cancelVersion},
		{Method: "POST", Path: "/templateversions/{templateversion}/archive", Summary: "Archive a version",
			Action: update, Resource: tpl, Out: codersdk.Response{}, Handler: a.archiveVersion(true)},
		{Method: "POST", Path: "/templateversions/{templateversion}/unarchive", Summary: "Unarchive a version",
			Action: update, Resource: tpl, Out: codersdk.Response{}, Handler: a.archiveVersion(false)},
		{Method: "GET", Path: "/templateversions/{templateversion}/logs", Summary: "Get the log of a version's import",
			Action: read, Resource: tpl, Out: []codersdk.ProvisionerJobLog{}, Handler: a.getVersionLogs},
		{Method: "GET", Path: "/templateversions/{templateversion}/resources", Summary: "List the resources of a version",
			Action: read, Resource: tpl, Out: []codersdk.WorkspaceResource{}, Handler: versionDetail(a, s.TemplateVersionResources)},
		{Method: "GET", Path: "/templateversions/{templateversion}/rich-parameters", Summary: "List a version's parameters",
			Action: read, Resource: tpl, Out: []codersdk.TemplateVersionParameter{}, Handler: versionDetail(a, s.TemplateVersionParameters)},
		{Method: "GET", Path: "/templateversions/{templateversion}/variables", Summary: "List a version's variables",
			Action: read, Resource: tpl, Out: []codersdk.TemplateVersionVariable{}, Handler: versionDetail(a, s.TemplateVersionVariables)},
		{Method: "GET", Path: "/templateversions/{templateversion}/presets", Summary: "List a version's presets",
			Action: read, Resource: tpl, Out: []codersdk.Preset{}, Handler: versionDetail(a, s.TemplateVersionPresets)},
		{Method: "GET", Path: "/templateversions/{templateversion}/external-auth",
			Summary: "List the external authentication of a version",
			Action:  read, Resource: tpl, Out: []codersdk.TemplateVersionExternalAuth{},
			Handler: versionDetail(a, s.TemplateVersionExternalAuth)},
		{Method: "GET", Path: "/templateversions/{templateversion}/parameters", Summary: "Always an empty list; kept for older clients",
			Action: read, Resource: tpl, Handler: a.getNothingOfVersion},
		{Method: "GET", Path: "/templateversions/{templateversion}/schema", Summary: "Always an empty list; kept for older clients",
			Action: read, Resource: tpl, Handler: a.getNothingOfVersion},
	}, a.dryRunRoutes()...)
}

// archived is a codersdk.Response with the ids of the archived versions.
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
	req, err := rest.Decode[codersdk.CreateTemplateVersionRequest](r)
	if err != nil {
		return err
	}
	v, err := a.Templates.CreateTemplateVersion(r.Context(), rest.Actor(r), o.ID, req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, v)
}

// versionByNames replies with the version that find returns for the names in
// the path.
func (a *API) versionByNames(
	find func(ctx context.Context, actor access.Subject, organization uuid.UUID, template, name string) (codersdk.TemplateVersion, error),
) rest.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		o, err := a.pathOrganization(r)
		if err != nil {
			return err
		}
		v, err := find(r.Context(), rest.Actor(r), o.ID, r.PathValue("templatename"), r.PathValue("templateversionname"))
		if err != nil {
			return err
		}
		return rest.Reply(w, http.StatusOK, v)
	}
}

func (a *API) getVersions(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "template")
	if err != nil {
		return err
	}
	var p template.Page
	if p.Limit, p.Offset, err = rest.Page(r); err != nil {
		return err
	}
	if p.AfterID, err = rest.QueryID(r, "after_id"); err != nil {
		return err
	}
	if p.IncludeArchived, err = rest.QueryBool(r, "include_archived"); err != nil {
		return err
	}
	if p.NewestFirst, err = rest.QueryBool(r, "newest_first"); err != nil {
		return err
	}
	list, err := a.Templates.TemplateVersions(r.Context(), rest.Actor(r), id, p)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, list)
}

func (a *API) getVersionByName(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "template")
	if err != nil {
		return err
	}
	v, err := a.Templates.TemplateVersionByName(r.Context(), rest.Actor(r), id, r.PathValue("templateversionname"))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, v)
}

func (a *API) postArchiveVersions(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "template")
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.ArchiveTemplateVersionsRequest](r)
	if err != nil {
		return err
	}
	ids, err := a.Templates.ArchiveTemplateVersions(r.Context(), rest.Actor(r), id, req.All)
	if err != nil {
		return err
	}
	if ids == nil {
		ids = []uuid.UUID{}
	}
	return rest.Reply(w, http.StatusOK, archived{Message: "The versions are archived", TemplateID: id, ArchivedIDs: ids})
}

// versionDetail replies with the result of get for the version in the path.
func versionDetail[T any](a *API, get func(context.Context, access.Subject, uuid.UUID) (T, error)) rest.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := rest.PathID(r, "templateversion")
		if err != nil {
			return err
		}
		v, err := get(r.Context(), rest.Actor(r), id)
		if err != nil {
			return err
		}
		return rest.Reply(w, http.StatusOK, v)
	}
}

func (a *API) patchVersion(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "templateversion")
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.PatchTemplateVersionRequest](r)
	if err != nil {
		return err
	}
	v, err := a.Templates.UpdateTemplateVersion(r.Context(), rest.Actor(r), id, req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, v)
}

func (a *API) cancelVersion(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "templateversion")
	if err != nil {
		return err
	}
	if err := a.Templates.CancelTemplateVersion(r.Context(), rest.Actor(r), id); err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, codersdk.Response{Message: "The import is being canceled"})
}

func (a *API) archiveVersion(archived bool) rest.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := rest.PathID(r, "templateversion")
		if err != nil {
			return err
		}
		if err := a.Templates.ArchiveTemplateVersion(r.Context(), rest.Actor(r), id, archived); err != nil {
			return err
		}
		return rest.Reply(w, http.StatusOK, codersdk.Response{Message: "The version is updated"})
	}
}

func (a *API) getVersionLogs(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "templateversion")
	if err != nil {
		return err
	}
	job, err := a.Templates.TemplateVersionJob(r.Context(), rest.Actor(r), id)
	if err != nil {
		return err
	}
	return a.serveJobLogs(w, r, job)
}

func (a *API) getNothingOfVersion(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "templateversion")
	if err != nil {
		return err
	}
	if _, err := a.Templates.TemplateVersionJob(r.Context(), rest.Actor(r), id); err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, []struct{}{})
}
