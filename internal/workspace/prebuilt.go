package workspace

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Prebuild makes a workspace of a preset of a version for nobody yet: it belongs
// to the account of prebuilt workspaces until somebody claims it. Its job goes
// behind those of people.
//
// Deciding and making are one transaction: due decides, and what it does is
// undone with an error. The id is Nil, without an error, when due wants none.
// CodeInvalid is a parameter that neither the preset nor a default gives a
// value. (WS-20)
func (s *Service) Prebuild(ctx context.Context, versionID, presetID uuid.UUID, due func(ctx context.Context, q *sqlc.Queries) (bool, error)) (uuid.UUID, error) {
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
			ID: id, OrganizationID: v.Template.OrganizationID, OwnerID: coder.PrebuildsUserID(), TemplateID: v.Template.ID,
			Name:             "prebuild-" + strings.ReplaceAll(id.String(), "-", "")[:16],
			AutomaticUpdates: string(coder.AutomaticUpdatesNever), CreatedAt: now, UpdatedAt: now, LastUsedAt: now,
		}
		if err := q.WorkspaceInsert(ctx, insertParams(w)); err != nil {
			return err
		}
		_, err = s.addBuild(ctx, q, access.System(), plan{
			workspace: w, version: v, transition: coder.WorkspaceTransitionStart, reason: coder.BuildReasonInitiator, presetID: &presetID, number: 1,
		})
		if err != nil {
			return err
		}
		made = w
		return audit.Record(ctx, q, access.System(), audit.Entry{
			Action: coder.AuditActionCreate, ResourceType: coder.ResourceTypeWorkspace, ResourceID: id, OrganizationID: w.OrganizationID,
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

// tellPrebuilt tells a template whether the build is for nobody yet, or for who
// has just claimed what was: then the agents that run are to keep their tokens.
// So is a build that follows a claim that failed. (TF-09)
func (s builds) tellPrebuilt(ctx context.Context, q *sqlc.Queries, in input, r sqlc.BuildForProvisionerRow, m *provisioner.Metadata) error {
	w, b := r.Workspace, r.WorkspaceBuild
	if w.OwnerID == coder.PrebuildsUserID() {
		m.PrebuiltWorkspaceBuildStage = provisioner.PrebuiltWorkspaceBuildStage_CREATE
		return nil
	}
	if b.Transition != string(coder.WorkspaceTransitionStart) || b.BuildNumber == 1 {
		return nil
	}
	claim := in.Claim
	if !claim {
		var err error
		if claim, err = q.PrebuildBefore(ctx, w.ID, b.BuildNumber); err != nil && !coder.Is(err, coder.CodeNotFound) {
			return err
		}
	}
	if !claim {
		return nil
	}
	tokens, err := q.PrebuildAgentTokens(ctx, w.ID, b.BuildNumber)
	if err != nil {
		return err
	}
	m.PrebuiltWorkspaceBuildStage = provisioner.PrebuiltWorkspaceBuildStage_CLAIM
	for _, t := range tokens {
		m.RunningAgentAuthTokens = append(m.RunningAgentAuthTokens, &provisioner.RunningAgentAuthToken{AgentId: t.ID.String(), Token: t.Token.String()})
	}
	return nil
}

// prebuiltObject is a workspace that nobody has claimed as access sees it beside
// object: who may change or delete such ones need not be able to do so with
// those of people.
func prebuiltObject(w sqlc.Workspace) access.Object {
	return access.Object{Type: coder.RBACResourcePrebuiltWorkspace, ID: w.ID, OrganizationID: w.OrganizationID, OwnerID: w.OwnerID}
}

// check refuses an actor who may not do the action on a workspace.
func check(actor access.Subject, action coder.RBACAction, w sqlc.Workspace) error {
	if w.OwnerID == coder.PrebuildsUserID() {
		also := action
		switch action {
		case coder.RBACActionStart, coder.RBACActionStop:
			also = coder.RBACActionUpdate
		case coder.RBACActionUpdate, coder.RBACActionDelete:
		default:
			return actor.Check(action, object(w))
		}
		if actor.Can(also, prebuiltObject(w)) {
			return nil
		}
	}
	return actor.Check(action, object(w))
}
