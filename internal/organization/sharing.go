package organization

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

func organizationObject(id uuid.UUID) access.Object {
	return access.Object{Type: coder.RBACResourceOrganization, ID: id, OrganizationID: id}
}

// Sharing says whether workspaces of an organization may be shared. (WS-21)
func (s *Service) Sharing(ctx context.Context, actor access.Subject, organizationID uuid.UUID) (coder.WorkspaceSharingSettings, error) {
	if err := actor.Check(coder.RBACActionRead, organizationObject(organizationID)); err != nil {
		return coder.WorkspaceSharingSettings{}, err
	}
	o, err := s.c.Store.OrganizationByID(ctx, organizationID)
	return coder.WorkspaceSharingSettings{SharingDisabled: o.WorkspaceSharingDisabled}, err
}

// UpdateSharing says whether workspaces of an organization may be shared.
// Switching it off ends all sharing there is; switching it on again brings
// none of it back.
func (s *Service) UpdateSharing(ctx context.Context, actor access.Subject, organizationID uuid.UUID, req coder.WorkspaceSharingSettings) (coder.WorkspaceSharingSettings, error) {
	var ended []uuid.UUID
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := actor.Check(coder.RBACActionUpdate, organizationObject(organizationID)); err != nil {
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
			Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeOrganization, ResourceID: o.ID, OrganizationID: o.ID,
			Target: o.Name, Icon: o.Icon, Fields: map[string]any{"shared_workspaces_ended": len(ended)},
			Diff: coder.AuditDiff{"workspace_sharing_disabled": {Old: old.WorkspaceSharingDisabled, New: o.WorkspaceSharingDisabled}},
		})
	})
	if err != nil {
		return coder.WorkspaceSharingSettings{}, err
	}
	if len(ended) > 0 {
		s.changedAllRights()
		s.changedWorkspaces(ended)
	}
	return req, nil
}

// Quota gives what a member's workspaces in an organization cost a day, and
// what they may. (WS-19)
func (s *Service) Quota(ctx context.Context, actor access.Subject, organizationID, userID uuid.UUID) (coder.WorkspaceQuota, error) {
	var out coder.WorkspaceQuota
	theirs := access.Object{Type: coder.RBACResourceWorkspace, OrganizationID: organizationID, OwnerID: userID}
	if err := actor.Check(coder.RBACActionRead, theirs); err != nil {
		return out, err
	}
	budget, err := s.c.Store.QuotaBudget(ctx, userID, organizationID)
	if err != nil {
		return out, err
	}
	consumed, err := s.c.Store.QuotaConsumed(ctx, userID, organizationID, uuid.Nil)
	return coder.WorkspaceQuota{Budget: int(budget), CreditsConsumed: int(consumed)}, err
}
