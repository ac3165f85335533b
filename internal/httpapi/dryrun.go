package httpapi

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
)

// dryRunRoutes are the routes of dry runs. (TPL-07)
func (a *API) dryRunRoutes() []Route {
	const (
		job  = coder.RBACResourceProvisionerJobs // of who began it, or may change the template
		read = coder.RBACActionRead
		path = "/templateversions/{templateversion}/dry-run"
	)
	s := a.Templates
	return []Route{
		{Method: "POST", Path: path, Summary: "Plan a workspace without making it", Action: coder.RBACActionCreate, Resource: coder.RBACResourceWorkspace, In: coder.CreateTemplateVersionDryRunRequest{}, Out: coder.ProvisionerJob{}, Status: 201, Handler: a.postDryRun},
		{Method: "GET", Path: path + "/{jobID}", Summary: "A dry run's job", Action: read, Resource: job, Out: coder.ProvisionerJob{}, Handler: dryRunDetail(a, s.TemplateVersionDryRun)},
		{Method: "GET", Path: path + "/{jobID}/resources", Summary: "What the workspace would be made of", Action: read, Resource: job, Out: []coder.WorkspaceResource{}, Handler: dryRunDetail(a, s.TemplateVersionDryRunResources)},
		{Method: "GET", Path: path + "/{jobID}/matched-provisioners", Summary: "Who could do the dry run", Action: read, Resource: job, Out: coder.MatchedProvisioners{}, Handler: dryRunDetail(a, s.TemplateVersionDryRunMatched)},
		{Method: "GET", Path: path + "/{jobID}/logs", Summary: "The log of a dry run", Action: read, Resource: job, Out: []coder.ProvisionerJobLog{}, Handler: a.getDryRunLogs},
		{Method: "PATCH", Path: path + "/{jobID}/cancel", Summary: "Cancel a dry run", Action: read, Resource: job, Out: coder.Response{}, Handler: a.cancelDryRun},
	}
}

func (a *API) postDryRun(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "templateversion")
	if err != nil {
		return err
	}
	req, err := decode[coder.CreateTemplateVersionDryRunRequest](r)
	if err != nil {
		return err
	}
	job, err := a.Templates.CreateTemplateVersionDryRun(r.Context(), a.actor(r), id, req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, job)
}

// pathDryRun reads the version and the job in the path.
func pathDryRun(r *http.Request) (version, job uuid.UUID, err error) {
	if version, err = pathID(r, "templateversion"); err != nil {
		return version, job, err
	}
	job, err = pathID(r, "jobID")
	return version, job, err
}

// dryRunDetail answers what one call tells of the dry run in the path.
func dryRunDetail[T any](a *API, get func(context.Context, access.Subject, uuid.UUID, uuid.UUID) (T, error)) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		version, job, err := pathDryRun(r)
		if err != nil {
			return err
		}
		v, err := get(r.Context(), a.actor(r), version, job)
		if err != nil {
			return err
		}
		return reply(w, http.StatusOK, v)
	}
}

func (a *API) getDryRunLogs(w http.ResponseWriter, r *http.Request) error {
	version, id, err := pathDryRun(r)
	if err != nil {
		return err
	}
	job, err := a.Templates.TemplateVersionDryRun(r.Context(), a.actor(r), version, id)
	if err != nil {
		return err
	}
	return a.serveJobLogs(w, r, job.ID)
}

func (a *API) cancelDryRun(w http.ResponseWriter, r *http.Request) error {
	version, id, err := pathDryRun(r)
	if err != nil {
		return err
	}
	if err := a.Templates.CancelTemplateVersionDryRun(r.Context(), a.actor(r), version, id); err != nil {
		return err
	}
	return reply(w, http.StatusOK, coder.Response{Message: "The dry run is being canceled"})
}
