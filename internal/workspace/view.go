package workspace

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
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
	return s.views.Workspace(ctx, actor, id)
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
	return s.views.Workspace(ctx, actor, w.ID)
}

func (s *Service) byName(ctx context.Context, actor access.Subject, ownerID uuid.UUID, name string) (sqlc.Workspace, error) {
	w, err := s.Store.WorkspaceByName(ctx, ownerID, name)
	if err != nil {
		return w, err
	}
	return w, actor.Check(codersdk.RBACActionRead, object(w))
}

// Build returns a build.
func (s *Service) Build(ctx context.Context, actor access.Subject, id uuid.UUID) (codersdk.WorkspaceBuild, error) {
	if _, _, err := s.findBuild(ctx, actor, codersdk.RBACActionRead, id); err != nil {
		return codersdk.WorkspaceBuild{}, err
	}
	return s.views.Build(ctx, id)
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
	return s.views.Build(ctx, b.ID)
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
	return s.views.Builds(ctx, ids)
}
