// Package presence is the use case of agents: who may connect, what they are
// told, and what they report. An agent proves itself with its token and says
// Hello; from then on the connection it holds is the one that counts, until a
// newer one takes over or it falls silent. What it reports (life cycle, log
// lines, metadata, health of apps) is checked here, because a workspace is its
// owner's machine and may send anything: sizes are bounded, states follow a
// table, keys must be known. Nothing is pushed to an agent; whoever watches is
// told by hints on the topics of the agent and its workspace. (AG-02..09, AG-15)
package presence

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/resource"
)

// Config is what a Service needs.
type Config struct {
	Store *postgres.Store
	Hub   *notify.Hub
	Log   *slog.Logger
	// ReplicaID is this server among those that share the database.
	ReplicaID uuid.UUID
	// AccessURL is the server as people know it, told to agents.
	AccessURL string
	// PortURL gives the URL of an app or port by the first label of its host name,
	// "" where they have none. Nil gives none.
	PortURL func(label string) string
	// ClientCA is the DER certificate whose signature lets a client into an
	// agent's tunnel.
	ClientCA []byte
	// HostKeySecret is the secret that SSH host keys derive from, the same on
	// all replicas.
	HostKeySecret []byte
	// DisableDirect forbids direct paths between clients and agents.
	DisableDirect bool
	// STUN are servers that tell both their public addresses, host:port each.
	STUN []string
	// Registerer takes the coderd_agentapi_metadata_* metrics; nil: none.
	Registerer prometheus.Registerer
	// Observe adds metrics of agents; nil: none.
	Observe *Observation
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Service serves agents. It is safe for concurrent use; between Start and
// Stop it also notices agents that fall silent.
type Service struct {
	store *postgres.Store
	hub   *notify.Hub
	log   *slog.Logger
	c     Config
	now   func() time.Time
	live  *live
	count *metrics
	// observed is what metrics tell of agents.
	observed *observed
	loop     lifecycle.Loop
}

// New gives a service; nothing runs until Start.
func New(c Config) *Service {
	s := &Service{store: c.Store, hub: c.Hub, log: c.Log, c: c, now: c.Now}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.live, s.count = newLive(), newMetrics(c.Registerer)
	s.observed = newObserved(s, c.Registerer, c.Observe)
	s.loop.Run = s.run
	return s
}

// Agent is an agent and where it belongs.
type Agent struct {
	ID, ResourceID, JobID, BuildID, WorkspaceID uuid.UUID
	TemplateID, OwnerID, OrganizationID         uuid.UUID
	Name, WorkspaceName, OwnerUsername          string
	// Certificate is the DER certificate of the agent's tunnel end, nil when
	// the agent has never connected.
	Certificate []byte
	// ReplicaID is the server that holds the agent's control connection, nil
	// when none does.
	ReplicaID *uuid.UUID
	Status    coder.WorkspaceAgentStatus
	Lifecycle coder.WorkspaceAgentLifecycle
	// Current says that no later build of the workspace has succeeded and the
	// workspace exists.
	Current bool

	row      sqlc.WorkspaceAgent
	userACL  map[string]string
	groupACL map[string]string
}

// Object is the workspace of the agent, for access.
func (a Agent) Object() access.Object {
	return access.Object{
		Type: coder.RBACResourceWorkspace, ID: a.WorkspaceID, OrganizationID: a.OrganizationID, OwnerID: a.OwnerID,
		UserACL: a.userACL, GroupACL: a.groupACL,
	}
}

// AuthenticateAgent gives the agent that a token belongs to. The error is
// CodeUnauthenticated for a token of nobody, and CodeConflict for an agent
// whose workspace was deleted or has had a newer build.
func (s *Service) AuthenticateAgent(ctx context.Context, token string) (Agent, error) {
	id, err := uuid.Parse(strings.TrimSpace(token))
	if err != nil || id == uuid.Nil {
		return Agent{}, unknownToken()
	}
	row, err := s.store.AgentByToken(ctx, id)
	if coder.Is(err, coder.CodeNotFound) {
		return Agent{}, unknownToken()
	}
	if err != nil {
		return Agent{}, err
	}
	a := s.agent(row)
	switch {
	case row.DeletedAt != nil:
		return Agent{}, coder.Errorf(coder.CodeConflict, "The workspace of this agent was deleted")
	case !row.Current:
		return Agent{}, superseded()
	}
	return a, nil
}

func unknownToken() error {
	return coder.Errorf(coder.CodeUnauthenticated,
		"The agent token is not known: the build that made it is not finished yet, or the workspace was deleted or built anew")
}

func superseded() error {
	return coder.Errorf(coder.CodeConflict, "This agent belongs to an earlier build of its workspace, which has been stopped or built anew since")
}

// AgentForUser gives an agent when actor may take the action on its workspace.
// What actor may not even read is CodeNotFound.
func (s *Service) AgentForUser(ctx context.Context, actor access.Subject, agentID uuid.UUID, action coder.RBACAction) (Agent, error) {
	row, err := s.store.AgentByID(ctx, agentID)
	if err != nil {
		return Agent{}, err
	}
	a := s.agent(sqlc.AgentByTokenRow(row))
	if row.DeletedAt != nil {
		return Agent{}, coder.NotFound()
	}
	if err := actor.Check(action, a.Object()); err != nil {
		return Agent{}, err
	}
	return a, nil
}

func (s *Service) agent(row sqlc.AgentByTokenRow) Agent {
	r := row.WorkspaceAgent
	return Agent{
		ID: r.ID, ResourceID: r.ResourceID, JobID: row.JobID, BuildID: row.BuildID, WorkspaceID: row.WorkspaceID,
		TemplateID: row.TemplateID, OwnerID: row.OwnerID, OrganizationID: row.OrganizationID,
		Name: r.Name, WorkspaceName: row.WorkspaceName, OwnerUsername: row.OwnerUsername,
		Certificate: r.Certificate, ReplicaID: r.ReplicaID, Lifecycle: coder.WorkspaceAgentLifecycle(r.LifecycleState),
		Status: coder.AgentStatus(s.now(), coder.AgentTimes{
			Created: r.CreatedAt, FirstConnected: r.FirstConnectedAt, LastConnected: r.LastConnectedAt,
			Disconnected: r.DisconnectedAt, ConnectionTimeout: time.Duration(r.ConnectionTimeoutSeconds) * time.Second,
		}),
		Current: row.Current && row.DeletedAt == nil,
		row:     r, userACL: row.UserACL, groupACL: row.GroupACL,
	}
}

// HostKeySeed gives the ed25519 seed of an agent's SSH host key. It depends on
// the workspace and the agent's name alone, so that the key survives rebuilds
// and known_hosts can be strict.
func (s *Service) HostKeySeed(a Agent) []byte {
	m := hmac.New(sha256.New, s.c.HostKeySecret)
	m.Write(a.WorkspaceID[:])
	m.Write([]byte(a.Name))
	return m.Sum(nil)[:ed25519.SeedSize]
}

// changed tells those who watch the agent or its workspace to look again.
func (s *Service) changed(a Agent) {
	s.hub.Publish(notify.Agent(a.ID), notify.Workspace(a.WorkspaceID))
}

// View gives an agent as the API shows it.
func (s *Service) View(ctx context.Context, actor access.Subject, agentID uuid.UUID) (coder.WorkspaceAgent, error) {
	a, err := s.AgentForUser(ctx, actor, agentID, coder.RBACActionRead)
	if err != nil {
		return coder.WorkspaceAgent{}, err
	}
	loaded, err := resource.Load(ctx, s.store.Queries, s.now(), []uuid.UUID{a.JobID})
	if err != nil {
		return coder.WorkspaceAgent{}, err
	}
	coder.NameApps(loaded[a.JobID], a.WorkspaceName, a.OwnerUsername)
	for _, r := range loaded[a.JobID] {
		for _, found := range r.Agents {
			if found.ID == agentID {
				if d, ok := s.live.latency(agentID); ok {
					found.Latency[RelayRegion] = coder.DERPRegion{LatencyMS: float64(d.Microseconds()) / 1000, Preferred: true}
				}
				return found, nil
			}
		}
	}
	return coder.WorkspaceAgent{}, coder.NotFound()
}

// DisablesDirect says whether direct paths between clients and agents are forbidden.
func (s *Service) DisablesDirect() bool { return s.c.DisableDirect }

// STUN gives the servers that tell an end of a direct path its public addresses.
func (s *Service) STUN() []string { return s.c.STUN }
