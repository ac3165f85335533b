package connection

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Search narrows the record; zero fields do not.
type Search struct {
	OrganizationID, WorkspaceID, ConnectionID uuid.UUID
	Owner, OwnerEmail                         string // of the workspace; "me" is the actor
	Username, Email                           string // of who connected; "me" is the actor
	Type                                      coder.ConnectionType
	Status                                    string     // ongoing or completed
	After, Before                             *time.Time // when it began: from inclusive, to exclusive
	Limit, Offset                             int
}

// Logs gives a page of the record that the actor may see, the latest first,
// and the count of all entries that match. (NET-15)
func (s *Service) Logs(ctx context.Context, actor access.Subject, f Search) (coder.ConnectionLogResponse, error) {
	out := coder.ConnectionLogResponse{ConnectionLogs: []coder.ConnectionLog{}}
	see := actor.Filter(coder.RBACResourceConnectionLog)
	if !see.All && len(see.OrganizationIDs) == 0 || see.IDs != nil {
		return out, coder.Errorf(coder.CodeForbidden, "You may not read the connection log")
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
	people, err := s.people(ctx, rows)
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

// people gives who connected, with two queries.
func (s *Service) people(ctx context.Context, rows []sqlc.ConnectionLogsRow) (map[uuid.UUID]*coder.User, error) {
	var ids []uuid.UUID
	for _, r := range rows {
		if id := r.ConnectionLog.UserID; id != nil && !slices.Contains(ids, *id) {
			ids = append(ids, *id)
		}
	}
	out := map[uuid.UUID]*coder.User{}
	if len(ids) == 0 {
		return out, nil
	}
	users, err := s.c.Store.ConnectionUsers(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, u := range users {
		out[u.ID] = &coder.User{
			ID: u.ID, Email: u.Email, Username: u.Username, Name: u.Name, AvatarURL: u.AvatarURL, LoginType: coder.LoginType(u.LoginType),
			Status: coder.UserStatus(u.Status), ThemePreference: u.Theme, Roles: access.SlimSite(u.Roles), OrganizationIDs: []uuid.UUID{},
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

func view(r sqlc.ConnectionLogsRow, people map[uuid.UUID]*coder.User) coder.ConnectionLog {
	l := r.ConnectionLog
	out := coder.ConnectionLog{
		ID: l.ID, ConnectTime: l.ConnectTime, Type: coder.ConnectionType(l.Type), WorkspaceOwnerID: l.WorkspaceOwnerID,
		WorkspaceOwnerUsername: r.OwnerUsername, WorkspaceID: l.WorkspaceID, WorkspaceName: l.WorkspaceName, AgentName: l.AgentName,
		Organization: coder.MinimalOrganization{ID: l.OrganizationID, Name: r.OrganizationName, DisplayName: r.OrganizationDisplayName, Icon: r.OrganizationIcon},
	}
	if l.IP != nil {
		out.IP = l.IP.String()
	}
	var who *coder.User
	if l.UserID != nil {
		who = people[*l.UserID]
	}
	switch out.Type {
	case coder.ConnectionTypeWorkspaceApp, coder.ConnectionTypePortForwarding:
		out.WebInfo = &coder.ConnectionLogWebInfo{SlugOrPort: l.SlugOrPort, StatusCode: l.StatusCode, User: who, UserAgent: l.UserAgent}
	default:
		out.SSHInfo = &coder.ConnectionLogSSHInfo{
			ConnectionID: l.ID, DisconnectReason: l.DisconnectReason, DisconnectTime: l.DisconnectTime, ExitCode: l.ExitCode, User: who, UserAgent: l.UserAgent,
		}
	}
	return out
}
