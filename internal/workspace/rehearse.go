package workspace

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/workspace/savedplan"
)

// Rehearsal is the next start of a workspace, which was not requested.
type Rehearsal struct {
	Workspace   sqlc.Workspace
	BuildNumber int32 // of the build that is the last one
	UserName    string
	VersionID   uuid.UUID
	Modules     *uuid.UUID // file of the modules of the version, nil for none
	// Build is what a provisioner would receive, without what is issued for one build.
	Build *provisionerd.AcquiredJob_WorkspaceBuild
	Job   sqlc.QueueJobRow // of the build
}

// Rehearse returns the inputs of the next start of a workspace, except its source: it creates the build as
// BuildAutomatically does, reads its inputs as its provisioner would receive them, and rolls
// back. CodeNotFound means that the workspace was deleted or that another transaction holds its
// row; other errors are those of the build.
func (s *Service) Rehearse(ctx context.Context, workspaceID uuid.UUID) (r Rehearsal, err error) {
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		w, err := q.ScheduleLock(ctx, workspaceID)
		if err != nil {
			return err
		}
		latest, err := q.BuildLatest(ctx, workspaceID)
		if err != nil {
			return err
		}
		p, err := s.planAutomatic(ctx, q, w, latest, codersdk.WorkspaceTransitionStart, codersdk.BuildReasonAutostart)
		if err != nil {
			return err
		}
		p.rehearsal = true
		id, err := s.addBuild(ctx, q, access.System(), p)
		if err != nil {
			return err
		}
		in := input{WorkspaceID: workspaceID}
		in.WorkspaceBuildID = id
		g, err := builds{s}.gather(ctx, q, in)
		if err != nil {
			return err
		}
		savedplan.Strip(g.out)
		r = Rehearsal{
			Workspace: w, BuildNumber: latest.WorkspaceBuild.BuildNumber, UserName: g.row.Username, VersionID: g.row.WorkspaceBuild.TemplateVersionID,
			Build: g.out,
		}
		if !g.row.DisableModuleCache {
			r.Modules = g.row.ModuleFilesID
		}
		if r.Job, err = q.QueueJob(ctx, g.row.WorkspaceBuild.JobID); err != nil {
			return err
		}
		return errDryRun
	})
	if errors.Is(err, errDryRun) {
		return r, nil
	}
	return Rehearsal{}, err
}
