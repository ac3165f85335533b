package organization

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

func organizationObject(id uuid.UUID) access.Object {
	return access.Object{Type: codersdk.RBACResourceOrganization, ID: id, OrganizationID: id}
}

// Sharing returns whether workspaces of an organization can be shared. (WS-21)
func (s *Service) Sharing(ctx context.Context, actor access.Subject, organizationID uuid.UUID) (codersdk.WorkspaceSharingSettings, error) {
	if err := actor.Check(codersdk.RBACActionRead, organizationObject(organizationID)); err != nil {
		return codersdk.WorkspaceSharingSettings{}, err
	}
	o, err := s.c.Store.OrganizationByID(ctx, organizationID)
	return codersdk.WorkspaceSharingSettings{SharingDisabled: o.WorkspaceSharingDisabled}, err
}

// UpdateSharing sets whether workspaces of an organization can be shared. Disabling it removes
// all access lists; enabling it again does not restore them.
func (s *Service) UpdateSharing(
	ctx context.Context,
	actor access.Subject,
	organizationID uuid.UUID,
	req codersdk.WorkspaceSharingSettings,
) (codersdk.WorkspaceSharingSettings, error) {
	var ended []uuid.UUID
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := actor.Check(codersdk.RBACActionUpdate, organizationObject(organizationID)); err != nil {
			return err
		}
		old, err := q.OrganizationByID(ctx, organizationID)
		if err != nil || old.WorkspaceSharingDisabled == req.SharingDisabled {
			return err
		}
		o, err := q.OrganizationSetSharing(ctx, req.SharingDisabled, s.now(), organizationID)
		if err != nil {
			return err
		}
		if req.SharingDisabled {
			if ended, err = q.ForgetAllSharing(ctx, organizationID); err != nil {
				return err
			}
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeOrganization, ResourceID: o.ID, OrganizationID: o.ID,
			Target: o.Name, Icon: o.Icon, Fields: map[string]any{"shared_workspaces_ended": len(ended)},
			Diff: codersdk.AuditDiff{"workspace_sharing_disabled": {Old: old.WorkspaceSharingDisabled, New: o.WorkspaceSharingDisabled}},
		})
	})
	if err != nil {
		return codersdk.WorkspaceSharingSettings{}, err
	}
	if len(ended) > 0 {
		s.changedAllRights()
		s.changedWorkspaces(ended)
	}
	return req, nil
}

// Quota returns the daily cost of a member's workspaces in an organization, and the budget for
// it. (WS-19)
func (s *Service) Quota(ctx context.Context, actor access.Subject, organizationID, userID uuid.UUID) (codersdk.WorkspaceQuota, error) {
	var out codersdk.WorkspaceQuota
	theirs := access.Object{Type: codersdk.RBACResourceWorkspace, OrganizationID: organizationID, OwnerID: userID}
	if err := actor.Check(codersdk.RBACActionRead, theirs); err != nil {
		return out, err
	}
	budget, err := s.c.Store.QuotaBudget(ctx, userID, organizationID)
	if err != nil {
		return out, err
	}
	consumed, err := s.c.Store.QuotaConsumed(ctx, userID, organizationID, uuid.Nil)
	return codersdk.WorkspaceQuota{Budget: int(budget), CreditsConsumed: int(consumed)}, err
}
