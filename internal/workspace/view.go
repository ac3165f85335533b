package workspace

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/resource"
)

// Workspace returns a workspace, a deleted one only with includeDeleted.
func (s *Service) Workspace(ctx context.Context, actor access.Subject, id uuid.UUID, includeDeleted bool) (codersdk.Workspace, error) {
	w, err := s.find(ctx, actor, codersdk.RBACActionRead, id)
	if err == nil && !includeDeleted {
		err = live(w)
	}
	if err != nil {
		return codersdk.Workspace{}, err
	}
	return s.showNow(ctx, actor, id)
}

// WorkspaceByOwnerAndName returns the live workspace of that name or, with
// includeDeleted, a deleted one.
func (s *Service) WorkspaceByOwnerAndName(
	ctx context.Context,
	actor access.Subject,
	ownerID uuid.UUID,
	name string,
	includeDeleted bool,
) (codersdk.Workspace, error) {
	w, err := s.byName(ctx, actor, ownerID, name)
	if err != nil {
		return codersdk.Workspace{}, err
	}
	if w.DeletedAt != nil && !includeDeleted {
		return codersdk.Workspace{}, codersdk.NotFound()
	}
	return s.showNow(ctx, actor, w.ID)
}

func (s *Service) byName(ctx context.Context, actor access.Subject, ownerID uuid.UUID, name string) (sqlc.Workspace, error) {
	w, err := s.Store.WorkspaceByName(ctx, ownerID, name)
	if err != nil {
		return w, err
	}
	return w, actor.Check(codersdk.RBACActionRead, object(w))
}

// showNow returns the current state of a workspace.
func (s *Service) showNow(ctx context.Context, actor access.Subject, id uuid.UUID) (codersdk.Workspace, error) {
	return oneOf(s.showAll(ctx, actor, []uuid.UUID{id}))
}

// showAll returns the current state of workspaces.
func (s *Service) showAll(ctx context.Context, actor access.Subject, ids []uuid.UUID) (out []codersdk.Workspace, err error) {
	err = s.Store.Snapshot(ctx, func(q *sqlc.Queries) error {
		out, err = s.show(ctx, q, actor, ids)
		return err
	})
	return out, err
}

// oneOf returns the single result, or CodeNotFound.
func oneOf[T any](found []T, err error) (one T, _ error) {
	if err != nil {
		return one, err
	}
	if len(found) == 0 {
		return one, codersdk.NotFound()
	}
	return found[0], nil
}

// show returns workspaces with their latest builds in the order of ids. The number of
// queries does not depend on the number of workspaces.
func (s *Service) show(ctx context.Context, q *sqlc.Queries, actor access.Subject, ids []uuid.UUID) ([]codersdk.Workspace, error) {
	rows, err := q.WorkspaceRows(ctx, actor.UserID, ids)
	if err != nil {
		return nil, err
	}
	latest := make([]uuid.UUID, 0, len(rows))
	byID := make(map[uuid.UUID]sqlc.WorkspaceRowsRow, len(rows))
	for _, r := range rows {
		if id := r.Workspace.LatestBuildID; id != nil { // the first build is inserted with the workspace
			latest = append(latest, *id)
		}
		byID[r.Workspace.ID] = r
	}
	bs, err := s.showBuilds(ctx, q, latest)
	if err != nil {
		return nil, err
	}
	byWorkspace := make(map[uuid.UUID]codersdk.WorkspaceBuild, len(bs))
	for _, b := range bs {
		byWorkspace[b.WorkspaceID] = b
	}
	out := make([]codersdk.Workspace, 0, len(ids))
	for _, id := range ids {
		if r, ok := byID[id]; ok {
			out = append(out, s.view(r, byWorkspace[id]))
		}
	}
	return out, addShared(ctx, q, rows, out)
}

func (s *Service) view(r sqlc.WorkspaceRowsRow, b codersdk.WorkspaceBuild) codersdk.Workspace {
	w := r.Workspace
	return codersdk.Workspace{
		AllowRenames: s.AllowRenames, AutomaticUpdates: codersdk.AutomaticUpdates(w.AutomaticUpdates),
		AutostartSchedule: w.AutostartSchedule, CreatedAt: w.CreatedAt, DeletingAt: w.DeletingAt, DormantAt: w.DormantAt,
		Favorite: r.Favorite, Health: codersdk.NewWorkspaceHealth(b.Resources), ID: w.ID, IsPrebuild: w.OwnerID == codersdk.PrebuildsUserID(),
		LastUsedAt: w.LastUsedAt, LatestAppStatus: latestStatus(b), LatestBuild: b, Name: w.Name, NextStartAt: w.NextStartAt, OrganizationID: w.OrganizationID,
		OrganizationName: r.OrganizationName, Outdated: b.TemplateVersionID != r.ActiveVersionID,
		OwnerAvatarURL: r.OwnerAvatarUrl, OwnerID: w.OwnerID, OwnerName: r.OwnerName, SharedWith: []codersdk.SharedWorkspaceActor{},
		TemplateActiveVersionID: r.ActiveVersionID, TemplateAllowUserCancelWorkspaceJobs: r.AllowUserCancelWorkspaceJobs,
		TemplateDisplayName: r.TemplateDisplayName, TemplateIcon: r.TemplateIcon, TemplateID: w.TemplateID,
		TemplateName: r.TemplateName, TemplateRequireActiveVersion: r.RequireActiveVersion,
		TemplateUseClassicParameterFlow: r.UseClassicParameterFlow, TTLMS: w.TTLMS, UpdatedAt: w.UpdatedAt,
	}
}

