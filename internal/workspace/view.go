package workspace

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/resource"
)

// Workspace gives a workspace; a deleted one only if asked for.
func (s *Service) Workspace(ctx context.Context, actor access.Subject, id uuid.UUID, includeDeleted bool) (coder.Workspace, error) {
	w, err := s.find(ctx, actor, coder.RBACActionRead, id)
	if err == nil && !includeDeleted {
		err = live(w)
	}
	if err != nil {
		return coder.Workspace{}, err
	}
	return s.showNow(ctx, actor, id)
}

// WorkspaceByOwnerAndName gives the workspace of that name, the live one if
// there is one; a deleted one only if asked for.
func (s *Service) WorkspaceByOwnerAndName(ctx context.Context, actor access.Subject, ownerID uuid.UUID, name string, includeDeleted bool) (coder.Workspace, error) {
	w, err := s.byName(ctx, actor, ownerID, name)
	if err != nil {
		return coder.Workspace{}, err
	}
	if w.DeletedAt != nil && !includeDeleted {
		return coder.Workspace{}, coder.NotFound()
	}
	return s.showNow(ctx, actor, w.ID)
}

func (s *Service) byName(ctx context.Context, actor access.Subject, ownerID uuid.UUID, name string) (sqlc.Workspace, error) {
	w, err := s.Store.WorkspaceByName(ctx, ownerID, name)
	if err != nil {
		return w, err
	}
	return w, actor.Check(coder.RBACActionRead, object(w))
}

// showNow reads a workspace as it is.
func (s *Service) showNow(ctx context.Context, actor access.Subject, id uuid.UUID) (coder.Workspace, error) {
	return oneOf(s.showAll(ctx, actor, []uuid.UUID{id}))
}

// showAll reads workspaces as they are.
func (s *Service) showAll(ctx context.Context, actor access.Subject, ids []uuid.UUID) (out []coder.Workspace, err error) {
	err = s.Store.Snapshot(ctx, func(q *sqlc.Queries) error {
		out, err = s.show(ctx, q, actor, ids)
		return err
	})
	return out, err
}

// oneOf gives the one that was found, or says that there is none.
func oneOf[T any](found []T, err error) (one T, _ error) {
	if err != nil {
		return one, err
	}
	if len(found) == 0 {
		return one, coder.NotFound()
	}
	return found[0], nil
}

// show reads workspaces with their latest builds, in the order of ids, with a
// number of queries that does not depend on how many they are.
func (s *Service) show(ctx context.Context, q *sqlc.Queries, actor access.Subject, ids []uuid.UUID) ([]coder.Workspace, error) {
	rows, err := q.WorkspaceRows(ctx, actor.UserID, ids)
	if err != nil {
		return nil, err
	}
	latest := make([]uuid.UUID, 0, len(rows))
	byID := make(map[uuid.UUID]sqlc.WorkspaceRowsRow, len(rows))
	for _, r := range rows {
		if id := r.Workspace.LatestBuildID; id != nil { // its first build comes with it
			latest = append(latest, *id)
		}
		byID[r.Workspace.ID] = r
	}
	bs, err := s.showBuilds(ctx, q, latest)
	if err != nil {
		return nil, err
	}
	byWorkspace := make(map[uuid.UUID]coder.WorkspaceBuild, len(bs))
	for _, b := range bs {
		byWorkspace[b.WorkspaceID] = b
	}
	out := make([]coder.Workspace, 0, len(ids))
	for _, id := range ids {
		if r, ok := byID[id]; ok {
			out = append(out, s.view(r, byWorkspace[id]))
		}
	}
	return out, addShared(ctx, q, rows, out)
}

