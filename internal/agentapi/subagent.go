package agentapi

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
)

// CreateSubAgent creates the agent of a dev container. (AG-21)
func (s *server) CreateSubAgent(ctx context.Context, req *agentrpc.SubAgentRequest) (*agentrpc.SubAgent, error) {
	id, err := uuid.FromBytes(req.DevcontainerId)
	if err != nil {
		return nil, agentrpc.WithCode(codersdk.Invalid("devcontainer_id", "is not a UUID"))
	}
	n := presence.NewSubAgent{
		DevcontainerID: id, Name: req.Name, Directory: req.Directory, Architecture: req.Architecture, OperatingSystem: req.OperatingSystem,
		DisplayApps: req.DisplayApps, Environment: req.Environment,
	}
	slices.SortStableFunc(req.Apps, func(a, b *agentrpc.SubAgentApp) int { return cmp.Compare(a.GetOrder(), b.GetOrder()) })
	for _, a := range req.Apps {
		n.Apps = append(n.Apps, codersdk.WorkspaceApp{
			Slug: a.Slug, DisplayName: a.DisplayName, Icon: a.Icon, Command: a.Command, URL: a.Url, External: a.External, Subdomain: a.Subdomain,
			SharingLevel: codersdk.WorkspaceAppSharingLevel(a.Share), OpenIn: codersdk.WorkspaceAppOpenIn(a.OpenIn), Group: a.Group, Hidden: a.Hidden,
			Healthcheck: codersdk.Healthcheck{URL: a.HealthcheckUrl, Interval: a.HealthcheckIntervalSeconds, Threshold: a.HealthcheckThreshold},
		})
	}
	made, token, err := s.presence.CreateSubAgent(ctx, s.conn.Agent, n)
	if err != nil {
		return nil, agentrpc.WithCode(err)
	}
	out := subAgent(made)
	out.Token = token
	return out, nil
}

// DeleteSubAgent deletes a subagent of this agent.
func (s *server) DeleteSubAgent(ctx context.Context, req *agentrpc.SubAgentID) (*agentrpc.Empty, error) {
	id, err := uuid.FromBytes(req.Id)
	if err != nil {
		return nil, agentrpc.WithCode(codersdk.Invalid("id", "is not a UUID"))
	}
	return done(s.presence.DeleteSubAgent(ctx, s.conn.Agent, id))
}

// ListSubAgents returns the subagents of this agent.
func (s *server) ListSubAgents(ctx context.Context, _ *agentrpc.Empty) (*agentrpc.SubAgents, error) {
	all, err := s.presence.SubAgents(ctx, s.conn.Agent)
	if err != nil {
		return nil, agentrpc.WithCode(err)
	}
	out := &agentrpc.SubAgents{}
	for _, a := range all {
		out.Agents = append(out.Agents, subAgent(a))
	}
	return out, nil
}

func subAgent(a presence.SubAgent) *agentrpc.SubAgent {
	return &agentrpc.SubAgent{Id: a.ID[:], Name: a.Name, DevcontainerId: a.DevcontainerID[:]}
}
