package workspace

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

func list(w sqlc.Workspace) organization.List {
	return organization.List{OrganizationID: w.OrganizationID, Users: w.UserACL, Groups: w.GroupACL}
}

// WorkspaceACL returns the access list of a workspace, if the actor can read it. (WS-21)
func (s *Service) WorkspaceACL(ctx context.Context, actor access.Subject, id uuid.UUID) (codersdk.WorkspaceACL, error) {
	acl := codersdk.WorkspaceACL{Users: []codersdk.WorkspaceUser{}, Group: []codersdk.WorkspaceGroup{}}
	w, err := s.findLive(ctx, actor, codersdk.RBACActionRead, id)
	if err != nil {
		return acl, err
	}
	users, groups, err := list(w).Show(ctx, s.Store.Queries)
	for _, u := range users {
		acl.Users = append(acl.Users, codersdk.WorkspaceUser{
			MinimalUser: codersdk.MinimalUser{AvatarURL: u.User.AvatarURL, ID: u.User.ID, Name: u.User.Name, Username: u.User.Username},
			Role:        codersdk.WorkspaceRole(u.Role),
		})
	}
	for _, g := range groups {
		acl.Group = append(acl.Group, codersdk.WorkspaceGroup{Group: g.Group, Role: codersdk.WorkspaceRole(g.Role)})
	}
	return acl, err
}

// WorkspaceACLAvailable returns the users and groups that a workspace can be shared
// with, if the actor can share it.
func (s *Service) WorkspaceACLAvailable(
	ctx context.Context,
	actor access.Subject,
	id uuid.UUID,
	words string,
	page codersdk.Page,
) (codersdk.ACLAvailable, error) {
	w, err := s.findLive(ctx, actor, codersdk.RBACActionShare, id)
	if err != nil {
		return codersdk.ACLAvailable{}, err
	}
	var out codersdk.ACLAvailable
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		out, err = list(w).Available(ctx, q, words, page)
		return err
	})
	return out, err
}

// UpdateWorkspaceACL changes the access list of a workspace. An empty role removes an
// entry; entries that the request does not name stay. Users who lose access also lose
// their open connections.
func (s *Service) UpdateWorkspaceACL(ctx context.Context, actor access.Subject, id uuid.UUID, req codersdk.UpdateWorkspaceACL) error {
	c := organization.Changes{Users: texts(req.UserRoles), Groups: texts(req.GroupRoles), UserField: "user_roles", GroupField: "group_roles"}
	return s.share(ctx, actor, id, func(q *sqlc.Queries, w sqlc.Workspace) (organization.List, error) {
		if req.UserRoles[w.OwnerID] != "" {
			return list(w), codersdk.Invalid("user_roles", "the owner already has access")
		}
		if err := shareable(ctx, q, actor, w, c); err != nil {
			return list(w), err
		}
		return list(w).Change(ctx, q, c)
	})
}

// shareable rejects new roles where sharing is disabled. Removing roles is always
// possible.
func shareable(ctx context.Context, q *sqlc.Queries, actor access.Subject, w sqlc.Workspace, c organization.Changes) error {
	gives := false
	for _, half := range []map[string]string{c.Users, c.Groups} {
		for _, role := range half {
			gives = gives || role != ""
		}
	}
	if !gives {
		return nil
	}
	if actor.NoSharing {
		return codersdk.Errorf(codersdk.CodeForbidden, "Workspace sharing is disabled on this deployment")
	}
	o, err := q.OrganizationByID(ctx, w.OrganizationID)
	if err == nil && o.WorkspaceSharingDisabled {
		err = codersdk.Errorf(codersdk.CodeForbidden, "Workspace sharing is disabled in the organization %s", o.Name)
	}
	return err
}

// ClearWorkspaceACL removes all entries from the access list of a workspace.
func (s *Service) ClearWorkspaceACL(ctx context.Context, actor access.Subject, id uuid.UUID) error {
	return s.share(ctx, actor, id, func(_ *sqlc.Queries, w sqlc.Workspace) (organization.List, error) {
		return organization.List{OrganizationID: w.OrganizationID, Users: map[string]string{}, Groups: map[string]string{}}, nil
	})
}

// share locks a workspace that the actor can share, stores the list that fn returns,
// audits the change, and notifies the users that have it open.
func (s *Service) share(ctx context.Context, actor access.Subject, id uuid.UUID, fn func(*sqlc.Queries, sqlc.Workspace) (organization.List, error)) error {
	if _, err := s.findLive(ctx, actor, codersdk.RBACActionShare, id); err != nil {
		return err
	}
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		w, err := q.WorkspaceForUpdate(ctx, id)
		if err != nil {
			return err
		}
		if err := live(w); err != nil {
			return err
		}
		now, err := fn(q, w)
		if err != nil {
			return err
		}
		diff := audit.Diff(map[string]any{"user_acl": w.UserACL, "group_acl": w.GroupACL}, map[string]any{"user_acl": now.Users, "group_acl": now.Groups})
		if len(diff) == 0 {
			return nil
		}
		if err := q.WorkspaceSetACL(ctx, sqlc.WorkspaceSetACLParams{ID: id, UserACL: now.Users, GroupACL: now.Groups, Now: s.now()}); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeWorkspace, ResourceID: w.ID,
			OrganizationID: w.OrganizationID, Target: w.Name, Diff: diff,
		})
	})
	if err == nil {
		s.Hub.Publish(notify.Workspace(id), notify.Sharing(id))
	}
	return err
}

func texts(roles map[uuid.UUID]codersdk.WorkspaceRole) map[string]string {
	out := make(map[string]string, len(roles))
	for id, role := range roles {
		out[id.String()] = string(role)
	}
	return out
}
