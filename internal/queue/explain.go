package queue

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// maxExplained bounds how many daemons one explanation names.
const maxExplained = 1000

// Explain says why a job of an organization is where it is: for one that
// waits, what keeps each of the organization's daemons from it, the nearest
// miss, and when it may start. It is for who may read the job, see JobIn; of
// daemons that are another user's own it says no more than that, and of jobs
// that daemons are busy with, only those that the actor may read.
func (s *Service) Explain(ctx context.Context, actor access.Subject, organizationID, jobID uuid.UUID) (coder.ProvisionerJobExplanation, error) {
	var none coder.ProvisionerJobExplanation
	job, err := s.JobIn(ctx, actor, organizationID, jobID)
	if err != nil {
		return none, err
	}
	need, row, err := needOf(ctx, s.Store.Queries, jobID)
	if err != nil {
		return none, err
	}
	daemons, err := s.daemons(ctx, s.Store.Queries, sqlc.QueueDaemonsParams{OrganizationID: organizationID, Tags: []byte(`{}`)})
	if err != nil {
		return none, err
	}
	x := coder.ProvisionerJobExplanation{
		JobID: job.ID, OrganizationID: organizationID, Type: job.Type, Status: job.Status, Tags: job.Tags, Engine: need.Engine,
		QueuePosition: job.QueuePosition, QueueSize: job.QueueSize, Daemons: []coder.ProvisionerRefusal{},
	}
	if job.Status != coder.ProvisionerJobStatusPending {
		x.Summary = x.Summarize(job, time.Now())
		return x, nil
	}
	if err := s.hideJobs(ctx, actor, daemons); err != nil {
		return none, err
	}
	visible := views(daemons, need.Tags[coder.TagOwner], actor)
	if x.NearestMiss, x.Warning = need.NearestMiss(visible), need.Warning(visible); x.Warning != "" {
		x.WeightFix = need.WeightFix()
	}
	x.Daemons, x.Matched = refusals(need, daemons, actor)
	if x.Held, x.HeldFix, err = s.heldBack(ctx, jobID); err != nil {
		return none, err
	}
	if x.Held == "" {
		if x.EstimatedStart, err = s.estimate(ctx, row, daemons, x); err != nil {
			return none, err
		}
	}
	x.BehindPeople = row.Priority > 0
	x.Summary = x.Summarize(job, time.Now())
	return x, nil
}

// Outlook counts the daemons that could take a pending job, and gives one line
// about what to do when none of them is there, else "". (PRV-29)
func (s *Service) Outlook(ctx context.Context, q *sqlc.Queries, jobID uuid.UUID) (coder.MatchedProvisioners, string, error) {
	var m coder.MatchedProvisioners
	need, row, err := needOf(ctx, q, jobID)
	if err != nil {
		return m, "", err
	}
	tags, err := tagsJSON(need.Tags)
	if err != nil {
		return m, "", err
	}
	r, err := q.QueueMatched(ctx, sqlc.QueueMatchedParams{StaleMs: stale.Milliseconds(), OrganizationID: row.OrganizationID, Provisioner: need.Engine, Tags: tags})
	if err != nil {
		return m, "", err
	}
	m.Count, m.Available = int(r.Total), int(r.Available)
	if r.Total > 0 {
		m.MostRecentlySeen = &r.LastSeenAt
	}
	if m.Available > 0 {
		return m, "", nil
	}
	daemons, err := s.daemons(ctx, q, sqlc.QueueDaemonsParams{OrganizationID: row.OrganizationID, Tags: []byte(`{}`)})
	if err != nil {
		return m, "", err
	}
	return m, need.Warning(views(daemons, need.Tags[coder.TagOwner], access.Subject{})), nil
}

// needOf gives what a job asks of a provisioner.
func needOf(ctx context.Context, q *sqlc.Queries, jobID uuid.UUID) (coder.ProvisionerNeed, sqlc.QueueNeedRow, error) {
	r, err := q.QueueNeed(ctx, stale.Milliseconds(), jobID)
	n := coder.ProvisionerNeed{Engine: r.Provisioner, Tags: r.Tags, TemplateTags: r.TemplateTags, Type: coder.ProvisionerJobType(r.Type), Unserved: r.Unserved}
	if !r.IsDefault {
		n.Organization = r.Organization
	}
	return n, r, err
}

// daemonNow is a daemon, and since when it is as it is.
type daemonNow struct {
	coder.ProvisionerDaemon
	since *time.Time
}

// offline is the status of a daemon that is not there.
const offline = string(coder.ProvisionerDaemonStatusOffline)

// daemons gives daemons without the names of their jobs, those that are there
// first and at most maxExplained.
func (s *Service) daemons(ctx context.Context, q *sqlc.Queries, p sqlc.QueueDaemonsParams) ([]daemonNow, error) {
	p.Ids, p.Statuses, p.StaleMs = orEmpty(p.Ids), []string{}, stale.Milliseconds()
	rows, err := q.QueueDaemons(ctx, p)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(rows, func(a, b sqlc.QueueDaemonsRow) int {
		switch {
		case (a.Status == offline) == (b.Status == offline):
			return 0
		case a.Status == offline:
			return 1
		}
		return -1
	})
	out := make([]daemonNow, 0, len(rows))
	for _, r := range rows[:min(len(rows), maxExplained)] {
		d := daemonNow{ProvisionerDaemon: daemonView(r, nil)}
		switch {
		case r.Status == offline && r.ProvisionerDaemon.LastSeenAt != nil:
			// It counts as offline once it has been silent for so long; one that said
			// goodbye is marked as if it had been.
			t := r.ProvisionerDaemon.LastSeenAt.Add(stale)
			d.since = &t
		case r.BusySlots > 0:
			d.since = &r.BusySince
			if r.CurrentJob != uuid.Nil { // else it is another organization's
				d.CurrentJob = &coder.ProvisionerDaemonJob{ID: r.CurrentJob}
			}
		}
		out = append(out, d)
	}
	return out, nil
}

