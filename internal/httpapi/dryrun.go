package httpapi

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// dryRunRoutes are dry runs of template versions. (TPL-07)
func (a *API) dryRunRoutes() []rest.Route {
	const (
		job  = codersdk.RBACResourceProvisionerJobs // of the user who started it, or of users who may update the template
		read = codersdk.RBACActionRead
		path = "/templateversions/{templateversion}/dry-run"
	)
	s := a.Templates
	return []rest.Route{
		{Method: "POST", Path: path, Summary: "Start a dry run of a workspace",
			Action: codersdk.RBACActionCreate, Resource: codersdk.RBACResourceWorkspace, In: codersdk.CreateTemplateVersionDryRunRequest{},
			Out: codersdk.ProvisionerJob{}, Status: 201, Handler: a.postDryRun},
		{Method: "GET", Path: path + "/{jobID}", Summary: "Get a dry run's job",
			Action: read, Resource: job, Out: codersdk.ProvisionerJob{}, Handler: dryRunDetail(a, s.TemplateVersionDryRun)},
		{Method: "GET", Path: path + "/{jobID}/resources", Summary: "List the resources of a dry run",
			Action: read, Resource: job, Out: []codersdk.WorkspaceResource{}, Handler: dryRunDetail(a, s.TemplateVersionDryRunResources)},
		{Method: "GET", Path: path + "/{jobID}/matched-provisioners", Summary: "Count the provisioners that match a dry run",
			Action: read, Resource: job, Out: codersdk.MatchedProvisioners{}, Handler: dryRunDetail(a, s.TemplateVersionDryRunMatched)},
		{Method: "GET", Path: path + "/{jobID}/logs", Summary: "Get the log of a dry run",
			Action: read, Resource: job, Out: []codersdk.ProvisionerJobLog{}, Handler: a.getDryRunLogs},
		{Method: "PATCH", Path: path + "/{jobID}/cancel", Summary: "Cancel a dry run",
			Action: read, Resource: job, Out: codersdk.Response{}, Handler: a.cancelDryRun},
	}
}

func (a *API) postDryRun(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "templateversion")
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.CreateTemplateVersionDryRunRequest](r)
	if err != nil {
		return err
	}
	job, err := a.Templates.CreateTemplateVersionDryRun(r.Context(), rest.Actor(r), id, req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, job)
}

// pathDryRun reads the version and the job from the path.
func pathDryRun(r *http.Request) (version, job uuid.UUID, err error) {
	if version, err = rest.PathID(r, "templateversion"); err != nil {
		return version, job, err
	}
	job, err = rest.PathID(r, "jobID")
	return version, job, err
}

// dryRunDetail replies with the result of get for the dry run in the path.
func dryRunDetail[T any](a *API, get func(context.Context, access.Subject, uuid.UUID, uuid.UUID) (T, error)) rest.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		version, job, err := pathDryRun(r)
		if err != nil {
			return err
		}
		v, err := get(r.Context(), rest.Actor(r), version, job)
		if err != nil {
			return err
		}
		return rest.Reply(w, http.StatusOK, v)
	}
}

func (a *API) getDryRunLogs(w http.ResponseWriter, r *http.Request) error {
	version, id, err := pathDryRun(r)
	if err != nil {
		return err
	}
	job, err := a.Templates.TemplateVersionDryRun(r.Context(), rest.Actor(r), version, id)
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
	if err := a.Templates.CancelTemplateVersionDryRun(r.Context(), rest.Actor(r), version, id); err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, codersdk.Response{Message: "The dry run is being canceled"})
}
