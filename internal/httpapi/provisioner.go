package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// provisionerRoutes are provisioner jobs, daemons and keys. Package
// provisionapi serves the daemons' own connection.
func (a *API) provisionerRoutes() []rest.Route {
	const org = "/organizations/{organization}"
	daemon, jobs := codersdk.RBACResourceProvisionerDaemon, codersdk.RBACResourceProvisionerJobs
	return []rest.Route{
		{Method: "GET", Path: org + "/provisionerjobs", Summary: "List provisioner jobs",
			Query: rest.Paged(
				rest.Param{Name: "ids", Type: "string", About: "Comma-separated ids."},
				rest.Param{Name: "status", Type: "string", About: "Comma-separated statuses."},
				rest.Param{Name: "tags", Type: "string", About: "JSON object: only jobs that have at least these tags."},
				rest.Param{Name: "initiator", Type: "string", About: "Id or name of a user."},
			),
			Action: codersdk.RBACActionRead, Resource: jobs, Out: []codersdk.ProvisionerJob{}, Handler: a.getProvisionerJobs},
		{Method: "GET", Path: org + "/provisionerjobs/{job}", Summary: "Get a provisioner job",
			Action: codersdk.RBACActionRead, Resource: jobs, Out: codersdk.ProvisionerJob{}, Handler: a.getProvisionerJob},
		{Method: "GET", Path: org + "/provisionerjobs/{job}/explain", Summary: "Explain why a provisioner job waits",
			Action: codersdk.RBACActionRead, Resource: jobs, Out: codersdk.ProvisionerJobExplanation{}, Handler: a.explainProvisionerJob},
		{Method: "GET", Path: org + "/provisionerqueue", Summary: "Get pending and running jobs by tag set",
			Query: rest.Paged(
				rest.Param{Name: "tags", Type: "string", About: "JSON object: only tag sets that contain these tags."},
				rest.Param{Name: "provisioner_tags", Type: "string", About: "JSON object: only jobs that a provisioner with these tags would run."},
				rest.Param{Name: "target_seconds", Type: "integer", About: "Maximum wait in seconds that recommended_slots aims at; default 60."},
			),
			Action: codersdk.RBACActionRead, Resource: jobs, Out: codersdk.ProvisionerQueue{}, Handler: a.getProvisionerQueue},
		{Method: "GET", Path: org + "/provisionerdaemons", Summary: "List provisioner daemons",
			Query: rest.Paged(
				rest.Param{Name: "ids", Type: "string", About: "Comma-separated ids."},
				rest.Param{Name: "status", Type: "string", About: "Comma-separated statuses."},
				rest.Param{Name: "tags", Type: "string", About: "JSON object: only daemons that have at least these tags."},
			),
			Action: codersdk.RBACActionRead, Resource: daemon, Out: []codersdk.ProvisionerDaemon{}, Handler: a.getProvisionerDaemons},
		{Method: "GET", Path: org + "/provisionerkeys", Summary: "List provisioner keys",
			Query:  rest.Paged(),
			Action: codersdk.RBACActionRead, Resource: daemon, Out: []codersdk.ProvisionerKey{}, Handler: a.getProvisionerKeys},
		{Method: "POST", Path: org + "/provisionerkeys", Summary: "Create a provisioner key",
			Action: codersdk.RBACActionCreate, Resource: daemon, In: codersdk.CreateProvisionerKeyRequest{},
			Out: codersdk.CreateProvisionerKeyResponse{}, Status: 201, Handler: a.postProvisionerKey},
		{Method: "GET", Path: org + "/provisionerkeys/daemons", Summary: "List connected provisioner daemons by key",
			Query:  rest.Paged(),
			Action: codersdk.RBACActionRead, Resource: daemon, Out: []codersdk.ProvisionerKeyDaemons{}, Handler: a.getProvisionerKeyDaemons},
		{Method: "POST", Path: org + "/provisionerkeys/{provisionerkey}/rotate", Summary: "Rotate a provisioner key",
			Action: codersdk.RBACActionUpdate, Resource: daemon, In: codersdk.RotateProvisionerKeyRequest{},
			Out: codersdk.RotateProvisionerKeyResponse{}, Status: 201, Handler: a.postProvisionerKeyRotate},
		{Method: "DELETE", Path: org + "/provisionerkeys/{provisionerkey}", Summary: "Delete a provisioner key",
			Action: codersdk.RBACActionDelete, Resource: daemon, Status: 204, Handler: a.deleteProvisionerKey},
		{Method: "GET", Path: "/provisionerkeys/{provisionerkey}", Summary: "Get a provisioner key by its secret",
			Auth: rest.AuthPublic, Out: codersdk.ProvisionerKey{}, Handler: a.getProvisionerKey},
	}
}

func (a *API) getProvisionerJobs(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	f := queue.JobFilter{}
	if f.IDs, err = queryIDs(r, "ids"); err != nil {
		return err
	}
	if f.Limit, err = queryLimit(r); err != nil {
		return err
	}
	if f.Offset, err = rest.QueryInt(r, "offset"); err != nil {
		return err
	}
	if f.Tags, err = queryTags(r, "tags"); err != nil {
		return err
	}
	f.Statuses, err = queryOneOf(r, "status",
		codersdk.ProvisionerJobStatusPending, codersdk.ProvisionerJobStatusRunning, codersdk.ProvisionerJobStatusSucceeded,
		codersdk.ProvisionerJobStatusCanceling, codersdk.ProvisionerJobStatusCanceled,
		codersdk.ProvisionerJobStatusFailed, codersdk.ProvisionerJobStatusUnknown)
	if err != nil {
		return err
	}
	if ref := r.URL.Query().Get("initiator"); ref != "" {
		u, err := a.Identity.UserByRef(r.Context(), rest.Actor(r), ref)
		if err != nil {
			return err
		}
		f.Initiator = u.ID
	}
	jobs, err := a.Queue.List(r.Context(), rest.Actor(r), org.ID, f)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, jobs)
}