// views gives the daemons that are the organization's, owner's, or the actor's
// own, or that the actor may read: those that may be told by name.
func views(daemons []daemonNow, owner string, actor access.Subject) []coder.ProvisionerDaemon {
	out := []coder.ProvisionerDaemon{}
	for _, d := range daemons {
		if d.Tags[coder.TagOwner] == owner || shown(d, actor) {
			out = append(out, d.ProvisionerDaemon)
		}
	}
	return out
}

func shown(d daemonNow, actor access.Subject) bool {
	owner := d.Tags[coder.TagOwner]
	if owner == "" {
		return true
	}
	id, err := uuid.Parse(owner)
	o := access.Object{Type: coder.RBACResourceProvisionerDaemon, OrganizationID: d.OrganizationID, OwnerID: id}
	return err == nil && actor.Can(coder.RBACActionRead, o)
}

// refusals judges all daemons and counts those that could take the job.
func refusals(need coder.ProvisionerNeed, daemons []daemonNow, actor access.Subject) ([]coder.ProvisionerRefusal, coder.MatchedProvisioners) {
	var m coder.MatchedProvisioners
	out := make([]coder.ProvisionerRefusal, 0, len(daemons))
	for _, d := range daemons {
		r := need.Judge(d.ProvisionerDaemon, d.since)
		switch r.Reason {
		case coder.ProvisionerReasonTakesIt, coder.ProvisionerReasonBusy:
			m.Available++
			fallthrough
		case coder.ProvisionerReasonOffline:
			m.Count++
			if d.LastSeenAt != nil && (m.MostRecentlySeen == nil || d.LastSeenAt.After(*m.MostRecentlySeen)) {
				m.MostRecentlySeen = d.LastSeenAt
			}
		}
		if d.Tags[coder.TagOwner] != need.Tags[coder.TagOwner] && !shown(d, actor) {
			r = coder.ProvisionerRefusal{DaemonID: r.DaemonID, Reason: r.Reason, Message: r.Message, Status: r.Status, Tags: coder.Tags{}}
			if r.Reason != coder.ProvisionerReasonOtherOwner {
				r.Reason, r.Message = coder.ProvisionerReasonOtherOwner, "It takes the jobs of another user only."
			}
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b coder.ProvisionerRefusal) int { return a.Reason.Rank() - b.Reason.Rank() })
	return out, m
}

// hideJobs takes from daemons the jobs that the actor may not read.
func (s *Service) hideJobs(ctx context.Context, actor access.Subject, daemons []daemonNow) error {
	var ids []uuid.UUID
	for _, d := range daemons {
		if d.CurrentJob != nil {
			ids = append(ids, d.CurrentJob.ID)
		}
	}
	may, err := s.mayRead(ctx, s.Store.Queries, actor, ids)
	if err != nil {
		return err
	}
	for i := range daemons {
		if j := daemons[i].CurrentJob; j != nil && may[j.ID] == uuid.Nil {
			daemons[i].CurrentJob = nil
		}
	}
	return nil
}

// mayRead gives those of the jobs that the actor may read, with their organizations.
func (s *Service) mayRead(ctx context.Context, q *sqlc.Queries, actor access.Subject, ids []uuid.UUID) (map[uuid.UUID]uuid.UUID, error) {
	out := map[uuid.UUID]uuid.UUID{}
	if len(ids) == 0 {
		return out, nil
	}
	rows, err := q.QueueReaders(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if reads(actor, r) {
			out[r.ID] = r.OrganizationID
		}
	}
	return out, nil
}

// reads is the rule of who may read a job.
func reads(actor access.Subject, r sqlc.QueueReadersRow) bool {
	if actor.Can(coder.RBACActionRead, access.Object{Type: coder.RBACResourceProvisionerJobs, OrganizationID: r.OrganizationID, OwnerID: r.InitiatorID}) {
		return true
	}
	switch coder.ProvisionerJobType(r.Type) {
	case coder.ProvisionerJobTypeWorkspaceBuild:
		return r.WorkspaceID != uuid.Nil && actor.Can(coder.RBACActionRead, access.Object{
			Type: coder.RBACResourceWorkspace, ID: r.WorkspaceID, OrganizationID: r.OrganizationID, OwnerID: r.OwnerID,
			UserACL: r.WorkspaceUserAcl, GroupACL: r.WorkspaceGroupAcl,
		})
	case coder.ProvisionerJobTypeTemplateVersionImport:
		return r.TemplateID != uuid.Nil && r.TemplateDeletedAt == nil && actor.Can(coder.RBACActionRead, access.Object{
			Type: coder.RBACResourceTemplate, ID: r.TemplateID, OrganizationID: r.OrganizationID,
			UserACL: r.TemplateUserAcl, GroupACL: r.TemplateGroupAcl,
		})
	}
	return false // a dry run is who started it's, and of who may read all jobs
}

// heldBack says why the queue itself keeps a pending job from provisioners, and
// the command that would let more of its kind go; "" when it does not.
func (s *Service) heldBack(ctx context.Context, jobID uuid.UUID) (why, fix string, err error) {
	h, err := s.Store.QueueHeld(ctx, jobID)
	if coder.Is(err, coder.CodeNotFound) {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	return coder.HeldWords(h.Name, int(h.MaxConcurrentBuilds), int(h.Active), int(h.Place)),
		coder.HeldFix(h.Name, int(h.MaxConcurrentBuilds)), nil
}
