package queue

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue/explain"
)

// maxExplained is the maximum number of daemons in an explanation.
const maxExplained = 1000

// Explain explains the state of a job. For a pending job it lists why each daemon of the
// organization does not run it, the nearest miss, and the estimated start. The actor must
// be able to read the job, see JobIn. Daemons of other users are listed without details,
// and jobs of busy daemons only if the actor can read them.
func (s *Service) Explain(ctx context.Context, actor access.Subject, organizationID, jobID uuid.UUID) (codersdk.ProvisionerJobExplanation, error) {
	var none codersdk.ProvisionerJobExplanation
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
	x := codersdk.ProvisionerJobExplanation{
		JobID: job.ID, OrganizationID: organizationID, Type: job.Type, Status: job.Status, Tags: job.Tags, Engine: need.Engine,
		QueuePosition: job.QueuePosition, QueueSize: job.QueueSize, Daemons: []codersdk.ProvisionerRefusal{},
	}
	if job.Status != codersdk.ProvisionerJobStatusPending {
		x.Summary = explain.Summarize(x, job, s.Now())
		return x, nil
	}
	if err := s.hideJobs(ctx, actor, daemons); err != nil {
		return none, err
	}
	visible := views(daemons, need.Tags[codersdk.TagOwner], actor)
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
	x.Summary = explain.Summarize(x, job, s.Now())
	return x, nil
}

// Outlook counts the daemons that can run a pending job and returns one line about what to
// do if none is connected, else "". (PRV-29)
func (s *Service) Outlook(ctx context.Context, q *sqlc.Queries, jobID uuid.UUID) (codersdk.MatchedProvisioners, string, error) {
	var m codersdk.MatchedProvisioners
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
	return m, need.Warning(views(daemons, need.Tags[codersdk.TagOwner], access.Subject{})), nil
}

// needOf returns the requirements of a job.
func needOf(ctx context.Context, q *sqlc.Queries, jobID uuid.UUID) (explain.Need, sqlc.QueueNeedRow, error) {
	r, err := q.QueueNeed(ctx, stale.Milliseconds(), jobID)
	n := explain.Need{
		Engine:       r.Provisioner,
		Tags:         r.Tags,
		TemplateTags: r.TemplateTags,
		Type:         codersdk.ProvisionerJobType(r.Type),
		Unserved:     r.Unserved,
	}
	if !r.IsDefault {
		n.Organization = r.Organization
	}
	return n, r, err
}

// daemonNow is a daemon and the start of its current status.
type daemonNow struct {
	codersdk.ProvisionerDaemon
	since *time.Time
}

// offline is the status of a daemon that is not connected.
const offline = string(codersdk.ProvisionerDaemonStatusOffline)

// daemons returns at most maxExplained daemons, without the names of their jobs. Connected
// daemons come first.
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
			// It is offline since it disconnected, or since its heartbeat expired.
			t := r.ProvisionerDaemon.LastSeenAt.Add(stale)
			if left := r.ProvisionerDaemon.LeftAt; left != nil && left.After(*r.ProvisionerDaemon.LastSeenAt) {
				t = *left
			}
			d.since = &t
		case r.BusySlots > 0:
			d.since = &r.BusySince
			if r.CurrentJob != uuid.Nil { // otherwise it is a job of another organization
				d.CurrentJob = &codersdk.ProvisionerDaemonJob{ID: r.CurrentJob}
			}
		}
		out = append(out, d)
	}
	return out, nil
}

// views returns the daemons that belong to the organization, to owner or to the actor, or
// that the actor can read. Only these are named.
func views(daemons []daemonNow, owner string, actor access.Subject) []codersdk.ProvisionerDaemon {
	out := []codersdk.ProvisionerDaemon{}
	for _, d := range daemons {
		if d.Tags[codersdk.TagOwner] == owner || shown(d, actor) {
			out = append(out, d.ProvisionerDaemon)
		}
	}
	return out
}

