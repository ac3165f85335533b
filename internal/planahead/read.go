package planahead

import (
	"context"
	"fmt"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/workspace/savedplan"
)

// planFailed begins the reason after a failed plan. The rest is text of Terraform, which can contain values that
// a user must not read. Servers of the previous version recognize it by this beginning.
const planFailed = "the plan failed"

// Read reports whether the next start of a workspace is planned, and why not.
func (s *Service) Read(ctx context.Context, w codersdk.Workspace) (codersdk.WorkspacePlanAhead, error) {
	out := codersdk.WorkspacePlanAhead{Enabled: s.Plans > 0}
	if !out.Enabled {
		out.Reason = "the server does not plan ahead"
		return out, nil
	}
	row, err := s.Store.PlanAheadOfWorkspace(ctx, s.now().Add(-savedplan.MaxAge), w.ID)
	switch {
	case err != nil:
		return out, err
	case w.LatestBuild.Status != codersdk.WorkspaceStatusStopped:
		out.Reason = "the workspace is not stopped"
	case w.DormantAt != nil:
		out.Reason = "the workspace is dormant"
	case !row.OwnerActive:
		out.Reason = "the owner is not an active user"
	case row.Planned:
		out.PlannedAt = row.MadeAt
	case row.Refused && row.PublicReason == "":
		out.Reason = planFailed + "; a start shows the error"
	case row.Refused:
		out.Reason = row.PublicReason
	case row.Planning:
		out.Reason = "the plan is being made"
	default:
		out.Reason = fmt.Sprintf("the server plans up to %d workspaces while provisioners are idle; it begins with those that were stopped last", s.Plans)
	}
	return out, nil
}