func (s *Service) view(r sqlc.WorkspaceRowsRow, b coder.WorkspaceBuild) coder.Workspace {
	w := r.Workspace
	return coder.Workspace{
		AllowRenames: s.AllowRenames, AutomaticUpdates: coder.AutomaticUpdates(w.AutomaticUpdates),
		AutostartSchedule: w.AutostartSchedule, CreatedAt: w.CreatedAt, DeletingAt: w.DeletingAt, DormantAt: w.DormantAt,
		Favorite: r.Favorite, Health: coder.NewWorkspaceHealth(b.Resources), ID: w.ID, IsPrebuild: w.OwnerID == coder.PrebuildsUserID(),
		LastUsedAt: w.LastUsedAt, LatestAppStatus: latestStatus(b), LatestBuild: b, Name: w.Name, NextStartAt: w.NextStartAt, OrganizationID: w.OrganizationID,
		OrganizationName: r.OrganizationName, Outdated: b.TemplateVersionID != r.ActiveVersionID,
		OwnerAvatarURL: r.OwnerAvatarUrl, OwnerID: w.OwnerID, OwnerName: r.OwnerName, SharedWith: []coder.SharedWorkspaceActor{},
		TemplateActiveVersionID: r.ActiveVersionID, TemplateAllowUserCancelWorkspaceJobs: r.AllowUserCancelWorkspaceJobs,
		TemplateDisplayName: r.TemplateDisplayName, TemplateIcon: r.TemplateIcon, TemplateID: w.TemplateID,
		TemplateName: r.TemplateName, TemplateRequireActiveVersion: r.RequireActiveVersion,
		TemplateUseClassicParameterFlow: r.UseClassicParameterFlow, TTLMS: w.TTLMS, UpdatedAt: w.UpdatedAt,
	}
}

// latestStatus gives what an app of a build said last; nil for nothing.
func latestStatus(b coder.WorkspaceBuild) (latest *coder.WorkspaceAppStatus) {
	for _, r := range b.Resources {
		for _, agent := range r.Agents {
			for _, app := range agent.Apps {
				if len(app.Statuses) > 0 && (latest == nil || app.Statuses[0].CreatedAt.After(latest.CreatedAt)) {
					latest = &app.Statuses[0]
				}
			}
		}
	}
	return latest
}