func (a *API) getProvisionerJob(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	id, err := rest.PathID(r, "job")
	if err != nil {
		return err
	}
	job, err := a.Queue.JobIn(r.Context(), rest.Actor(r), org.ID, id)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, job)
}

func (a *API) getProvisionerDaemons(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	f := queue.DaemonFilter{}
	if f.IDs, err = queryIDs(r, "ids"); err != nil {
		return err
	}
	if f.Limit, err = queryLimit(r); err != nil {
		return err
	}
	if f.Offset, err = rest.QueryInt(r, "offset"); err != nil {
		return err
	}
	if f.Tags, err = queryTags(r, "tags"); err != nil {
		return err
	}
	f.Statuses, err = queryOneOf(r, "status",
		codersdk.ProvisionerDaemonStatusIdle, codersdk.ProvisionerDaemonStatusBusy, codersdk.ProvisionerDaemonStatusOffline)
	if err != nil {
		return err
	}
	daemons, err := a.Queue.Daemons(r.Context(), rest.Actor(r), org.ID, f)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, daemons)
}

func (a *API) getProvisionerKeys(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	p, err := rest.PageOf(r)
	if err != nil {
		return err
	}
	keys, err := a.Keys.List(r.Context(), rest.Actor(r), org.ID, p)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, keys)
}

func (a *API) postProvisionerKey(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.CreateProvisionerKeyRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Keys.Create(r.Context(), rest.Actor(r), org.ID, req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, out)
}

func (a *API) getProvisionerKeyDaemons(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	p, err := rest.PageOf(r)
	if err != nil {
		return err
	}
	groups, err := a.Queue.KeyDaemons(r.Context(), rest.Actor(r), org.ID, p, func(p codersdk.Page) ([]codersdk.ProvisionerKey, error) {
		return a.Keys.List(r.Context(), rest.Actor(r), org.ID, p)
	})
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, groups)
}

func (a *API) deleteProvisionerKey(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	if err := a.Keys.Delete(r.Context(), rest.Actor(r), org.ID, r.PathValue("provisionerkey")); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (a *API) postProvisionerKeyRotate(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.RotateProvisionerKeyRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Keys.Rotate(r.Context(), rest.Actor(r), org.ID, r.PathValue("provisionerkey"), req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, out)
}

// getProvisionerKey replies with the key that a secret belongs to. The secret
// is in the header, or in the path for older clients.
func (a *API) getProvisionerKey(w http.ResponseWriter, r *http.Request) error {
	secret := r.Header.Get("Coder-Provisioner-Daemon-Key")
	if secret == "" {
		secret = r.PathValue("provisionerkey")
	}
	key, err := a.Keys.BySecret(r.Context(), secret)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, key)
}

// queryLimit reads limit, at most maxPage; the default is 50.
func queryLimit(r *http.Request) (int, error) {
	n, err := rest.QueryInt(r, "limit")
	if n == 0 {
		n = 50
	}
	return min(n, rest.MaxPage), err
}

// queryList reads a parameter that may be repeated, comma-separated, or a JSON
// array.
func queryList(r *http.Request, name string) []string {
	var out []string
	for _, v := range r.URL.Query()[name] {
		var array []string
		if strings.HasPrefix(v, "[") && json.Unmarshal([]byte(v), &array) == nil {
			out = append(out, array...)
			continue
		}
		out = append(out, strings.Split(v, ",")...)
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

func queryIDs(r *http.Request, name string) ([]uuid.UUID, error) {
	var out []uuid.UUID
	for _, v := range queryList(r, name) {
		id, err := uuid.Parse(v)
		if err != nil {
			return nil, codersdk.Invalid(name, "%q is not a UUID", rest.Truncate(v, 64))
		}
		out = append(out, id)
	}
	if len(out) > rest.MaxPage {
		return nil, codersdk.Invalid(name, "names more than %d ids; send fewer", rest.MaxPage)
	}
	return out, nil
}

func queryOneOf[T ~string](r *http.Request, name string, known ...T) ([]T, error) {
	var out []T
	for _, v := range queryList(r, name) {
		if !slices.Contains(known, T(v)) {
			return nil, codersdk.Invalid(name, "%q is not one of %v", rest.Truncate(v, 32), known)
		}
		out = append(out, T(v))
	}
	return out, nil
}

// queryTags reads tags as a JSON object such as {"name": "value"}; it returns
// nil when the parameter is absent.
func queryTags(r *http.Request, name string) (codersdk.Tags, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return nil, nil
	}
	var t codersdk.Tags
	if err := json.Unmarshal([]byte(v), &t); err != nil {
		return nil, codersdk.Invalid(name, `must be a JSON object such as {"name": "value"}`)
	}
	return t, codersdk.CheckTags(name, t)
}
