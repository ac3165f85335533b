package app

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// firstPort is the lowest port that can be shared.
const firstPort = 9

// workspace gives a workspace that is there and on which actor may do the action.
func (s *Service) workspace(ctx context.Context, actor access.Subject, id uuid.UUID, action coder.RBACAction) (sqlc.Workspace, error) {
	w, err := s.c.Store.WorkspaceByID(ctx, id)
	if err != nil {
		return w, err
	}
	if w.DeletedAt != nil {
		return w, coder.NotFound()
	}
	return w, actor.Check(action, access.Object{
		Type: coder.RBACResourceWorkspace, ID: w.ID, OrganizationID: w.OrganizationID, OwnerID: w.OwnerID,
		UserACL: w.UserACL, GroupACL: w.GroupACL,
	})
}

func share(r sqlc.WorkspacePortShare) coder.WorkspaceAgentPortShare {
	return coder.WorkspaceAgentPortShare{
		AgentName: r.AgentName, Port: r.Port, Protocol: coder.WorkspaceAgentPortShareProtocol(r.Protocol),
		ShareLevel: coder.WorkspaceAgentPortShareLevel(r.ShareLevel), WorkspaceID: r.WorkspaceID,
	}
}

// PortShares gives the shared ports of a workspace.
func (s *Service) PortShares(ctx context.Context, actor access.Subject, workspaceID uuid.UUID) (coder.WorkspaceAgentPortShares, error) {
	out := coder.WorkspaceAgentPortShares{Shares: []coder.WorkspaceAgentPortShare{}}
	if _, err := s.workspace(ctx, actor, workspaceID, coder.RBACActionRead); err != nil {
		return out, err
	}
	rows, err := s.c.Store.AppPortShares(ctx, workspaceID)
	for _, r := range rows {
		out.Shares = append(out.Shares, share(r))
	}
	return out, err
}

// SharePort shares a port, or changes how it is shared, at most as widely as
// the template permits. (NET-09)
func (s *Service) SharePort(ctx context.Context, actor access.Subject, workspaceID uuid.UUID, req coder.UpsertWorkspaceAgentPortShareRequest) (coder.WorkspaceAgentPortShare, error) {
	var none coder.WorkspaceAgentPortShare
	w, err := s.workspace(ctx, actor, workspaceID, coder.RBACActionUpdate)
	if err != nil {
		return none, err
	}
	if req.Protocol == "" {
		req.Protocol = coder.WorkspaceAgentPortShareProtocolHTTP
	}
	switch {
	case req.Port < firstPort || req.Port > 65535:
		return none, coder.Invalid("port", "%d is not a port from %d to 65535", req.Port, firstPort)
	case !req.ShareLevel.Known():
		return none, coder.Invalid("share_level", "%.20q is none of owner, organization, authenticated, public", req.ShareLevel)
	case req.Protocol != coder.WorkspaceAgentPortShareProtocolHTTP && req.Protocol != coder.WorkspaceAgentPortShareProtocolHTTPS:
		return none, coder.Invalid("protocol", "%.20q is neither http nor https", req.Protocol)
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
		if req.ShareLevel.AtMost(coder.WorkspaceAgentPortShareLevel(most)) != req.ShareLevel {
			return coder.Invalid("share_level", "the template lets ports be shared with %q at most; its administrators can raise max_port_share_level", most)
		}
		before, err := q.AppPortShare(ctx, workspaceID, agent, req.Port)
		if err != nil && !coder.Is(err, coder.CodeNotFound) {
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

// agentName gives the name, as its template writes it, of an agent.
func (s *Service) agentName(ctx context.Context, workspaceID uuid.UUID, name string) (string, error) {
	names, err := s.c.Store.AppAgentNames(ctx, workspaceID)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
	if i < 0 {
		return "", coder.Invalid("agent_name", "the workspace has no agent %.64q; it has: %s", name, strings.Join(names, ", "))
	}
	return names[i], nil
}

// UnsharePort ends the sharing of a port.
func (s *Service) UnsharePort(ctx context.Context, actor access.Subject, workspaceID uuid.UUID, req coder.DeleteWorkspaceAgentPortShareRequest) error {
	w, err := s.workspace(ctx, actor, workspaceID, coder.RBACActionUpdate)
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
		return record(ctx, q, actor, w, share(before), coder.WorkspaceAgentPortShare{})
	})
	if coder.Is(err, coder.CodeNotFound) {
		return coder.Errorf(coder.CodeNotFound, "Port %d of agent %.64q is not shared", req.Port, req.AgentName)
	}
	if err == nil {
		s.c.Hub.Publish(notify.Workspace(workspaceID), notify.Sharing(workspaceID))
	}
	return err
}

// record notes a change of a shared port as one of its workspace.
func record(ctx context.Context, q *sqlc.Queries, actor access.Subject, w sqlc.Workspace, before, after coder.WorkspaceAgentPortShare) error {
	about := after
	if about.AgentName == "" {
		about = before
	}
	type shared struct {
		Level    coder.WorkspaceAgentPortShareLevel    `json:"port_share_level"`
		Protocol coder.WorkspaceAgentPortShareProtocol `json:"port_share_protocol"`
	}
	return audit.Record(ctx, q, actor, audit.Entry{
		Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeWorkspace, ResourceID: w.ID, OrganizationID: w.OrganizationID, Target: w.Name,
		Diff:   audit.Diff(shared{before.ShareLevel, before.Protocol}, shared{after.ShareLevel, after.Protocol}),
		Fields: map[string]any{"agent_name": about.AgentName, "port": about.Port},
	})
}
