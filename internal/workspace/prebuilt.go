package workspace

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Prebuild creates a prebuilt workspace of a preset of a version. It belongs to the
// account of prebuilt workspaces until a user claims it. Its job runs after the jobs of
// users.
//
// The decision and the creation are one transaction: due decides, and an error rolls its
// changes back. The ID is Nil without an error if due wants no workspace. CodeInvalid
// means that neither the preset nor a default sets a parameter. (WS-20)
func (s *Service) Prebuild(
	ctx context.Context,
	versionID, presetID uuid.UUID,
	due func(ctx context.Context, q *sqlc.Queries) (bool, error),
) (uuid.UUID, error) {
	var made sqlc.Workspace
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		made = sqlc.Workspace{}
		if wanted, err := due(ctx, q); err != nil || !wanted {
			return err
		}
		v, err := q.WorkspaceVersion(ctx, versionID)
		if err != nil {
			return err
		}
		now, id := s.now(), uuid.New()
		w := sqlc.Workspace{
			ID: id, OrganizationID: v.Template.OrganizationID, OwnerID: codersdk.PrebuildsUserID(), TemplateID: v.Template.ID,
			Name:             "prebuild-" + strings.ReplaceAll(id.String(), "-", "")[:16],
			AutomaticUpdates: string(codersdk.AutomaticUpdatesNever), CreatedAt: now, UpdatedAt: now, LastUsedAt: now,
		}
		if err := q.WorkspaceInsert(ctx, insertParams(w)); err != nil {
			return err
		}
		_, err = s.addBuild(ctx, q, access.System(), plan{
			workspace: w, version: v, transition: codersdk.WorkspaceTransitionStart, reason: codersdk.BuildReasonInitiator, presetID: &presetID, number: 1,
		})
		if err != nil {
			return err
		}
		made = w
		return audit.Record(ctx, q, access.System(), audit.Entry{
			Action: codersdk.AuditActionCreate, ResourceType: codersdk.ResourceTypeWorkspace, ResourceID: id, OrganizationID: w.OrganizationID,
			Target: w.Name, Icon: v.Template.Icon, Diff: audit.Diff(nil, audited(w)),
		})
	})
	if err != nil || made.ID == uuid.Nil {
		return uuid.Nil, err
	}
	s.Queue.Wake(made.OrganizationID)
	s.Hub.Publish(notify.Workspace(made.ID))
	return made.ID, nil
}

// setPrebuiltStage sets in the metadata whether the build is of a prebuilt workspace, or of
// one that was just claimed, whose running agents keep their tokens. (TF-09)
func (s builds) setPrebuiltStage(ctx context.Context, q *sqlc.Queries, in input, r sqlc.BuildForProvisionerRow, m *provisioner.Metadata) error {
	w, b := r.Workspace, r.WorkspaceBuild
	if w.OwnerID == codersdk.PrebuildsUserID() {
		m.PrebuiltWorkspaceBuildStage = provisioner.PrebuiltWorkspaceBuildStage_CREATE
		return nil
	}
	if claim, err := isClaim(ctx, q, in, b); err != nil || !claim {
		return err
	}
	tokens, err := q.PrebuildAgentTokens(ctx, w.ID, b.BuildNumber)
	if err != nil {
		return err
	}
	m.PrebuiltWorkspaceBuildStage = provisioner.PrebuiltWorkspaceBuildStage_CLAIM
	for _, t := range tokens {
		token, err := s.Vault.OpenAgentToken(t.ID, t.Token, t.Kept, t.KeyID)
		if err != nil {
			return err
		}
		m.RunningAgentAuthTokens = append(m.RunningAgentAuthTokens, &provisioner.RunningAgentAuthToken{AgentId: t.ID.String(), Token: token.String()})
	}
	return nil
}

// isClaim reports whether a build transfers a prebuilt workspace to a user. Starts after a
// failed claim count as claims.
func isClaim(ctx context.Context, q *sqlc.Queries, in input, b sqlc.WorkspaceBuild) (bool, error) {
	if in.Claim || b.Transition != string(codersdk.WorkspaceTransitionStart) || b.BuildNumber == 1 {
		return in.Claim, nil
	}
	claim, err := q.PrebuildBefore(ctx, b.WorkspaceID, b.BuildNumber)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return false, nil
	}
	return claim, err
}

// prebuiltObject is the additional access object of an unclaimed workspace. Users who
// can change or delete prebuilt workspaces need no rights on workspaces of users.
func prebuiltObject(w sqlc.Workspace) access.Object {
	return access.Object{Type: codersdk.RBACResourcePrebuiltWorkspace, ID: w.ID, OrganizationID: w.OrganizationID, OwnerID: w.OwnerID}
}

// check returns an error unless the actor can do the action on a workspace.
func check(actor access.Subject, action codersdk.RBACAction, w sqlc.Workspace) error {
	if w.OwnerID == codersdk.PrebuildsUserID() {
		also := action
		switch action {
		case codersdk.RBACActionStart, codersdk.RBACActionStop:
			also = codersdk.RBACActionUpdate
		case codersdk.RBACActionUpdate, codersdk.RBACActionDelete:
		default:
			return actor.Check(action, object(w))
		}
		if actor.Can(also, prebuiltObject(w)) {
			return nil
		}
	}
	return actor.Check(action, object(w))
}
