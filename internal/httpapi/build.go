package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// maxState bounds a request with Terraform state, in bytes. The state is base64
// in JSON.
const maxState = 96 << 20

// buildRoutes are the routes of workspace builds.
func (a *API) buildRoutes() []rest.Route {
	if a.Workspaces == nil {
		return nil
	}
	const res = codersdk.RBACResourceWorkspace
	return []rest.Route{
		{Method: "GET", Path: "/workspaces/{workspace}/builds", Summary: "List the builds of a workspace",
			Query: rest.Paged(
				rest.Param{Name: "since", Type: "string", About: "RFC 3339 time: only builds created after it."},
				rest.Param{Name: "after_id", Type: "string", About: "Id of the last build of the previous page."},
			),
			Action: codersdk.RBACActionRead, Resource: res, Out: []codersdk.WorkspaceBuild{}, Handler: a.listBuilds},
		{Method: "POST", Path: "/workspaces/{workspace}/builds", Summary: "Start, stop or delete a workspace",
			Action: codersdk.RBACActionUpdate, Resource: res, In: codersdk.CreateWorkspaceBuildRequest{}, Out: codersdk.WorkspaceBuild{},
			Status: 201, MaxBody: maxState, Handler: a.createBuild},
		{Method: "GET", Path: "/users/{user}/workspace/{workspacename}/builds/{buildnumber}", Summary: "Get a build by its number",
			Action: codersdk.RBACActionRead, Resource: res, Out: codersdk.WorkspaceBuild{}, Handler: a.getBuildByNumber},
		{Method: "GET", Path: "/workspacebuilds/{workspacebuild}", Summary: "Get a build",
			Action: codersdk.RBACActionRead, Resource: res, Out: codersdk.WorkspaceBuild{}, Handler: a.getBuild},
		{Method: "PATCH", Path: "/workspacebuilds/{workspacebuild}/cancel", Summary: "Cancel a build",
			Action: codersdk.RBACActionUpdate, Resource: res, Out: codersdk.Response{}, Handler: a.cancelBuild},
		{Method: "GET", Path: "/workspacebuilds/{workspacebuild}/logs", Summary: "Get the log of a build",
			Action: codersdk.RBACActionRead, Resource: res, Out: []codersdk.ProvisionerJobLog{}, Handler: a.getBuildLogs},
		{Method: "GET", Path: "/workspacebuilds/{workspacebuild}/parameters", Summary: "Get the parameters of a build",
			Action: codersdk.RBACActionRead, Resource: res, Out: []codersdk.WorkspaceBuildParameter{}, Handler: a.getBuildParameters},
		{Method: "GET", Path: "/workspacebuilds/{workspacebuild}/resources", Summary: "Get the resources of a build",
			Action: codersdk.RBACActionRead, Resource: res, Out: []codersdk.WorkspaceResource{}, Handler: a.getBuildResources},
		{Method: "GET", Path: "/workspacebuilds/{workspacebuild}/state", Summary: "Get the Terraform state of a build",
			Action: codersdk.RBACActionUpdate, Resource: codersdk.RBACResourceTemplate, Handler: a.getBuildState},
		{Method: "PUT", Path: "/workspacebuilds/{workspacebuild}/state", Summary: "Replace the Terraform state of a build",
			Action: codersdk.RBACActionUpdate, Resource: codersdk.RBACResourceTemplate, In: codersdk.UpdateWorkspaceBuildStateRequest{},
			Status: 204, MaxBody: maxState, Handler: a.putBuildState},
		{Method: "GET", Path: "/workspacebuilds/{workspacebuild}/timings", Summary: "Get the timings of a build",
			Action: codersdk.RBACActionRead, Resource: res, Out: codersdk.WorkspaceBuildTimings{}, Handler: a.getBuildTimings},
	}
}