// showBuilds reads builds with jobs and resources, in the order of ids; whole
// only in one transaction, as all that they are changes together when they end.
func (s *Service) showBuilds(ctx context.Context, q *sqlc.Queries, ids []uuid.UUID) ([]coder.WorkspaceBuild, error) {
	out := make([]coder.WorkspaceBuild, 0, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	rows, err := q.BuildRows(ctx, ids)
	if err != nil {
		return nil, err
	}
	jobIDs := make([]uuid.UUID, len(rows))
	byID := make(map[uuid.UUID]sqlc.BuildRowsRow, len(rows))
	for i, r := range rows {
		jobIDs[i] = r.WorkspaceBuild.JobID
		byID[r.WorkspaceBuild.ID] = r
	}
	jobs, err := s.Queue.Jobs(ctx, q, jobIDs)
	if err != nil {
		return nil, err
	}
	resources, err := resource.Load(ctx, q, s.now(), jobIDs)
	if err != nil {
		return nil, err
	}
	matched := matcher{s: s, q: q, known: map[string]outlook{}}
	for _, id := range ids {
		r, ok := byID[id]
		if !ok {
			continue
		}
		b := buildView(r, jobs[r.WorkspaceBuild.JobID], resources[r.WorkspaceBuild.JobID])
		v, err := matched.find(ctx, b.Job)
		if err != nil {
			return nil, err
		}
		b.MatchedProvisioners, b.ProvisionerWarning = v.matched, v.warning
		out = append(out, b)
	}
	return out, nil
}

func buildView(r sqlc.BuildRowsRow, job coder.ProvisionerJob, resources []coder.WorkspaceResource) coder.WorkspaceBuild {
	b := r.WorkspaceBuild
	if resources == nil {
		resources = []coder.WorkspaceResource{}
	}
	coder.NameApps(resources, r.WorkspaceName, r.OwnerName)
	transition := coder.WorkspaceTransition(b.Transition)
	return coder.WorkspaceBuild{
		BuildNumber: b.BuildNumber, CreatedAt: b.CreatedAt, DailyCost: b.DailyCost, Deadline: b.Deadline,
		HasAITask: r.HasAiTask, HasExternalAgent: r.HasExternalAgent, ID: b.ID, InitiatorID: b.InitiatorID,
		InitiatorName: r.InitiatorName, Job: job, MaxDeadline: b.MaxDeadline, Reason: coder.BuildReason(b.Reason),
		Resources: resources, Status: coder.NewWorkspaceStatus(transition, job.Status),
		TemplateVersionID: b.TemplateVersionID, TemplateVersionName: r.VersionName, TemplateVersionPresetID: b.PresetID,
		Transition: transition, UpdatedAt: b.UpdatedAt, WorkspaceID: b.WorkspaceID, WorkspaceName: r.WorkspaceName,
		WorkspaceOwnerAvatarURL: r.OwnerAvatarUrl, WorkspaceOwnerID: r.OwnerID, WorkspaceOwnerName: r.OwnerName,
	}
}

// matcher counts the provisioners for jobs that wait, once per tag set.
type matcher struct {
	s     *Service
	q     *sqlc.Queries
	known map[string]outlook
}

// outlook is who could take a waiting job, and what to do when nobody is there.
type outlook struct {
	matched *coder.MatchedProvisioners
	warning string
}

func (m matcher) find(ctx context.Context, job coder.ProvisionerJob) (outlook, error) {
	if job.Status != coder.ProvisionerJobStatusPending {
		return outlook{}, nil
	}
	tags := coder.Tags(job.Tags)
	key := job.OrganizationID.String() + " " + tags.Key()
	if v, ok := m.known[key]; ok {
		return v, nil
	}
	n, warning, err := m.s.Queue.Outlook(ctx, m.q, job.ID)
	if err != nil {
		return outlook{}, err
	}
	v := outlook{&n, warning}
	m.known[key] = v
	return v, nil
}

// Build gives a build.
func (s *Service) Build(ctx context.Context, actor access.Subject, id uuid.UUID) (coder.WorkspaceBuild, error) {
	if _, _, err := s.findBuild(ctx, actor, coder.RBACActionRead, id); err != nil {
		return coder.WorkspaceBuild{}, err
	}
	return s.buildNow(ctx, id)
}

// buildNow reads a build as it is.
func (s *Service) buildNow(ctx context.Context, id uuid.UUID) (coder.WorkspaceBuild, error) {
	return oneOf(s.buildsNow(ctx, []uuid.UUID{id}))
}

// buildsNow reads builds as they are.
func (s *Service) buildsNow(ctx context.Context, ids []uuid.UUID) (out []coder.WorkspaceBuild, err error) {
	err = s.Store.Snapshot(ctx, func(q *sqlc.Queries) error {
		out, err = s.showBuilds(ctx, q, ids)
		return err
	})
	return out, err
}

// BuildByNumber gives a build of the workspace of that name.
func (s *Service) BuildByNumber(ctx context.Context, actor access.Subject, ownerID uuid.UUID, name string, number int32) (coder.WorkspaceBuild, error) {
	w, err := s.byName(ctx, actor, ownerID, name)
	if err != nil {
		return coder.WorkspaceBuild{}, err
	}
	b, err := s.Store.BuildByNumber(ctx, w.ID, number)
	if err != nil {
		return coder.WorkspaceBuild{}, err
	}
	return s.buildNow(ctx, b.ID)
}

// Page is which builds Builds gives.
type Page struct {
	After         uuid.UUID // continue behind this build; Nil: from the newest
	Since         time.Time // only builds made later; zero: all
	Limit, Offset int       // a limit of 0 gives all
}

// Builds gives the builds of a workspace, the newest first.
func (s *Service) Builds(ctx context.Context, actor access.Subject, id uuid.UUID, p Page) ([]coder.WorkspaceBuild, error) {
	if _, err := s.find(ctx, actor, coder.RBACActionRead, id); err != nil {
		return nil, err
	}
	arg := sqlc.BuildIDsParams{WorkspaceID: id, MaxRows: int32(p.Limit), SkipRows: int32(p.Offset)}
	if !p.Since.IsZero() {
		arg.Since = &p.Since
	}
	if p.After != uuid.Nil {
		after, err := s.Store.BuildByID(ctx, p.After)
		if err != nil || after.WorkspaceID != id {
			return nil, coder.Invalid("after_id", "this workspace has no such build")
		}
		arg.AfterNumber = after.BuildNumber
	}
	ids, err := s.Store.BuildIDs(ctx, arg)
	if err != nil {
		return nil, err
	}
	return s.buildsNow(ctx, ids)
}
