package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// provisionerRoutes are the routes of jobs, daemons and their keys. Serving a
// daemon is the provisioner edge's own route.
func (a *API) provisionerRoutes() []Route {
	const org = "/organizations/{organization}"
	daemon, jobs := coder.RBACResourceProvisionerDaemon, coder.RBACResourceProvisionerJobs
	return []Route{
		{Method: "GET", Path: org + "/provisionerjobs", Summary: "List provisioner jobs", Query: paged(Param{"ids", "string", "Ids, apart by commas."}, Param{"status", "string", "Statuses, apart by commas."}, Param{"tags", "string", "A JSON object: those that have these tags, among others."}, Param{"initiator", "string", "Id or name of a user."}), Action: coder.RBACActionRead, Resource: jobs, Out: []coder.ProvisionerJob{}, Handler: a.getProvisionerJobs},
		{Method: "GET", Path: org + "/provisionerjobs/{job}", Summary: "Get a provisioner job", Action: coder.RBACActionRead, Resource: jobs, Out: coder.ProvisionerJob{}, Handler: a.getProvisionerJob},
		{Method: "GET", Path: org + "/provisionerjobs/{job}/explain", Summary: "Say why a provisioner job waits", Action: coder.RBACActionRead, Resource: jobs, Out: coder.ProvisionerJobExplanation{}, Handler: a.explainProvisionerJob},
		{Method: "GET", Path: org + "/provisionerqueue", Summary: "Get what waits and runs, by tag set", Query: paged(Param{"tags", "string", "A JSON object: those that have these tags, among others."}, Param{"provisioner_tags", "string", "A JSON object: what a provisioner with these tags would take."}, Param{"target_seconds", "integer", "How long a job should wait at most, for recommended_slots; 60 without it."}), Action: coder.RBACActionRead, Resource: jobs, Out: coder.ProvisionerQueue{}, Handler: a.getProvisionerQueue},
		{Method: "GET", Path: org + "/provisionerdaemons", Summary: "List provisioner daemons", Query: paged(Param{"ids", "string", "Ids, apart by commas."}, Param{"status", "string", "Statuses, apart by commas."}, Param{"tags", "string", "A JSON object: those that have these tags, among others."}), Action: coder.RBACActionRead, Resource: daemon, Out: []coder.ProvisionerDaemon{}, Handler: a.getProvisionerDaemons},
		{Method: "GET", Path: org + "/provisionerkeys", Summary: "List provisioner keys", Query: paged(), Action: coder.RBACActionRead, Resource: daemon, Out: []coder.ProvisionerKey{}, Handler: a.getProvisionerKeys},
		{Method: "POST", Path: org + "/provisionerkeys", Summary: "Create a provisioner key", Action: coder.RBACActionCreate, Resource: daemon, In: coder.CreateProvisionerKeyRequest{}, Out: coder.CreateProvisionerKeyResponse{}, Status: 201, Handler: a.postProvisionerKey},
		{Method: "GET", Path: org + "/provisionerkeys/daemons", Summary: "List connected provisioner daemons by key", Query: paged(), Action: coder.RBACActionRead, Resource: daemon, Out: []coder.ProvisionerKeyDaemons{}, Handler: a.getProvisionerKeyDaemons},
		{Method: "POST", Path: org + "/provisionerkeys/{provisionerkey}/rotate", Summary: "Rotate a provisioner key", Action: coder.RBACActionUpdate, Resource: daemon, In: coder.RotateProvisionerKeyRequest{}, Out: coder.RotateProvisionerKeyResponse{}, Status: 201, Handler: a.postProvisionerKeyRotate},
		{Method: "DELETE", Path: org + "/provisionerkeys/{provisionerkey}", Summary: "Delete a provisioner key", Action: coder.RBACActionDelete, Resource: daemon, Status: 204, Handler: a.deleteProvisionerKey},
		{Method: "GET", Path: "/provisionerkeys/{provisionerkey}", Summary: "Get the provisioner key of a secret", Auth: AuthPublic, Out: coder.ProvisionerKey{}, Handler: a.getProvisionerKey},
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
	if f.Offset, err = queryInt(r, "offset"); err != nil {
		return err
	}
	if f.Tags, err = queryTags(r, "tags"); err != nil {
		return err
	}
	f.Statuses, err = queryOneOf(r, "status", coder.ProvisionerJobStatusPending, coder.ProvisionerJobStatusRunning, coder.ProvisionerJobStatusSucceeded,
		coder.ProvisionerJobStatusCanceling, coder.ProvisionerJobStatusCanceled, coder.ProvisionerJobStatusFailed, coder.ProvisionerJobStatusUnknown)
	if err != nil {
		return err
	}
	if ref := r.URL.Query().Get("initiator"); ref != "" {
		u, err := a.Identity.UserByRef(r.Context(), a.actor(r), ref)
		if err != nil {
			return err
		}
		f.Initiator = u.ID
	}
	jobs, err := a.Queue.List(r.Context(), a.actor(r), org.ID, f)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, jobs)
}

