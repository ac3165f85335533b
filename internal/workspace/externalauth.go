package workspace

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// requireLinks checks at the providers that the owner of a new workspace has linked what
// the version requires. (AU-21)
func (s *Service) requireLinks(ctx context.Context, ownerID uuid.UUID, v sqlc.TemplateVersion) error {
	if s.Links == nil || len(v.ExternalAuth) == 0 || ownerID == codersdk.PrebuildsUserID() {
		return nil
	}
	return s.Links.Require(ctx, ownerID, v.ExternalAuth)
}

// checkLinks checks in the transaction of a start that the owner has linked what the
// version requires. Prebuilt workspaces have no owner yet.
func (s *Service) checkLinks(ctx context.Context, q *sqlc.Queries, p plan) error {
	if s.Links == nil || p.transition != codersdk.WorkspaceTransitionStart || p.workspace.OwnerID == codersdk.PrebuildsUserID() {
		return nil
	}
	var required []string
	for _, d := range p.version.TemplateVersion.ExternalAuth {
		if !d.Optional {
			required = append(required, d.ID)
		}
	}
	if len(required) == 0 {
		return nil
	}
	linked, err := q.ExternalAuthLinked(ctx, p.workspace.OwnerID, required)
	if err != nil {
		return err
	}
	return s.Links.Missing(slices.DeleteFunc(required, func(id string) bool { return slices.Contains(linked, id) }))
}

// linkTokens returns the owner's tokens at the providers that the version of a build
// declares. A stop or a delete runs without those that are missing.
func (s *Service) linkTokens(ctx context.Context, b sqlc.WorkspaceBuild, ownerID uuid.UUID) ([]*provisioner.ExternalAuthProvider, error) {
	if s.Links == nil {
		return nil, nil
	}
	declared, err := s.Store.ExternalAuthDeclared(ctx, b.ID)
	if err != nil || len(declared) == 0 {
		return nil, err
	}
	strict := b.Transition == string(codersdk.WorkspaceTransitionStart) && ownerID != codersdk.PrebuildsUserID()
	return s.Links.Tokens(ctx, ownerID, declared, strict)
}
