package connection

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Search filters the connection log; zero fields match all.
type Search struct {
	OrganizationID, WorkspaceID, ConnectionID uuid.UUID
	Owner, OwnerEmail                         string // owner of the workspace; "me" is the actor
	Username, Email                           string // connected user; "me" is the actor
	Type                                      codersdk.ConnectionType
	Status                                    string     // ongoing or completed
	After, Before                             *time.Time // start of the connection: from inclusive, to exclusive
	Limit, Offset                             int
}

// Logs returns a page of the connection log that the actor can see, the newest first, and the count of
// all matching entries. (NET-15)
func (s *Service) Logs(ctx context.Context, actor access.Subject, f Search) (codersdk.ConnectionLogResponse, error) {
	out := codersdk.ConnectionLogResponse{ConnectionLogs: []codersdk.ConnectionLog{}}
	see := actor.Filter(codersdk.RBACResourceConnectionLog)
	if !see.All && len(see.OrganizationIDs) == 0 || see.IDs != nil {
		return out, codersdk.Errorf(codersdk.CodeForbidden, "You do not have permission to read the connection log")
	}
	for _, name := range []*string{&f.Owner, &f.Username} {
		if *name == "me" {
			*name = actor.Username
		}
	}
	p := sqlc.ConnectionLogsParams{
		SeeAll: see.All, SeeOrganizations: append([]uuid.UUID{}, see.OrganizationIDs...), OrganizationID: f.OrganizationID, WorkspaceID: f.WorkspaceID,
		ConnectionID: f.ConnectionID, Owner: f.Owner, OwnerEmail: f.OwnerEmail, Username: f.Username, Email: f.Email, Type: string(f.Type),
		Status: f.Status, ConnectedAfter: f.After, ConnectedBefore: f.Before, RowLimit: int32(f.Limit), RowOffset: int32(f.Offset),
	}
	rows, err := s.c.Store.ConnectionLogs(ctx, p)
	if err != nil {
		return out, err
	}
	people, err := s.connectedUsers(ctx, rows)
	if err != nil {
		return out, err
	}
	for _, r := range rows {
		out.ConnectionLogs = append(out.ConnectionLogs, view(r, people))
	}
	out.Count, err = s.c.Store.CountConnectionLogs(ctx, sqlc.CountConnectionLogsParams{
		SeeAll: p.SeeAll, SeeOrganizations: p.SeeOrganizations, OrganizationID: p.OrganizationID, WorkspaceID: p.WorkspaceID,
		ConnectionID: p.ConnectionID, Owner: p.Owner, OwnerEmail: p.OwnerEmail, Username: p.Username, Email: p.Email, Type: p.Type,
		Status: p.Status, ConnectedAfter: p.ConnectedAfter, ConnectedBefore: p.ConnectedBefore,
	})
	return out, err
}

// connectedUsers returns the connected users with two queries.
func (s *Service) connectedUsers(ctx context.Context, rows []sqlc.ConnectionLogsRow) (map[uuid.UUID]*codersdk.User, error) {
	var ids []uuid.UUID
	for _, r := range rows {
		if id := r.ConnectionLog.UserID; id != nil && !slices.Contains(ids, *id) {
			ids = append(ids, *id)
		}
	}
	out := map[uuid.UUID]*codersdk.User{}
	if len(ids) == 0 {
		return out, nil
	}
	users, err := s.c.Store.ConnectionUsers(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, u := range users {
		out[u.ID] = &codersdk.User{
			ID: u.ID, Email: u.Email, Username: u.Username, Name: u.Name, AvatarURL: u.AvatarURL, LoginType: codersdk.LoginType(u.LoginType),
			Status: codersdk.UserStatus(u.Status), ThemePreference: u.Theme, Roles: access.SlimSite(u.Roles), OrganizationIDs: []uuid.UUID{},
			CreatedAt: u.CreatedAt, UpdatedAt: u.UpdatedAt, LastSeenAt: u.LastSeenAt,
		}
	}
	members, err := s.c.Store.UserOrganizationIDs(ctx, ids)
	for _, m := range members {
		if u := out[m.UserID]; u != nil {
			u.OrganizationIDs = append(u.OrganizationIDs, m.OrganizationID)
		}
	}
	return out, err
}

func view(r sqlc.ConnectionLogsRow, people map[uuid.UUID]*codersdk.User) codersdk.ConnectionLog {
	l := r.ConnectionLog
	out := codersdk.ConnectionLog{
		ID: l.ID, ConnectTime: l.ConnectTime, Type: codersdk.ConnectionType(l.Type), WorkspaceOwnerID: l.WorkspaceOwnerID,
		WorkspaceOwnerUsername: r.OwnerUsername, WorkspaceID: l.WorkspaceID, WorkspaceName: l.WorkspaceName, AgentName: l.AgentName,
		Organization: codersdk.MinimalOrganization{ID: l.OrganizationID, Name: r.OrganizationName, DisplayName: r.OrganizationDisplayName, Icon: r.OrganizationIcon},
	}
	if l.IP != nil {
		out.IP = l.IP.String()
	}
	var who *codersdk.User
	if l.UserID != nil {
		who = people[*l.UserID]
	}
	switch out.Type {
	case codersdk.ConnectionTypeWorkspaceApp, codersdk.ConnectionTypePortForwarding:
		out.WebInfo = &codersdk.ConnectionLogWebInfo{SlugOrPort: l.SlugOrPort, StatusCode: l.StatusCode, User: who, UserAgent: l.UserAgent}
	default:
		out.SSHInfo = &codersdk.ConnectionLogSSHInfo{
			ConnectionID: l.ID, DisconnectReason: l.DisconnectReason, DisconnectTime: l.DisconnectTime, ExitCode: l.ExitCode, User: who, UserAgent: l.UserAgent,
		}
	}
	return out
}
