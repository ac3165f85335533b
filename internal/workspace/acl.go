package workspace

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

func list(w sqlc.Workspace) organization.List {
	return organization.List{OrganizationID: w.OrganizationID, Users: w.UserACL, Groups: w.GroupACL}
}

// WorkspaceACL gives with whom a workspace is shared, to whoever may read it. (WS-21)
func (s *Service) WorkspaceACL(ctx context.Context, actor access.Subject, id uuid.UUID) (coder.WorkspaceACL, error) {
	acl := coder.WorkspaceACL{Users: []coder.WorkspaceUser{}, Group: []coder.WorkspaceGroup{}}
	w, err := s.findLive(ctx, actor, coder.RBACActionRead, id)
	if err != nil {
		return acl, err
	}
	users, groups, err := list(w).Show(ctx, s.Store.Queries)
	for _, u := range users {
		acl.Users = append(acl.Users, coder.WorkspaceUser{
			MinimalUser: coder.MinimalUser{AvatarURL: u.User.AvatarURL, ID: u.User.ID, Name: u.User.Name, Username: u.User.Username},
			Role:        coder.WorkspaceRole(u.Role),
		})
	}
	for _, g := range groups {
		acl.Group = append(acl.Group, coder.WorkspaceGroup{Group: g.Group, Role: coder.WorkspaceRole(g.Role)})
	}
	return acl, err
}

// WorkspaceACLAvailable gives with whom a workspace may be shared, to whoever
// may share it.
func (s *Service) WorkspaceACLAvailable(ctx context.Context, actor access.Subject, id uuid.UUID, words string, page coder.Page) (coder.ACLAvailable, error) {
	w, err := s.findLive(ctx, actor, coder.RBACActionShare, id)
	if err != nil {
		return coder.ACLAvailable{}, err
	}
	var out coder.ACLAvailable
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		out, err = list(w).Available(ctx, q, words, page)
		return err
	})
	return out, err
}

// UpdateWorkspaceACL changes with whom a workspace is shared; an empty role
// removes an entry, and those that the request does not name stay. Whoever
// loses the workspace by it loses open connections to it as well.
func (s *Service) UpdateWorkspaceACL(ctx context.Context, actor access.Subject, id uuid.UUID, req coder.UpdateWorkspaceACL) error {
	c := organization.Changes{Users: texts(req.UserRoles), Groups: texts(req.GroupRoles), UserField: "user_roles", GroupField: "group_roles"}
	return s.share(ctx, actor, id, func(q *sqlc.Queries, w sqlc.Workspace) (organization.List, error) {
		if req.UserRoles[w.OwnerID] != "" {
			return list(w), coder.Invalid("user_roles", "the workspace is its owner's already")
		}
		if err := shareable(ctx, q, actor, w, c); err != nil {
			return list(w), err
		}
		return list(w).Change(ctx, q, c)
	})
}

// shareable refuses to give anybody a role where sharing is switched off; to
// take one away is always possible.
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
		return coder.Errorf(coder.CodeForbidden, "Workspaces cannot be shared on this deployment")
	}
	o, err := q.OrganizationByID(ctx, w.OrganizationID)
	if err == nil && o.WorkspaceSharingDisabled {
		err = coder.Errorf(coder.CodeForbidden, "Workspaces of the organization %s cannot be shared: its administrators have switched that off", o.Name)
	}
	return err
}

// ClearWorkspaceACL ends all sharing of a workspace.
func (s *Service) ClearWorkspaceACL(ctx context.Context, actor access.Subject, id uuid.UUID) error {
	return s.share(ctx, actor, id, func(_ *sqlc.Queries, w sqlc.Workspace) (organization.List, error) {
		return organization.List{OrganizationID: w.OrganizationID, Users: map[string]string{}, Groups: map[string]string{}}, nil
	})
}

// share locks a workspace that the actor may share, stores the list that fn
// gives, records what changed, and tells who has it open.
func (s *Service) share(ctx context.Context, actor access.Subject, id uuid.UUID, fn func(*sqlc.Queries, sqlc.Workspace) (organization.List, error)) error {
	if _, err := s.findLive(ctx, actor, coder.RBACActionShare, id); err != nil {
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
			Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeWorkspace, ResourceID: w.ID,
			OrganizationID: w.OrganizationID, Target: w.Name, Diff: diff,
		})
	})
	if err == nil {
		s.Hub.Publish(notify.Workspace(id), notify.Sharing(id))
	}
	return err
}

func texts(roles map[uuid.UUID]coder.WorkspaceRole) map[string]string {
	out := make(map[string]string, len(roles))
	for id, role := range roles {
		out[id.String()] = string(role)
	}
	return out
}

// addShared fills in, with two queries at most, with whom workspaces are shared.
func addShared(ctx context.Context, q *sqlc.Queries, rows []sqlc.WorkspaceRowsRow, shown []coder.Workspace) error {
	var users, groups []uuid.UUID
	lists := map[uuid.UUID]sqlc.Workspace{}
	for _, r := range rows {
		users = append(users, organization.Keys(r.Workspace.UserACL)...)
		groups = append(groups, organization.Keys(r.Workspace.GroupACL)...)
		lists[r.Workspace.ID] = r.Workspace
	}
	if len(users)+len(groups) == 0 {
		return nil
	}
	us, err := q.ListedUsers(ctx, users)
	if err != nil {
		return err
	}
	gs, err := q.ListedGroups(ctx, groups)
	if err != nil {
		return err
	}
	for i := range shown {
		w := lists[shown[i].ID]
		for _, u := range us {
			if role := w.UserACL[u.ID.String()]; role != "" {
				shown[i].SharedWith = append(shown[i].SharedWith, coder.SharedWorkspaceActor{
					ActorType: coder.SharedWorkspaceActorTypeUser, ID: u.ID, Name: u.Username, AvatarURL: u.AvatarURL, Roles: []coder.WorkspaceRole{coder.WorkspaceRole(role)},
				})
			}
		}
		for _, g := range gs {
			if role := w.GroupACL[g.ID.String()]; role != "" {
				shown[i].SharedWith = append(shown[i].SharedWith, coder.SharedWorkspaceActor{
					ActorType: coder.SharedWorkspaceActorTypeGroup, ID: g.ID, Name: g.Name, AvatarURL: g.AvatarURL, Roles: []coder.WorkspaceRole{coder.WorkspaceRole(role)},
				})
			}
		}
	}
	return nil
}
