package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// maxState bounds Terraform state in a request, which carries it in base64.
const maxState = 96 << 20

// buildRoutes are the routes of workspace builds.
func (a *API) buildRoutes() []Route {
	if a.Workspaces == nil {
		return nil
	}
	const res = coder.RBACResourceWorkspace
	return []Route{
		{Method: "GET", Path: "/workspaces/{workspace}/builds", Summary: "List the builds of a workspace", Query: paged(Param{"since", "string", "A moment (RFC 3339): builds made after it."}, Param{"after_id", "string", "The last build of the page before."}), Action: coder.RBACActionRead, Resource: res, Out: []coder.WorkspaceBuild{}, Handler: a.listBuilds},
		{Method: "POST", Path: "/workspaces/{workspace}/builds", Summary: "Start, stop or delete a workspace", Action: coder.RBACActionUpdate, Resource: res, In: coder.CreateWorkspaceBuildRequest{}, Out: coder.WorkspaceBuild{}, MaxBody: maxState, Handler: a.createBuild},
		{Method: "GET", Path: "/users/{user}/workspace/{workspacename}/builds/{buildnumber}", Summary: "Get a build by its number", Action: coder.RBACActionRead, Resource: res, Out: coder.WorkspaceBuild{}, Handler: a.getBuildByNumber},
		{Method: "GET", Path: "/workspacebuilds/{workspacebuild}", Summary: "Get a build", Action: coder.RBACActionRead, Resource: res, Out: coder.WorkspaceBuild{}, Handler: a.getBuild},
		{Method: "PATCH", Path: "/workspacebuilds/{workspacebuild}/cancel", Summary: "Cancel a build", Action: coder.RBACActionUpdate, Resource: res, Out: coder.Response{}, Handler: a.cancelBuild},
		{Method: "GET", Path: "/workspacebuilds/{workspacebuild}/logs", Summary: "Get the log of a build", Action: coder.RBACActionRead, Resource: res, Out: []coder.ProvisionerJobLog{}, Handler: a.getBuildLogs},
		{Method: "GET", Path: "/workspacebuilds/{workspacebuild}/parameters", Summary: "Get the parameters of a build", Action: coder.RBACActionRead, Resource: res, Out: []coder.WorkspaceBuildParameter{}, Handler: a.getBuildParameters},
		{Method: "GET", Path: "/workspacebuilds/{workspacebuild}/resources", Summary: "Get the resources of a build", Action: coder.RBACActionRead, Resource: res, Out: []coder.WorkspaceResource{}, Handler: a.getBuildResources},
		{Method: "GET", Path: "/workspacebuilds/{workspacebuild}/state", Summary: "Get the Terraform state of a build", Action: coder.RBACActionUpdate, Resource: coder.RBACResourceTemplate, Handler: a.getBuildState},
		{Method: "PUT", Path: "/workspacebuilds/{workspacebuild}/state", Summary: "Replace the Terraform state of a build", Action: coder.RBACActionUpdate, Resource: coder.RBACResourceTemplate, In: coder.UpdateWorkspaceBuildStateRequest{}, Status: 204, MaxBody: maxState, Handler: a.putBuildState},
		{Method: "GET", Path: "/workspacebuilds/{workspacebuild}/timings", Summary: "How long a build took", Action: coder.RBACActionRead, Resource: res, Out: coder.WorkspaceBuildTimings{}, Handler: a.getBuildTimings},
	}
}

func (a *API) listBuilds(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspace")
	if err != nil {
		return err
	}
	var p workspace.Page
	if p.Limit, p.Offset, err = page(r); err != nil {
		return err
	}
	if p.After, err = queryID(r, "after_id"); err != nil {
		return err
	}
	if v := r.URL.Query().Get("since"); v != "" {
		if p.Since, err = time.Parse(time.RFC3339Nano, v); err != nil {
			return coder.Invalid("since", "%q is not a time like 2006-01-02T15:04:05Z", clip(v, 64))
		}
	}
	out, err := a.Workspaces.Builds(r.Context(), a.actor(r), id, p)
	if err != nil {
		return err
	}
	return reply(w, 200, out)
}

