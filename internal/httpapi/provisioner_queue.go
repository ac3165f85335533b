package httpapi

import (
	"net/http"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

func (a *API) explainProvisionerJob(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	id, err := rest.PathID(r, "job")
	if err != nil {
		return err
	}
	x, err := a.Queue.Explain(r.Context(), rest.Actor(r), org.ID, id)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, x)
}

// maxTarget is the largest target wait for recommended slots.
const maxTarget = 24 * time.Hour

func (a *API) getProvisionerQueue(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	f := queue.OverviewFilter{}
	if f.Tags, err = queryTags(r, "tags"); err != nil {
		return err
	}
	if f.Provisioner, err = queryTags(r, "provisioner_tags"); err != nil {
		return err
	}
	if f.Limit, err = queryLimit(r); err != nil {
		return err
	}
	if f.Offset, err = rest.QueryInt(r, "offset"); err != nil {
		return err
	}
	seconds, err := rest.QueryInt(r, "target_seconds")
	if err != nil {
		return err
	}
	if f.Target = time.Duration(seconds) * time.Second; f.Target > maxTarget {
		return codersdk.Invalid("target_seconds", "must be at most %d (one day)", int(maxTarget/time.Second))
	}
	q, err := a.Queue.Overview(r.Context(), rest.Actor(r), org.ID, f)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, q)
}
