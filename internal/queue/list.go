package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/rule/provisionerhealth"
)

// JobFilter filters a list of jobs; zero fields match all.
type JobFilter struct {
	IDs       []uuid.UUID
	Statuses  []codersdk.ProvisionerJobStatus
	Tags      codersdk.Tags // a subset of the job's tags
	Initiator uuid.UUID
	Limit     int // 0 means 50
	Offset    int
}

// DaemonFilter filters a list of daemons; zero fields match all.
type DaemonFilter struct {
	IDs      []uuid.UUID
	Statuses []codersdk.ProvisionerDaemonStatus
	Tags     codersdk.Tags // a subset of the daemon's tags
	Limit    int           // 0 means no limit
	Offset   int
}

// readable returns whose rows of an organization the actor can read: all if own is Nil, or
// the rows of user own, which are daemons of that user or jobs that the user started. If
// neither, the error is CodeNotFound.
func readable(actor access.Subject, kind codersdk.RBACResource, organizationID uuid.UUID) (own uuid.UUID, err error) {
	o := access.Object{Type: kind, OrganizationID: organizationID}
	err = actor.Check(codersdk.RBACActionRead, o)
	if err == nil {
		return uuid.Nil, nil
	}
	if o.OwnerID = actor.UserID; actor.Can(codersdk.RBACActionRead, o) {
		return actor.UserID, nil
	}
	return uuid.Nil, err
}

// List returns a page of an organization's jobs, the newest first: all, or those that the
// actor started. (PRV-16)
func (s *Service) List(ctx context.Context, actor access.Subject, organizationID uuid.UUID, f JobFilter) ([]codersdk.ProvisionerJob, error) {
	own, err := readable(actor, codersdk.RBACResourceProvisionerJobs, organizationID)
	if err != nil {
		return nil, err
	}
	tags, err := tagsJSON(f.Tags)
	if err != nil {
		return nil, err
	}
	p := sqlc.QueueListParams{
		OrganizationID: organizationID, Ids: orEmpty(f.IDs), Statuses: texts(f.Statuses), Tags: tags,
		MaxRows: int32(f.Limit), SkipRows: int32(f.Offset),
	}
	if f.Limit <= 0 {
		p.MaxRows = 50
	}
	if f.Initiator != uuid.Nil {
		p.InitiatorID = &f.Initiator
	}
	if own != uuid.Nil {
		if f.Initiator != uuid.Nil && f.Initiator != own {
			return []codersdk.ProvisionerJob{}, nil
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
	out := make([]codersdk.ProvisionerJob, 0, len(ids))
	for _, id := range ids {
		if j, ok := jobs[id]; ok {
			out = append(out, j)
		}
	}
	return out, nil
}

// JobIn returns a job of an organization. The actor must be able to read all of its jobs,
// have started the job, or be able to read the job's workspace or template.
func (s *Service) JobIn(ctx context.Context, actor access.Subject, organizationID, jobID uuid.UUID) (codersdk.ProvisionerJob, error) {
	may, err := s.mayRead(ctx, s.Store.Queries, actor, []uuid.UUID{jobID})
	if err != nil {
		return codersdk.ProvisionerJob{}, err
	}
	if may[jobID] != organizationID {
		return codersdk.ProvisionerJob{}, codersdk.NotFound()
	}
	return s.Job(ctx, s.Store.Queries, jobID)
}

// Daemons returns a page of an organization's daemons, the newest first: all, or those of
// the actor. (PRV-14, PRV-15)
func (s *Service) Daemons(ctx context.Context, actor access.Subject, organizationID uuid.UUID, f DaemonFilter) ([]codersdk.ProvisionerDaemon, error) {
	own, err := readable(actor, codersdk.RBACResourceProvisionerDaemon, organizationID)
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
	out := make([]codersdk.ProvisionerDaemon, len(rows))
	for i, r := range rows {
		out[i] = daemonView(r, jobs)
		out[i].Warnings = provisionerhealth.Warnings(out[i], s.Version)
	}
	return out, nil
}

// lastSeen returns the time of a daemon's last heartbeat. When a daemon disconnects, its
// last_seen_at is set back, see QueueDaemonGone.
func lastSeen(d sqlc.ProvisionerDaemon) *time.Time {
	if d.LeftAt != nil && (d.LastSeenAt == nil || d.LeftAt.After(*d.LastSeenAt)) {
		return d.LeftAt
	}
	return d.LastSeenAt
}

func daemonView(r sqlc.QueueDaemonsRow, jobs map[uuid.UUID]codersdk.ProvisionerJob) codersdk.ProvisionerDaemon {
	p := r.ProvisionerDaemon
	return codersdk.ProvisionerDaemon{
		ID: p.ID, OrganizationID: p.OrganizationID, KeyID: p.KeyID, KeyName: cmp.Or(codersdk.ReservedProvisionerKeyName(p.KeyID), r.KeyName), Name: p.Name,
		Tags: p.Tags, Provisioners: p.Provisioners, Version: p.Version, APIVersion: p.ApiVersion,
		Slots: int(p.Slots), BusySlots: int(r.BusySlots), Tools: p.Tools,
		CreatedAt: p.CreatedAt, LastSeenAt: lastSeen(p), Status: codersdk.ProvisionerDaemonStatus(r.Status),
		CurrentJob: daemonJob(jobs, r.CurrentJob), PreviousJob: daemonJob(jobs, r.PreviousJob),
	}
}

func daemonJob(jobs map[uuid.UUID]codersdk.ProvisionerJob, id uuid.UUID) *codersdk.ProvisionerDaemonJob {
	j, ok := jobs[id]
	if !ok {
		return nil
	}
	return &codersdk.ProvisionerDaemonJob{
		ID: j.ID, Status: j.Status, TemplateName: j.Metadata.TemplateName,
		TemplateDisplayName: j.Metadata.TemplateDisplayName, TemplateIcon: j.Metadata.TemplateIcon,
	}
}

// orEmpty returns a list that PostgreSQL treats as empty instead of NULL.
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

// tagsJSON encodes tags for a containment query; {} matches every set.
func tagsJSON(t codersdk.Tags) (json.RawMessage, error) {
	if len(t) == 0 {
		return json.RawMessage(`{}`), nil
	}
	return json.Marshal(t)
}