func (a *API) createBuild(w http.ResponseWriter, r *http.Request) error {
	id, req, err := setting[coder.CreateWorkspaceBuildRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Workspaces.CreateWorkspaceBuild(r.Context(), a.actor(r), id, req)
	if err != nil {
		return err
	}
	return reply(w, 200, out)
}

func (a *API) getBuildByNumber(w http.ResponseWriter, r *http.Request) error {
	owner, err := a.pathOwner(r)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(r.PathValue("buildnumber"), 10, 32)
	if err != nil || n < 1 {
		return coder.Invalid("buildnumber", "%q is not a number from 1", clip(r.PathValue("buildnumber"), 32))
	}
	out, err := a.Workspaces.BuildByNumber(r.Context(), a.actor(r), owner, r.PathValue("workspacename"), int32(n))
	if err != nil {
		return err
	}
	return reply(w, 200, out)
}

// ofBuild answers with what get gives of the build that the path names.
func ofBuild[T any](a *API, w http.ResponseWriter, r *http.Request, get func(id uuid.UUID) (T, error)) error {
	id, err := pathID(r, "workspacebuild")
	if err != nil {
		return err
	}
	out, err := get(id)
	if err != nil {
		return err
	}
	return reply(w, 200, out)
}

func (a *API) getBuild(w http.ResponseWriter, r *http.Request) error {
	return ofBuild(a, w, r, func(id uuid.UUID) (coder.WorkspaceBuild, error) {
		return a.Workspaces.Build(r.Context(), a.actor(r), id)
	})
}

func (a *API) getBuildParameters(w http.ResponseWriter, r *http.Request) error {
	return ofBuild(a, w, r, func(id uuid.UUID) ([]coder.WorkspaceBuildParameter, error) {
		return a.Workspaces.BuildParameters(r.Context(), a.actor(r), id)
	})
}

func (a *API) getBuildResources(w http.ResponseWriter, r *http.Request) error {
	return ofBuild(a, w, r, func(id uuid.UUID) ([]coder.WorkspaceResource, error) {
		return a.Workspaces.BuildResources(r.Context(), a.actor(r), id)
	})
}

func (a *API) getBuildTimings(w http.ResponseWriter, r *http.Request) error {
	return ofBuild(a, w, r, func(id uuid.UUID) (coder.WorkspaceBuildTimings, error) {
		return a.Workspaces.BuildTimings(r.Context(), a.actor(r), id)
	})
}

func (a *API) cancelBuild(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspacebuild")
	if err != nil {
		return err
	}
	if err := a.Workspaces.CancelWorkspaceBuild(r.Context(), a.actor(r), id, r.URL.Query().Get("expect_status")); err != nil {
		return err
	}
	return reply(w, 200, coder.Response{Message: "The build is being canceled"})
}

func (a *API) getBuildLogs(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspacebuild")
	if err != nil {
		return err
	}
	job, err := a.Workspaces.BuildJob(r.Context(), a.actor(r), id)
	if err != nil {
		return err
	}
	return a.serveJobLogs(w, r, job)
}

func (a *API) getBuildState(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspacebuild")
	if err != nil {
		return err
	}
	state, err := a.Workspaces.BuildState(r.Context(), a.actor(r), id)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(state)))
	w.Write(state) //nolint:errcheck // the client went away
	return nil
}

func (a *API) putBuildState(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspacebuild")
	if err != nil {
		return err
	}
	req, err := decode[coder.UpdateWorkspaceBuildStateRequest](r)
	if err != nil {
		return err
	}
	if err := a.Workspaces.UpdateBuildState(r.Context(), a.actor(r), id, req.State); err != nil {
		return err
	}
	return done(w)
}
