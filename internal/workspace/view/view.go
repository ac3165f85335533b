// Package view shows workspaces and builds as clients see them. It checks no permissions.
package view

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/resource"
)

// Viewer loads workspaces and builds. It is safe for concurrent use.
type Viewer struct {
	Store *postgres.Store
	Queue *queue.Service
	Now   func() time.Time // at the precision of the database
	// AllowRenames reports to clients whether workspaces can be renamed.
	AllowRenames bool
}

// Workspace returns the current state of a workspace.
func (v Viewer) Workspace(ctx context.Context, actor access.Subject, id uuid.UUID) (codersdk.Workspace, error) {
	return oneOf(v.Workspaces(ctx, actor, []uuid.UUID{id}))
}

// Workspaces returns the current state of workspaces.
func (v Viewer) Workspaces(ctx context.Context, actor access.Subject, ids []uuid.UUID) (out []codersdk.Workspace, err error) {
	err = v.Store.Snapshot(ctx, func(q *sqlc.Queries) error {
		out, err = v.workspacesIn(ctx, q, actor, ids)
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

// workspacesIn returns workspaces with their latest builds in the order of ids. The number of
// queries does not depend on the number of workspaces.
func (v Viewer) workspacesIn(ctx context.Context, q *sqlc.Queries, actor access.Subject, ids []uuid.UUID) ([]codersdk.Workspace, error) {
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
	bs, err := v.buildsIn(ctx, q, latest)
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
			out = append(out, v.workspace(r, byWorkspace[id]))
		}
	}
	return out, addShared(ctx, q, rows, out)
}

func (v Viewer) workspace(r sqlc.WorkspaceRowsRow, b codersdk.WorkspaceBuild) codersdk.Workspace {
	w := r.Workspace
	return codersdk.Workspace{
		AllowRenames: v.AllowRenames, AutomaticUpdates: codersdk.AutomaticUpdates(w.AutomaticUpdates),
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

// BuildIn returns a build as transaction q sees it.
func (v Viewer) BuildIn(ctx context.Context, q *sqlc.Queries, id uuid.UUID) (codersdk.WorkspaceBuild, error) {
	return oneOf(v.buildsIn(ctx, q, []uuid.UUID{id}))
}

// buildsIn returns builds with jobs and resources in the order of ids. It is consistent
// only in one transaction, because a build's end changes all of these together.
func (v Viewer) buildsIn(ctx context.Context, q *sqlc.Queries, ids []uuid.UUID) ([]codersdk.WorkspaceBuild, error) {
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
	jobs, err := v.Queue.Jobs(ctx, q, jobIDs)
	if err != nil {
		return nil, err
	}
	resources, err := resource.Load(ctx, q, v.Now(), jobIDs)
	if err != nil {
		return nil, err
	}
	matched := matcher{queue: v.Queue, q: q, known: map[string]outlook{}}
	for _, id := range ids {
		r, ok := byID[id]
		if !ok {
			continue
		}
		b := buildView(r, jobs[r.WorkspaceBuild.JobID], resources[r.WorkspaceBuild.JobID])
		o, err := matched.find(ctx, b.Job)
		if err != nil {
			return nil, err
		}
		b.MatchedProvisioners, b.ProvisionerWarning = o.matched, o.warning
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
	queue *queue.Service
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
	if o, ok := m.known[key]; ok {
		return o, nil
	}
	n, warning, err := m.queue.Outlook(ctx, m.q, job.ID)
	if err != nil {
		return outlook{}, err
	}
	o := outlook{&n, warning}
	m.known[key] = o
	return o, nil
}

// Build returns the current state of a build.
func (v Viewer) Build(ctx context.Context, id uuid.UUID) (codersdk.WorkspaceBuild, error) {
	return oneOf(v.Builds(ctx, []uuid.UUID{id}))
}

// Builds returns the current state of builds.
func (v Viewer) Builds(ctx context.Context, ids []uuid.UUID) (out []codersdk.WorkspaceBuild, err error) {
	err = v.Store.Snapshot(ctx, func(q *sqlc.Queries) error {
		out, err = v.buildsIn(ctx, q, ids)
		return err
	})
	return out, err
}

// addShared adds the access lists of workspaces with at most two queries.
func addShared(ctx context.Context, q *sqlc.Queries, rows []sqlc.WorkspaceRowsRow, shown []codersdk.Workspace) error {
	var users, groups []uuid.UUID
	lists := map[uuid.UUID]sqlc.Workspace{}
	for _, r := range rows {
		users = append(users, organization.Keys(r.Workspace.UserACL)...)
		groups = append(groups, organization.Keys(r.Workspace.GroupACL)...)
		lists[r.Workspace.ID] = r.Workspace
	}
	if len(users)+len(groups) == 0 {
		return nil
	}
	us, err := q.ListedUsers(ctx, users)
	if err != nil {
		return err
	}
	gs, err := q.ListedGroups(ctx, groups)
	if err != nil {
		return err
	}
	for i := range shown {
		w := lists[shown[i].ID]
		for _, u := range us {
			if role := w.UserACL[u.ID.String()]; role != "" {
				shown[i].SharedWith = append(shown[i].SharedWith, codersdk.SharedWorkspaceActor{
					ActorType: codersdk.SharedWorkspaceActorTypeUser, ID: u.ID, Name: u.Username, AvatarURL: u.AvatarURL,
					Roles: []codersdk.WorkspaceRole{codersdk.WorkspaceRole(role)},
				})
			}
		}
		for _, g := range gs {
			if role := w.GroupACL[g.ID.String()]; role != "" {
				shown[i].SharedWith = append(shown[i].SharedWith, codersdk.SharedWorkspaceActor{
					ActorType: codersdk.SharedWorkspaceActorTypeGroup, ID: g.ID, Name: g.Name, AvatarURL: g.AvatarURL,
					Roles: []codersdk.WorkspaceRole{codersdk.WorkspaceRole(role)},
				})
			}
		}
	}
	return nil
}
