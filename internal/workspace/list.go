package workspace

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Search is which workspaces Workspaces gives. Zero fields do not count; all
// others must hold together. (WS-23)
type Search struct {
	IDs              []uuid.UUID
	OwnerID          uuid.UUID
	Owner            string // name
	Name             string // part of the name, in any case
	NameExact        string
	Template         string // name or id
	Organization     string // name or id
	Status           coder.WorkspaceStatus
	AgentStatus      coder.WorkspaceAgentStatus
	Healthy          *bool // true: an agent is connected; false: one timed out or was lost
	Dormant          *bool
	Outdated         *bool
	Shared           *bool
	HasAITask        *bool
	HasExternalAgent *bool
	LastUsedBefore   *time.Time
	LastUsedAfter    *time.Time
	Parameters       []coder.WorkspaceBuildParameter // values of the latest build

	Limit, Offset int // a limit of 0 gives all
}

// Workspaces gives a page of the workspaces that the actor may see and that
// match, its favorites first, then by owner and name, with the count of all
// that match. Deleted ones are found by the status deleted alone.
func (s *Service) Workspaces(ctx context.Context, actor access.Subject, search Search) (coder.WorkspacesResponse, error) {
	out := coder.WorkspacesResponse{Workspaces: []coder.Workspace{}}
	arg, err := s.searchParams(actor, search)
	if err != nil {
		return out, err
	}
	ids, err := s.search(ctx, arg, &out.Count)
	if err == nil && len(ids) == 0 && search.Offset > 0 { // behind the last page: what is left to tell is the count
		arg.SkipRows, arg.MaxRows = 0, 1
		_, err = s.search(ctx, arg, &out.Count)
		return out, err
	}
	if err != nil || len(ids) == 0 {
		return out, err
	}
	out.Workspaces, err = s.showAll(ctx, actor, ids)
	return out, err
}

// search gives the ids of a page and the count of all that match.
func (s *Service) search(ctx context.Context, arg sqlc.WorkspaceSearchParams, count *int) ([]uuid.UUID, error) {
	var rows []sqlc.WorkspaceSearchRow
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := q.ListPlan(ctx); err != nil {
			return err
		}
		var err error
		rows, err = q.WorkspaceSearch(ctx, arg)
		return err
	})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	*count = int(rows[0].Total)
	ids := make([]uuid.UUID, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	return ids, nil
}

func (s *Service) searchParams(actor access.Subject, search Search) (sqlc.WorkspaceSearchParams, error) {
	f, now := actor.Filter(coder.RBACResourceWorkspace), s.now()
	arg := sqlc.WorkspaceSearchParams{
		Viewer: actor.UserID, Deleted: search.Status == coder.WorkspaceStatusDeleted,
		SeeAll: f.All, SeeOrganizations: f.OrganizationIDs, SeeMemberOf: f.MemberOf, SeeOwner: f.OwnerID, SeeIds: f.IDs,
		UserKey: f.UserKey, GroupKeys: f.GroupKeys,
		Ids: search.IDs, OwnerID: some(search.OwnerID), OwnerName: some(search.Owner), Name: some(search.Name), NameExact: some(search.NameExact),
		Template: some(search.Template), Organization: some(search.Organization), Dormant: search.Dormant, Shared: search.Shared,
		LastUsedBefore: search.LastUsedBefore, LastUsedAfter: search.LastUsedAfter,
		Outdated: search.Outdated, HasAiTask: search.HasAITask, HasExternalAgent: search.HasExternalAgent,
		AgentStatuses: agentStatuses(search), Now: now, SilentSince: now.Add(-coder.AgentInactiveTimeout),
		SkipRows: int32(search.Offset), MaxRows: int32(search.Limit),
	}
	arg.Transitions, arg.JobStatuses = jobsOf(search.Status)
	if len(search.Parameters) > 0 {
		var err error
		if arg.Parameters, err = json.Marshal(search.Parameters); err != nil {
			return arg, err
		}
	}
	arg.AskBuild = search.Status != "" || arg.Outdated != nil || arg.HasAiTask != nil ||
		arg.HasExternalAgent != nil || arg.Parameters != nil
	return arg, nil
}

// some gives nil for the zero value.
func some[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// jobsOf gives the transitions and the states of jobs that a latest build with a
// status has: any of these with any of those; nil for no status. It is the
// inverse of coder.NewWorkspaceStatus, so that SQL need not know the rule.
func jobsOf(status coder.WorkspaceStatus) (transitions, jobs []string) {
	if status == "" {
		return nil, nil
	}
	transitions, jobs = []string{}, []string{}
	for _, t := range []coder.WorkspaceTransition{coder.WorkspaceTransitionStart, coder.WorkspaceTransitionStop, coder.WorkspaceTransitionDelete} {
		for _, j := range []coder.ProvisionerJobStatus{
			coder.ProvisionerJobStatusPending, coder.ProvisionerJobStatusRunning, coder.ProvisionerJobStatusSucceeded,
			coder.ProvisionerJobStatusCanceling, coder.ProvisionerJobStatusCanceled, coder.ProvisionerJobStatusFailed,
		} {
			if coder.NewWorkspaceStatus(t, j) == status {
				transitions, jobs = append(transitions, string(t)), append(jobs, string(j))
			}
		}
	}
	slices.Sort(transitions)
	slices.Sort(jobs)
	return slices.Compact(transitions), slices.Compact(jobs)
}

// agentStatuses gives those of which one agent at least must have one.
func agentStatuses(search Search) []string {
	var sets [][]string
	if search.AgentStatus != "" {
		sets = append(sets, []string{string(search.AgentStatus)})
	}
	if search.Healthy != nil && *search.Healthy {
		sets = append(sets, []string{string(coder.WorkspaceAgentStatusConnected)})
	} else if search.Healthy != nil {
		sets = append(sets, []string{string(coder.WorkspaceAgentStatusTimeout), string(coder.WorkspaceAgentStatusDisconnected)})
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