// latestStatus returns the last status of an app of a build; nil for none.
func latestStatus(b codersdk.WorkspaceBuild) (latest *codersdk.WorkspaceAppStatus) {
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

// showBuilds returns builds with jobs and resources in the order of ids. It is consistent
// only in one transaction, because a build's end changes all of these together.
func (s *Service) showBuilds(ctx context.Context, q *sqlc.Queries, ids []uuid.UUID) ([]codersdk.WorkspaceBuild, error) {
	out := make([]codersdk.WorkspaceBuild, 0, len(ids))
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

func buildView(r sqlc.BuildRowsRow, job codersdk.ProvisionerJob, resources []codersdk.WorkspaceResource) codersdk.WorkspaceBuild {
	b := r.WorkspaceBuild
	if resources == nil {
		resources = []codersdk.WorkspaceResource{}
	}
	codersdk.NameApps(resources, r.WorkspaceName, r.OwnerName)
	transition := codersdk.WorkspaceTransition(b.Transition)
	return codersdk.WorkspaceBuild{
		BuildNumber: b.BuildNumber, CreatedAt: b.CreatedAt, DailyCost: b.DailyCost, Deadline: b.Deadline,
		HasAITask: r.HasAiTask, HasExternalAgent: r.HasExternalAgent, ID: b.ID, InitiatorID: b.InitiatorID,
		InitiatorName: r.InitiatorName, Job: job, MaxDeadline: b.MaxDeadline, Reason: codersdk.BuildReason(b.Reason),
		Resources: resources, Status: codersdk.NewWorkspaceStatus(transition, job.Status),
		TemplateVersionID: b.TemplateVersionID, TemplateVersionName: r.VersionName, TemplateVersionPresetID: b.PresetID,
		Transition: transition, UpdatedAt: b.UpdatedAt, WorkspaceID: b.WorkspaceID, WorkspaceName: r.WorkspaceName,
		WorkspaceOwnerAvatarURL: r.OwnerAvatarUrl, WorkspaceOwnerID: r.OwnerID, WorkspaceOwnerName: r.OwnerName,
	}
}

// matcher counts the provisioners of pending jobs, once per tag set.
type matcher struct {
	s     *Service
	q     *sqlc.Queries
	known map[string]outlook
}

// outlook is which provisioners can run a pending job, and what to do if none can.
type outlook struct {
	matched *codersdk.MatchedProvisioners
	warning string
}

func (m matcher) find(ctx context.Context, job codersdk.ProvisionerJob) (outlook, error) {
	if job.Status != codersdk.ProvisionerJobStatusPending {
		return outlook{}, nil
	}
	tags := codersdk.Tags(job.Tags)
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

// Build returns a build.
func (s *Service) Build(ctx context.Context, actor access.Subject, id uuid.UUID) (codersdk.WorkspaceBuild, error) {
	if _, _, err := s.findBuild(ctx, actor, codersdk.RBACActionRead, id); err != nil {
		return codersdk.WorkspaceBuild{}, err
	}
	return s.buildNow(ctx, id)
}

// buildNow returns the current state of a build.
func (s *Service) buildNow(ctx context.Context, id uuid.UUID) (codersdk.WorkspaceBuild, error) {
	return oneOf(s.buildsNow(ctx, []uuid.UUID{id}))
}

// buildsNow returns the current state of builds.
func (s *Service) buildsNow(ctx context.Context, ids []uuid.UUID) (out []codersdk.WorkspaceBuild, err error) {
	err = s.Store.Snapshot(ctx, func(q *sqlc.Queries) error {
		out, err = s.showBuilds(ctx, q, ids)
		return err
	})
	return out, err
}

// BuildByNumber returns a build of the workspace of that name.
func (s *Service) BuildByNumber(ctx context.Context, actor access.Subject, ownerID uuid.UUID, name string, number int32) (codersdk.WorkspaceBuild, error) {
	w, err := s.byName(ctx, actor, ownerID, name)
	if err != nil {
		return codersdk.WorkspaceBuild{}, err
	}
	b, err := s.Store.BuildByNumber(ctx, w.ID, number)
	if err != nil {
		return codersdk.WorkspaceBuild{}, err
	}
	return s.buildNow(ctx, b.ID)
}

// Page is the filter of Builds.
type Page struct {
	After         uuid.UUID // continue after this build; Nil starts with the newest
	Since         time.Time // only builds created later; zero for all
	Limit, Offset int       // a limit of 0 returns all
}

// Builds returns the builds of a workspace, the newest first.
func (s *Service) Builds(ctx context.Context, actor access.Subject, id uuid.UUID, p Page) ([]codersdk.WorkspaceBuild, error) {
	if _, err := s.find(ctx, actor, codersdk.RBACActionRead, id); err != nil {
		return nil, err
	}
	arg := sqlc.BuildIDsParams{WorkspaceID: id, MaxRows: int32(p.Limit), SkipRows: int32(p.Offset)}
	if !p.Since.IsZero() {
		arg.Since = &p.Since
	}
	if p.After != uuid.Nil {
		after, err := s.Store.BuildByID(ctx, p.After)
		if err != nil || after.WorkspaceID != id {
			return nil, codersdk.Invalid("after_id", "build not found in this workspace")
		}
		arg.AfterNumber = after.BuildNumber
	}
	ids, err := s.Store.BuildIDs(ctx, arg)
	if err != nil {
		return nil, err
	}
	return s.buildsNow(ctx, ids)
}
