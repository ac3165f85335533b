package httpapi

import (
	"net/http"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

func (a *API) explainProvisionerJob(w http.ResponseWriter, r *http.Request) error {
	org, err := a.pathOrganization(r)
	if err != nil {
		return err
	}
	id, err := pathID(r, "job")
	if err != nil {
		return err
	}
	x, err := a.Queue.Explain(r.Context(), a.actor(r), org.ID, id)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, x)
}

// maxTarget bounds the wait that a queue's slots are recommended for.
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
	if f.Offset, err = queryInt(r, "offset"); err != nil {
		return err
	}
	seconds, err := queryInt(r, "target_seconds")
	if err != nil {
		return err
	}
	if f.Target = time.Duration(seconds) * time.Second; f.Target > maxTarget {
		return coder.Invalid("target_seconds", "must be at most %d, a day", int(maxTarget/time.Second))
	}
	q, err := a.Queue.Overview(r.Context(), a.actor(r), org.ID, f)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, q)
}