func (a *API) listBuilds(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspace")
	if err != nil {
		return err
	}
	var p workspace.Page
	if p.Limit, p.Offset, err = rest.Page(r); err != nil {
		return err
	}
	if p.After, err = rest.QueryID(r, "after_id"); err != nil {
		return err
	}
	if v := r.URL.Query().Get("since"); v != "" {
		if p.Since, err = time.Parse(time.RFC3339Nano, v); err != nil {
			return codersdk.Invalid("since", "%q is not an RFC 3339 time such as 2006-01-02T15:04:05Z", rest.Truncate(v, 64))
		}
	}
	out, err := a.Workspaces.Builds(r.Context(), rest.Actor(r), id, p)
	if err != nil {
		return err
	}
	return rest.Reply(w, 200, out)
}

func (a *API) createBuild(w http.ResponseWriter, r *http.Request) error {
	id, req, err := setting[codersdk.CreateWorkspaceBuildRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Workspaces.CreateWorkspaceBuild(r.Context(), rest.Actor(r), id, req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, out)
}

func (a *API) getBuildByNumber(w http.ResponseWriter, r *http.Request) error {
	owner, err := a.pathOwner(r)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(r.PathValue("buildnumber"), 10, 32)
	if err != nil || n < 1 {
		return codersdk.Invalid("buildnumber", "%q is not a build number; numbers start at 1", rest.Truncate(r.PathValue("buildnumber"), 32))
	}
	out, err := a.Workspaces.BuildByNumber(r.Context(), rest.Actor(r), owner, r.PathValue("workspacename"), int32(n))
	if err != nil {
		return err
	}
	return rest.Reply(w, 200, out)
}

// replyForBuild replies with the result of get for the build in the path.
func replyForBuild[T any](a *API, w http.ResponseWriter, r *http.Request, get func(id uuid.UUID) (T, error)) error {
	id, err := rest.PathID(r, "workspacebuild")
	if err != nil {
		return err
	}
	out, err := get(id)
	if err != nil {
		return err
	}
	return rest.Reply(w, 200, out)
}

func (a *API) getBuild(w http.ResponseWriter, r *http.Request) error {
	return replyForBuild(a, w, r, func(id uuid.UUID) (codersdk.WorkspaceBuild, error) {
		return a.Workspaces.Build(r.Context(), rest.Actor(r), id)
	})
}

func (a *API) getBuildParameters(w http.ResponseWriter, r *http.Request) error {
	return replyForBuild(a, w, r, func(id uuid.UUID) ([]codersdk.WorkspaceBuildParameter, error) {
		return a.Workspaces.BuildParameters(r.Context(), rest.Actor(r), id)
	})
}

func (a *API) getBuildResources(w http.ResponseWriter, r *http.Request) error {
	return replyForBuild(a, w, r, func(id uuid.UUID) ([]codersdk.WorkspaceResource, error) {
		return a.Workspaces.BuildResources(r.Context(), rest.Actor(r), id)
	})
}

func (a *API) getBuildTimings(w http.ResponseWriter, r *http.Request) error {
	return replyForBuild(a, w, r, func(id uuid.UUID) (codersdk.WorkspaceBuildTimings, error) {
		return a.Workspaces.BuildTimings(r.Context(), rest.Actor(r), id)
	})
}

func (a *API) cancelBuild(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspacebuild")
	if err != nil {
		return err
	}
	if err := a.Workspaces.CancelWorkspaceBuild(r.Context(), rest.Actor(r), id, r.URL.Query().Get("expect_status")); err != nil {
		return err
	}
	return rest.Reply(w, 200, codersdk.Response{Message: "The build is being canceled"})
}

func (a *API) getBuildLogs(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspacebuild")
	if err != nil {
		return err
	}
	job, err := a.Workspaces.BuildJob(r.Context(), rest.Actor(r), id)
	if err != nil {
		return err
	}
	return a.serveJobLogs(w, r, job)
}

func (a *API) getBuildState(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspacebuild")
	if err != nil {
		return err
	}
	state, err := a.Workspaces.BuildState(r.Context(), rest.Actor(r), id)
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
	id, err := rest.PathID(r, "workspacebuild")
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.UpdateWorkspaceBuildStateRequest](r)
	if err != nil {
		return err
	}
	if err := a.Workspaces.UpdateBuildState(r.Context(), rest.Actor(r), id, req.State); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}