func shown(d daemonNow, actor access.Subject) bool {
	owner := d.Tags[codersdk.TagOwner]
	if owner == "" {
		return true
	}
	id, err := uuid.Parse(owner)
	o := access.Object{Type: codersdk.RBACResourceProvisionerDaemon, OrganizationID: d.OrganizationID, OwnerID: id}
	return err == nil && actor.Can(codersdk.RBACActionRead, o)
}

// refusals judges all daemons and counts those that can run the job.
func refusals(need explain.Need, daemons []daemonNow, actor access.Subject) ([]codersdk.ProvisionerRefusal, codersdk.MatchedProvisioners) {
	var m codersdk.MatchedProvisioners
	out := make([]codersdk.ProvisionerRefusal, 0, len(daemons))
	for _, d := range daemons {
		r := need.Judge(d.ProvisionerDaemon, d.since)
		switch r.Reason {
		case codersdk.ProvisionerReasonTakesIt, codersdk.ProvisionerReasonBusy:
			m.Available++
			fallthrough
		case codersdk.ProvisionerReasonOffline:
			m.Count++
			if d.LastSeenAt != nil && (m.MostRecentlySeen == nil || d.LastSeenAt.After(*m.MostRecentlySeen)) {
				m.MostRecentlySeen = d.LastSeenAt
			}
		}
		if d.Tags[codersdk.TagOwner] != need.Tags[codersdk.TagOwner] && !shown(d, actor) {
			r = codersdk.ProvisionerRefusal{DaemonID: r.DaemonID, Reason: r.Reason, Message: r.Message, Status: r.Status, Tags: codersdk.Tags{}}
			if r.Reason != codersdk.ProvisionerReasonOtherOwner {
				r.Reason, r.Message = codersdk.ProvisionerReasonOtherOwner, "It only runs jobs of another user."
			}
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b codersdk.ProvisionerRefusal) int { return explain.Rank(a.Reason) - explain.Rank(b.Reason) })
	return out, m
}

// hideJobs removes the jobs that the actor cannot read from daemons.
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

// mayRead returns the jobs that the actor can read, with their organizations.
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

// reads reports whether the actor can read a job.
func reads(actor access.Subject, r sqlc.QueueReadersRow) bool {
	if actor.Can(codersdk.RBACActionRead, access.Object{Type: codersdk.RBACResourceProvisionerJobs, OrganizationID: r.OrganizationID, OwnerID: r.InitiatorID}) {
		return true
	}
	switch codersdk.ProvisionerJobType(r.Type) {
	case codersdk.ProvisionerJobTypeWorkspaceBuild:
		return r.WorkspaceID != uuid.Nil && actor.Can(codersdk.RBACActionRead, access.Object{
			Type: codersdk.RBACResourceWorkspace, ID: r.WorkspaceID, OrganizationID: r.OrganizationID, OwnerID: r.OwnerID,
			UserACL: r.WorkspaceUserAcl, GroupACL: r.WorkspaceGroupAcl,
		})
	case codersdk.ProvisionerJobTypeTemplateVersionImport:
		return r.TemplateID != uuid.Nil && r.TemplateDeletedAt == nil && actor.Can(codersdk.RBACActionRead, access.Object{
			Type: codersdk.RBACResourceTemplate, ID: r.TemplateID, OrganizationID: r.OrganizationID,
			UserACL: r.TemplateUserAcl, GroupACL: r.TemplateGroupAcl,
		})
	}
	return false // only its initiator, and users who can read all jobs, can read a dry run
}

// heldBack returns why the queue holds a pending job back and the command that raises the
// limit; "" if it does not.
func (s *Service) heldBack(ctx context.Context, jobID uuid.UUID) (why, fix string, err error) {
	h, err := s.Store.QueueHeld(ctx, jobID)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	return explain.HeldReason(h.Name, int(h.MaxConcurrentBuilds), int(h.Active), int(h.Place)),
		explain.HeldFix(h.Name, int(h.MaxConcurrentBuilds)), nil
}
