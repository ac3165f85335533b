package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// JobFilter narrows a list of jobs; zero fields narrow nothing.
type JobFilter struct {
	IDs       []uuid.UUID
	Statuses  []coder.ProvisionerJobStatus
	Tags      coder.Tags // that the job asks for, among others
	Initiator uuid.UUID
	Limit     int // 0 means 50
	Offset    int
}

// DaemonFilter narrows a list of daemons; zero fields narrow nothing.
type DaemonFilter struct {
	IDs      []uuid.UUID
	Statuses []coder.ProvisionerDaemonStatus
	Tags     coder.Tags // that the daemon has, among others
	Limit    int        // 0 means no limit
	Offset   int
}

// readable says of which rows of an organization the actor may read: of all,
// for which own is Nil, or of what is the actor's own. Of a daemon that is the
// user whose it is, of a job who started it. Neither is CodeNotFound.
func readable(actor access.Subject, kind coder.RBACResource, organizationID uuid.UUID) (own uuid.UUID, err error) {
	o := access.Object{Type: kind, OrganizationID: organizationID}
	err = actor.Check(coder.RBACActionRead, o)
	if err == nil {
		return uuid.Nil, nil
	}
	if o.OwnerID = actor.UserID; actor.Can(coder.RBACActionRead, o) {
		return actor.UserID, nil
	}
	return uuid.Nil, err
}

// List gives a page of an organization's jobs, the newest first: of all, or of
// those that the actor started. (PRV-16)
func (s *Service) List(ctx context.Context, actor access.Subject, organizationID uuid.UUID, f JobFilter) ([]coder.ProvisionerJob, error) {
	own, err := readable(actor, coder.RBACResourceProvisionerJobs, organizationID)
	if err != nil {
		return nil, err
	}
	tags, err := tagsJSON(f.Tags)
	if err != nil {
		return nil, err
	}
	p := sqlc.QueueListParams{OrganizationID: organizationID, Ids: orEmpty(f.IDs), Statuses: texts(f.Statuses), Tags: tags, MaxRows: int32(f.Limit), SkipRows: int32(f.Offset)}
	if f.Limit <= 0 {
		p.MaxRows = 50
	}
	if f.Initiator != uuid.Nil {
		p.InitiatorID = &f.Initiator
	}
	if own != uuid.Nil {
		if f.Initiator != uuid.Nil && f.Initiator != own {
			return []coder.ProvisionerJob{}, nil
		}
		p.InitiatorID = &own
	}
	ids, err := s.Store.QueueList(ctx, p)
	if err != nil {
		return nil, err
	}
	jobs, err := s.Jobs(ctx, s.Store.Queries, ids)
	if err != nil {
		return nil, err
	}
	out := make([]coder.ProvisionerJob, 0, len(ids))
	for _, id := range ids {
		if j, ok := jobs[id]; ok {
			out = append(out, j)
		}
	}
	return out, nil
}

// JobIn gives a job of an organization to who may read all of its jobs, who
// started it, or who may read the workspace or template that it is about.
func (s *Service) JobIn(ctx context.Context, actor access.Subject, organizationID, jobID uuid.UUID) (coder.ProvisionerJob, error) {
	may, err := s.mayRead(ctx, s.Store.Queries, actor, []uuid.UUID{jobID})
	if err != nil {
		return coder.ProvisionerJob{}, err
	}
	if may[jobID] != organizationID {
		return coder.ProvisionerJob{}, coder.NotFound()
	}
	return s.Job(ctx, s.Store.Queries, jobID)
}

// Daemons gives a page of an organization's daemons, the newest first: of all,
// or of those that are the actor's own. (PRV-14, PRV-15)
func (s *Service) Daemons(ctx context.Context, actor access.Subject, organizationID uuid.UUID, f DaemonFilter) ([]coder.ProvisionerDaemon, error) {
	own, err := readable(actor, coder.RBACResourceProvisionerDaemon, organizationID)
	if err != nil {
		return nil, err
	}
	tags, err := tagsJSON(f.Tags)
	if err != nil {
		return nil, err
	}
	p := sqlc.QueueDaemonsParams{
		OrganizationID: organizationID, Ids: orEmpty(f.IDs), Statuses: texts(f.Statuses), Tags: tags, StaleMs: stale.Milliseconds(),
		MaxRows: int32(f.Limit), SkipRows: int32(f.Offset),
	}
	if own != uuid.Nil {
		owner := own.String()
		p.Owner = &owner
	}
	rows, err := s.Store.QueueDaemons(ctx, p)
	if err != nil {
		return nil, err
	}
	var ids []uuid.UUID
	for _, r := range rows {
		ids = append(ids, r.CurrentJob, r.PreviousJob)
	}
	jobs, err := s.Jobs(ctx, s.Store.Queries, slices.DeleteFunc(ids, func(id uuid.UUID) bool { return id == uuid.Nil }))
	if err != nil {
		return nil, err
	}
	out := make([]coder.ProvisionerDaemon, len(rows))
	for i, r := range rows {
		out[i] = daemonView(r, jobs)
		out[i].Warnings = coder.ProvisionerWarnings(out[i], s.Version)
	}
	return out, nil
}

func daemonView(r sqlc.QueueDaemonsRow, jobs map[uuid.UUID]coder.ProvisionerJob) coder.ProvisionerDaemon {
	p := r.ProvisionerDaemon
	return coder.ProvisionerDaemon{
		ID: p.ID, OrganizationID: p.OrganizationID, KeyID: p.KeyID, KeyName: cmp.Or(coder.ReservedProvisionerKeyName(p.KeyID), r.KeyName), Name: p.Name,
		Tags: p.Tags, Provisioners: p.Provisioners, Version: p.Version, APIVersion: p.ApiVersion,
		Slots: int(p.Slots), BusySlots: int(r.BusySlots), Tools: p.Tools,
		CreatedAt: p.CreatedAt, LastSeenAt: p.LastSeenAt, Status: coder.ProvisionerDaemonStatus(r.Status),
		CurrentJob: daemonJob(jobs, r.CurrentJob), PreviousJob: daemonJob(jobs, r.PreviousJob),
	}
}

func daemonJob(jobs map[uuid.UUID]coder.ProvisionerJob, id uuid.UUID) *coder.ProvisionerDaemonJob {
	j, ok := jobs[id]
	if !ok {
		return nil
	}
	return &coder.ProvisionerDaemonJob{
		ID: j.ID, Status: j.Status, TemplateName: j.Metadata.TemplateName,
		TemplateDisplayName: j.Metadata.TemplateDisplayName, TemplateIcon: j.Metadata.TemplateIcon,
	}
}

// orEmpty gives a list that PostgreSQL counts as empty, not as absent.
func orEmpty[T any](ids []T) []T {
	if ids == nil {
		return []T{}
	}
	return ids
}

func texts[T ~string](in []T) []string {
	out := []string{}
	for _, v := range in {
		out = append(out, string(v))
	}
	return out
}

// tagsJSON gives the tags to look for, of which {} is among every set.
func tagsJSON(t coder.Tags) (json.RawMessage, error) {
	if len(t) == 0 {
		return json.RawMessage(`{}`), nil
	}
	return json.Marshal(t)
}