func (a *API) getProvisionerJob(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	id, err := pathID(r, "job")
	if err != nil {
		return err
	}
	job, err := a.Queue.JobIn(r.Context(), a.actor(r), org.ID, id)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, job)
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
	if f.Offset, err = queryInt(r, "offset"); err != nil {
		return err
	}
	if f.Tags, err = queryTags(r, "tags"); err != nil {
		return err
	}
	f.Statuses, err = queryOneOf(r, "status", coder.ProvisionerDaemonStatusIdle, coder.ProvisionerDaemonStatusBusy, coder.ProvisionerDaemonStatusOffline)
	if err != nil {
		return err
	}
	daemons, err := a.Queue.Daemons(r.Context(), a.actor(r), org.ID, f)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, daemons)
}

func (a *API) getProvisionerKeys(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	p, err := pageOf(r)
	if err != nil {
		return err
	}
	keys, err := a.Keys.List(r.Context(), a.actor(r), org.ID, p)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, keys)
}

func (a *API) postProvisionerKey(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	req, err := decode[coder.CreateProvisionerKeyRequest](r)
	if err != nil {
		return err
	}
	secret, err := a.Keys.Create(r.Context(), a.actor(r), org.ID, req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, coder.CreateProvisionerKeyResponse{Key: secret})
}

func (a *API) getProvisionerKeyDaemons(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	p, err := pageOf(r)
	if err != nil {
		return err
	}
	groups, err := a.Queue.KeyDaemons(r.Context(), a.actor(r), org.ID, p, func(p coder.Page) ([]coder.ProvisionerKey, error) {
		return a.Keys.List(r.Context(), a.actor(r), org.ID, p)
	})
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, groups)
}

func (a *API) deleteProvisionerKey(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	if err := a.Keys.Delete(r.Context(), a.actor(r), org.ID, r.PathValue("provisionerkey")); err != nil {
		return err
	}
	return done(w)
}

func (a *API) postProvisionerKeyRotate(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	req, err := decode[coder.RotateProvisionerKeyRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Keys.Rotate(r.Context(), a.actor(r), org.ID, r.PathValue("provisionerkey"), req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, out)
}

// getProvisionerKey tells whoever has a key's secret what the key is: the
// secret is the path element, or better the header, with anything in the path.
func (a *API) getProvisionerKey(w http.ResponseWriter, r *http.Request) error {
	secret := r.Header.Get("Coder-Provisioner-Daemon-Key")
	if secret == "" {
		secret = r.PathValue("provisionerkey")
	}
	key, err := a.Keys.BySecret(r.Context(), secret)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, key)
}

// queryLimit reads how many rows are wanted; 50 when nothing is said.
func queryLimit(r *http.Request) (int, error) {
	n, err := queryInt(r, "limit")
	if n == 0 {
		n = 50
	}
	return min(n, maxPage), err
}

// queryList reads a parameter that may be repeated, hold commas, or be a JSON array.
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
			return nil, coder.Invalid(name, "%q is not a UUID", clip(v, 64))
		}
		out = append(out, id)
	}
	if len(out) > maxPage {
		return nil, coder.Invalid(name, "at most %d ids are taken at once", maxPage)
	}
	return out, nil
}

func queryOneOf[T ~string](r *http.Request, name string, known ...T) ([]T, error) {
	var out []T
	for _, v := range queryList(r, name) {
		if !slices.Contains(known, T(v)) {
			return nil, coder.Invalid(name, "%q is none of %v", clip(v, 32), known)
		}
		out = append(out, T(v))
	}
	return out, nil
}

// queryTags reads tags as a JSON object, {"name": "value"}; nil when none are given.
func queryTags(r *http.Request, name string) (coder.Tags, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return nil, nil
	}
	var t coder.Tags
	if err := json.Unmarshal([]byte(v), &t); err != nil {
		return nil, coder.Invalid(name, `must be a JSON object such as {"name": "value"}`)
	}
	return t, coder.CheckTags(name, t)
}
