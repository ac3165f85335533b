package workspace

import (
	"context"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/workspace/search"
)

// Search is the filter and the page of Workspaces.
type Search = search.Search

// Sorts are the orders of Workspaces.
var Sorts = search.Sorts

// Workspaces returns a page of the matching workspaces that the actor can see, the count of all
// matching workspaces, and what else the filter asks for. Deleted workspaces are returned only for
// the status deleted.
func (s *Service) Workspaces(ctx context.Context, actor access.Subject, filter Search) (codersdk.WorkspacesResponse, error) {
	out := codersdk.WorkspacesResponse{Workspaces: []codersdk.Workspace{}}
	ids, count, err := search.Find(ctx, s.Store, actor, filter, s.now())
	out.Count = count
	if err == nil && filter.Counts {
		out.Counts, err = search.Count(ctx, s.Store, actor, filter, s.now())
	}
	if err == nil && filter.Rights {
		out.Rights, err = search.Rights(ctx, s.Store, actor, ids)
	}
	if err != nil || len(ids) == 0 {
		return out, err
	}
	out.Workspaces, err = s.views.Workspaces(ctx, actor, ids)
	return out, err
}
