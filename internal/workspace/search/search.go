// Package search finds workspaces: the filter of the list of workspaces, its order, and the
// counts of a filter's matches by status and template. The caller shows what it finds. (WS-23)
package search

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Search is a filter and a page of workspaces. Zero fields match all; all other fields must
// match.
type Search struct {
	IDs              []uuid.UUID
	OwnerID          uuid.UUID
	Owner            string    // name
	NotOwnerID       uuid.UUID // owner whose workspaces are excluded
	Name             string    // part of the name, case-insensitive
	NameExact        string
	Template         string // name or id
	Organization     string // name or id
	Status           codersdk.WorkspaceStatus
	AgentStatus      codersdk.WorkspaceAgentStatus
	Healthy          *bool // true: an agent is connected; false: an agent is unhealthy, see codersdk.AgentHealth
	Dormant          *bool
	Outdated         *bool
	Shared           *bool
	SharedWithUser   uuid.UUID
	SharedWithGroup  string // name, organization/name or id
	HasAITask        *bool
	HasExternalAgent *bool
	LastUsedBefore   *time.Time
	LastUsedAfter    *time.Time
	Parameters       []codersdk.WorkspaceBuildParameter // values of the latest build

	// Sort is one of Sorts. With "", favorites come first, then the others by owner and name.
	Sort          string
	Descending    bool
	Limit, Offset int // a limit of 0 returns all

	Counts bool // also count, see Count
	Rights bool // also return what the actor can do, see Rights
}

// Sorts are the orders of a list. The status starts with what needs attention: failed, canceled,
// in progress, running, stopped. Workspaces without a value come last.
var Sorts = []string{"name", "owner", "template", "status", "last_used", "autostop"}

// Find returns the IDs of a page of the matching workspaces that the actor can see, and the
// count of all matches. Beyond the last page there are no IDs, and the count still holds.
func Find(ctx context.Context, store *postgres.Store, actor access.Subject, s Search, now time.Time) ([]uuid.UUID, int, error) {
	arg, err := Params(actor, s, now)
	if err != nil {
		return nil, 0, err
	}
	var ids []uuid.UUID
	var count int
	err = store.Snapshot(ctx, func(q *sqlc.Queries) error {
		if err := q.ListPlan(ctx); err != nil {
			return err
		}
		ids, count, err = find(ctx, q, arg, s, actor.UserID)
		return err
	})
	return ids, count, err
}

// find is Find in a transaction that sees one state of the database.
func find(ctx context.Context, q *sqlc.Queries, arg sqlc.WorkspaceSearchParams, s Search, viewer uuid.UUID) ([]uuid.UUID, int, error) {
	var first sqlc.WorkspaceSearchRow
	if s.Sort == "" {
		favorites, err := q.WorkspaceFavorites(ctx, viewer)
		if err != nil {
			return nil, 0, err
		}
		if len(favorites) > 0 {
			part := arg
			part.Among, part.SkipRows, part.MaxRows = favorites, 0, 0
			if first, err = q.WorkspaceSearch(ctx, part); err != nil {
				return nil, 0, err
			}
			arg.Besides, arg.SkipRows = favorites, int32(max(0, s.Offset-len(first.Ids)))
		}
	}
	others, err := q.WorkspaceSearch(ctx, arg)
	if err != nil {
		return nil, 0, err
	}
	ids := append(first.Ids[min(s.Offset, len(first.Ids)):], others.Ids...)
	if s.Limit > 0 {
		ids = ids[:min(s.Limit, len(ids))]
	}
	return ids, int(first.Total + others.Total), nil
}

// Count returns how many workspaces a list would have with other values of the filters for
// status, health, template, dormancy and outdated versions: it ignores those of s, and groups
// the matches of the remaining fields by them.
func Count(ctx context.Context, store *postgres.Store, actor access.Subject, s Search, now time.Time) ([]codersdk.WorkspaceCount, error) {
	s.Status, s.Healthy, s.Template, s.Dormant, s.Outdated = "", nil, "", nil, nil
	s.Sort, s.Limit, s.Offset = "", 0, 0
	all, err := Params(actor, s, now)
	if err != nil {
		return nil, err
	}
	unhealthy := all
	unhealthy.Unhealthy = true
	out := []codersdk.WorkspaceCount{}
	err = store.Snapshot(ctx, func(q *sqlc.Queries) error {
		if err := q.ListPlan(ctx); err != nil {
			return err
		}
		found, err := q.WorkspaceSearch(ctx, all)
		if err != nil || len(found.Ids) == 0 {
			return err
		}
		sick, err := q.WorkspaceSearch(ctx, unhealthy)
		if err != nil {
			return err
		}
		rows, err := q.WorkspaceCounts(ctx, sick.Ids, found.Ids)
		for _, r := range rows {
			status := codersdk.NewWorkspaceStatus(codersdk.WorkspaceTransition(r.Transition), codersdk.ProvisionerJobStatus(r.JobStatus))
			out = append(out, codersdk.WorkspaceCount{
				Status:       status,
				TemplateName: r.TemplateName,
				Outdated:     r.Outdated,
				Dormant:      r.Dormant,
				Unhealthy:    r.Unhealthy && status == codersdk.WorkspaceStatusRunning,
				Count:        int(r.Matches),
			})
		}
		return err
	})
	return out, err
}

