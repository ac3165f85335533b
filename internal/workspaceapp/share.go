package workspaceapp

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// firstPort is the lowest port that can be shared.
const firstPort = 9

// workspace returns a live workspace if actor can do the action on it.
func (s *Service) workspace(ctx context.Context, actor access.Subject, id uuid.UUID, action codersdk.RBACAction) (sqlc.Workspace, error) {
	w, err := s.c.Store.WorkspaceByID(ctx, id)
	if err != nil {
		return w, err
	}
	if w.DeletedAt != nil {
		return w, codersdk.NotFound()
	}
	return w, actor.Check(action, access.Object{
		Type: codersdk.RBACResourceWorkspace, ID: w.ID, OrganizationID: w.OrganizationID, OwnerID: w.OwnerID,
		UserACL: w.UserACL, GroupACL: w.GroupACL,
	})
}

func share(r sqlc.WorkspacePortShare) codersdk.WorkspaceAgentPortShare {
	return codersdk.WorkspaceAgentPortShare{
		AgentName: r.AgentName, Port: r.Port, Protocol: codersdk.WorkspaceAgentPortShareProtocol(r.Protocol),
		ShareLevel: codersdk.WorkspaceAgentPortShareLevel(r.ShareLevel), WorkspaceID: r.WorkspaceID,
	}
}

// PortShares returns the shared ports of a workspace.
func (s *Service) PortShares(ctx context.Context, actor access.Subject, workspaceID uuid.UUID) (codersdk.WorkspaceAgentPortShares, error) {
	out := codersdk.WorkspaceAgentPortShares{Shares: []codersdk.WorkspaceAgentPortShare{}}
	if _, err := s.workspace(ctx, actor, workspaceID, codersdk.RBACActionRead); err != nil {
		return out, err
	}
	rows, err := s.c.Store.AppPortShares(ctx, workspaceID)
	for _, r := range rows {
		out.Shares = append(out.Shares, share(r))
	}
	return out, err
}

// SharePort shares a port, or changes its sharing, up to the limit of the template. (NET-09)
func (s *Service) SharePort(
	ctx context.Context,
	actor access.Subject,
	workspaceID uuid.UUID,
	req codersdk.UpsertWorkspaceAgentPortShareRequest,
) (codersdk.WorkspaceAgentPortShare, error) {
	var none codersdk.WorkspaceAgentPortShare
	w, err := s.workspace(ctx, actor, workspaceID, codersdk.RBACActionUpdate)
	if err != nil {
		return none, err
	}
	if req.Protocol == "" {
		req.Protocol = codersdk.WorkspaceAgentPortShareProtocolHTTP
	}
	switch {
	case req.Port < firstPort || req.Port > 65535:
		return none, codersdk.Invalid("port", "%d is out of range; use a port from %d to 65535", req.Port, firstPort)
	case !req.ShareLevel.Known():
		return none, codersdk.Invalid("share_level", "%.20q is not valid; use owner, organization, authenticated or public", req.ShareLevel)
	case req.Protocol != codersdk.WorkspaceAgentPortShareProtocolHTTP && req.Protocol != codersdk.WorkspaceAgentPortShareProtocolHTTPS:
		return none, codersdk.Invalid("protocol", "%.20q is not valid; use http or https", req.Protocol)
	}
	agent, err := s.agentName(ctx, workspaceID, req.AgentName)
	if err != nil {
		return none, err
	}
	var row sqlc.WorkspacePortShare
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		most, err := q.AppMaxPortShareLevel(ctx, workspaceID)
		if err != nil {
			return err
		}
		if req.ShareLevel.AtMost(codersdk.WorkspaceAgentPortShareLevel(most)) != req.ShareLevel {
			return codersdk.Invalid("share_level", "the template limits port sharing to %q; its administrators can raise max_port_share_level", most)
		}
		before, err := q.AppPortShare(ctx, workspaceID, agent, req.Port)
		if err != nil && !codersdk.Is(err, codersdk.CodeNotFound) {
			return err
		}
		row, err = q.AppPutPortShare(ctx, sqlc.AppPutPortShareParams{
			WorkspaceID: workspaceID, AgentName: agent, Port: req.Port, ShareLevel: string(req.ShareLevel), Protocol: string(req.Protocol),
		})
		if err != nil {
			return err
		}
		return record(ctx, q, actor, w, share(before), share(row))
	})
	if err != nil {
		return none, err
	}
	s.c.Hub.Publish(notify.Workspace(workspaceID), notify.Sharing(workspaceID))
	return share(row), nil
}

// agentName returns the name of an agent in the spelling of its template.
func (s *Service) agentName(ctx context.Context, workspaceID uuid.UUID, name string) (string, error) {
	names, err := s.c.Store.AppAgentNames(ctx, workspaceID)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
	if i < 0 {
		return "", codersdk.Invalid("agent_name", "agent %.64q not found in the workspace; its agents are: %s", name, strings.Join(names, ", "))
	}
	return names[i], nil
}

// UnsharePort stops sharing a port.
func (s *Service) UnsharePort(ctx context.Context, actor access.Subject, workspaceID uuid.UUID, req codersdk.DeleteWorkspaceAgentPortShareRequest) error {
	w, err := s.workspace(ctx, actor, workspaceID, codersdk.RBACActionUpdate)
	if err != nil {
		return err
	}
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		before, err := q.AppPortShare(ctx, workspaceID, req.AgentName, req.Port)
		if err != nil {
			return err
		}
		if _, err := q.AppDeletePortShare(ctx, workspaceID, req.AgentName, req.Port); err != nil {
			return err
		}
		return record(ctx, q, actor, w, share(before), codersdk.WorkspaceAgentPortShare{})
	})
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return codersdk.Errorf(codersdk.CodeNotFound, "Port %d of agent %.64q is not shared", req.Port, req.AgentName)
	}
	if err == nil {
		s.c.Hub.Publish(notify.Workspace(workspaceID), notify.Sharing(workspaceID))
	}
	return err
}

// record audits a change of a shared port as a change of its workspace.
func record(ctx context.Context, q *sqlc.Queries, actor access.Subject, w sqlc.Workspace, before, after codersdk.WorkspaceAgentPortShare) error {
	about := after
	if about.AgentName == "" {
		about = before
	}
	type shared struct {
		Level    codersdk.WorkspaceAgentPortShareLevel    `json:"port_share_level"`
		Protocol codersdk.WorkspaceAgentPortShareProtocol `json:"port_share_protocol"`
	}
	return audit.Record(ctx, q, actor, audit.Entry{
		Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeWorkspace, ResourceID: w.ID, OrganizationID: w.OrganizationID, Target: w.Name,
		Diff:   audit.Diff(shared{before.ShareLevel, before.Protocol}, shared{after.ShareLevel, after.Protocol}),
		Fields: map[string]any{"agent_name": about.AgentName, "port": about.Port},
	})
}