// Params returns the parameters of the query for a search at a time.
func Params(actor access.Subject, search Search, now time.Time) (sqlc.WorkspaceSearchParams, error) {
	f := actor.Filter(codersdk.RBACResourceWorkspace)
	arg := sqlc.WorkspaceSearchParams{
		Deleted: search.Status == codersdk.WorkspaceStatusDeleted,
		SeeAll:  f.All, SeeOrganizations: f.OrganizationIDs, SeeMemberOf: f.MemberOf, SeeOwner: f.OwnerID, SeeIds: f.IDs,
		UserKey: f.UserKey, GroupKeys: f.GroupKeys,
		Ids: search.IDs, OwnerID: some(search.OwnerID), NotOwnerID: some(search.NotOwnerID), OwnerName: some(search.Owner), Name: some(search.Name),
		NameExact: some(search.NameExact),
		Template:  some(search.Template), Organization: some(search.Organization), Dormant: search.Dormant, Shared: search.Shared,
		SharedWithUser: idText(search.SharedWithUser), SharedWithGroup: some(search.SharedWithGroup),
		LastUsedBefore: search.LastUsedBefore, LastUsedAfter: search.LastUsedAfter,
		Outdated: search.Outdated, HasAiTask: search.HasAITask, HasExternalAgent: search.HasExternalAgent,
		AgentStatuses: agentStatuses(search), Unhealthy: search.Healthy != nil && !*search.Healthy, Now: now, SilentSince: now.Add(-codersdk.AgentInactiveTimeout),
		Sort: search.Sort, Descending: search.Descending, SkipRows: int32(search.Offset), MaxRows: int32(search.Limit),
	}
	arg.Transitions, arg.JobStatuses = JobsOf(search.Status)
	if len(search.Parameters) > 0 {
		var err error
		if arg.Parameters, err = json.Marshal(search.Parameters); err != nil {
			return arg, err
		}
	}
	return arg, nil
}

// idText returns the text of an ID, nil for uuid.Nil.
func idText(id uuid.UUID) *string {
	if id == uuid.Nil {
		return nil
	}
	text := id.String()
	return &text
}

// some returns a pointer to v, nil for the zero value.
func some[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// JobsOf returns the transitions and the job statuses that a latest build with a
// workspace status can have: any of one with any of the other; nil for no status. It is
// the inverse of codersdk.NewWorkspaceStatus, so that SQL does not repeat that rule.
func JobsOf(status codersdk.WorkspaceStatus) (transitions, jobs []string) {
	if status == "" {
		return nil, nil
	}
	transitions, jobs = []string{}, []string{}
	for _, t := range []codersdk.WorkspaceTransition{codersdk.WorkspaceTransitionStart, codersdk.WorkspaceTransitionStop, codersdk.WorkspaceTransitionDelete} {
		for _, j := range []codersdk.ProvisionerJobStatus{
			codersdk.ProvisionerJobStatusPending, codersdk.ProvisionerJobStatusRunning, codersdk.ProvisionerJobStatusSucceeded,
			codersdk.ProvisionerJobStatusCanceling, codersdk.ProvisionerJobStatusCanceled, codersdk.ProvisionerJobStatusFailed,
		} {
			if codersdk.NewWorkspaceStatus(t, j) == status {
				transitions, jobs = append(transitions, string(t)), append(jobs, string(j))
			}
		}
	}
	slices.Sort(transitions)
	slices.Sort(jobs)
	return slices.Compact(transitions), slices.Compact(jobs)
}

// agentStatuses returns the statuses of which at least one agent must have one.
func agentStatuses(search Search) []string {
	var sets [][]string
	if search.AgentStatus != "" {
		sets = append(sets, []string{string(search.AgentStatus)})
	}
	if search.Healthy != nil && *search.Healthy {
		sets = append(sets, []string{string(codersdk.WorkspaceAgentStatusConnected)})
	}
	switch len(sets) {
	case 0:
		return nil
	case 1:
		return sets[0]
	}
	both := []string{}
	for _, a := range sets[0] {
		for _, b := range sets[1] {
			if a == b {
				both = append(both, a)
			}
		}
	}
	return both
}
