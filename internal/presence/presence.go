// Package presence manages agents: which agents can connect, their manifest, and their reports. An
// agent authenticates with its token and sends Hello; its connection is then the valid one until a
// newer connection replaces it or it falls silent. Reports (lifecycle, log lines, metadata, app
// health) are checked here, because a workspace belongs to its owner and may send anything: sizes are
// limited, states follow a table, and keys must be declared. Watchers are notified by hints on the
// topics of the agent and its workspace. (AG-02..09, AG-15)
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

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/resource"
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
)

// Config configures a Service.
type Config struct {
	Store *postgres.Store
	Hub   *notify.Hub
	Log   *slog.Logger
	// ReplicaID identifies this server among those that share the database.
	ReplicaID uuid.UUID
	// AccessURL is the access URL of the server for agents.
	AccessURL string
	// PortURL returns the URL of an app or port from its host label, "" without a wildcard host.
	// Nil always returns "".
	PortURL func(label string) string
	// ClientCA is the DER certificate of the authority that signs certificates of clients.
	ClientCA []byte
	// HostKeySecret is the secret from which SSH host keys are derived, equal on all replicas.
	HostKeySecret []byte
	// DisableDirect forbids direct connections between clients and agents.
	DisableDirect bool
	// STUN are the STUN servers of clients and agents: host:port each.
	STUN []string
	// Sleep limits the tunnels of an agent whose clients are away.
	Sleep SleepLimits
	// Vault encrypts SSH keys and tokens; nil stores them in clear.
	Vault *dbcrypt.Vault
	// Registerer registers the coderd_agentapi_metadata_* metrics; nil for none.
	Registerer prometheus.Registerer
	// Observe adds metrics of agents; nil for none.
	Observe *Observation
	// Tracer records what agents report; nil records nothing.
	Tracer *tracing.Tracer
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Service serves agents. It is safe for concurrent use. Between Start and Stop it also detects silent
// agents.
type Service struct {
	store *postgres.Store
	vault *dbcrypt.Vault
	hub   *notify.Hub
	log   *slog.Logger
	c     Config
	now   func() time.Time
	live  *live
	count *metrics
	// observed collects the metrics of agents.
	observed *observed
	loop     lifecycle.Loop
}

// New returns a Service. It starts nothing.
func New(c Config) *Service {
	s := &Service{store: c.Store, vault: c.Vault, hub: c.Hub, log: c.Log, c: c, now: c.Now}
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

// Agent is an agent with its workspace.
type Agent struct {
	ID, ResourceID, JobID, BuildID, WorkspaceID uuid.UUID
	TemplateID, OwnerID, OrganizationID         uuid.UUID
	Name, WorkspaceName, OwnerUsername          string
	// Certificate is the DER certificate of the agent, nil if the agent has never connected.
	Certificate []byte
	// ReplicaID is the server with the agent's control connection, nil if there is none.
	ReplicaID *uuid.UUID
	Status    codersdk.WorkspaceAgentStatus
	Lifecycle codersdk.WorkspaceAgentLifecycle
	// Current is true if the workspace exists and has no later successful build.
	Current bool

	pending  uuid.UUID // identifier of an agent of a running build
	token    uuid.UUID // of an agent of a running build
	row      sqlc.WorkspaceAgent
	userACL  map[string]string
	groupACL map[string]string
}

// Object is the access object of the agent's workspace.
func (a Agent) Object() access.Object {
	return access.Object{
		Type: codersdk.RBACResourceWorkspace, ID: a.WorkspaceID, OrganizationID: a.OrganizationID, OwnerID: a.OwnerID,
		UserACL: a.userACL, GroupACL: a.groupACL,
	}
}

// AuthenticateAgent returns the agent of a token. The error is CodeUnauthenticated for an unknown
// token, and CodeConflict if the agent's workspace was deleted or has a newer build.
func (s *Service) AuthenticateAgent(ctx context.Context, token string) (Agent, error) {
	id, err := uuid.Parse(strings.TrimSpace(token))
	if err != nil || id == uuid.Nil {
		return Agent{}, unknownToken()
	}
	row, err := s.store.AgentByToken(ctx, id)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return Agent{}, unknownToken()
	}
	if err != nil {
		return Agent{}, err
	}
	a := s.agent(row)
	switch {
	case row.DeletedAt != nil:
		return Agent{}, codersdk.Errorf(codersdk.CodeConflict, "The workspace of this agent was deleted")
	case !row.Current:
		return Agent{}, superseded()
	}
	return a, nil
}

func unknownToken() error {
	return codersdk.Errorf(codersdk.CodeUnauthenticated,
		"The agent token is not valid: its build has not finished yet, or the workspace was deleted or rebuilt")
}

func superseded() error {
	return codersdk.Errorf(codersdk.CodeConflict, "This agent belongs to an earlier build of its workspace, which was stopped or rebuilt since")
}

// AgentForUser returns an agent if actor can do the action on its workspace. If actor cannot read the
// workspace, the error is CodeNotFound.
func (s *Service) AgentForUser(ctx context.Context, actor access.Subject, agentID uuid.UUID, action codersdk.RBACAction) (Agent, error) {
	row, err := s.store.AgentByID(ctx, agentID)
	if err != nil {
		return Agent{}, err
	}
	a := s.agent(sqlc.AgentByTokenRow(row))
	if row.DeletedAt != nil {
		return Agent{}, codersdk.NotFound()
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
		Certificate: r.Certificate, ReplicaID: r.ReplicaID, Lifecycle: codersdk.WorkspaceAgentLifecycle(r.LifecycleState),
		Status: codersdk.AgentStatus(s.now(), codersdk.AgentTimes{
			Created: r.CreatedAt, FirstConnected: r.FirstConnectedAt, LastConnected: r.LastConnectedAt,
			Disconnected: r.DisconnectedAt, ConnectionTimeout: time.Duration(r.ConnectionTimeoutSeconds) * time.Second,
		}),
		Current: row.Current && row.DeletedAt == nil,
		row:     r, userACL: row.UserACL, groupACL: row.GroupACL,
	}
}

// HostKeySeed returns the ed25519 seed of an agent's SSH host key. It depends only on the workspace
// and the agent's name, so the key survives rebuilds and known_hosts stays valid.
func (s *Service) HostKeySeed(a Agent) []byte {
	m := hmac.New(sha256.New, s.c.HostKeySecret)
	m.Write(a.WorkspaceID[:])
	m.Write([]byte(a.Name))
	return m.Sum(nil)[:ed25519.SeedSize]
}

// changed notifies watchers of the agent and its workspace.
func (s *Service) changed(a Agent) {
	s.hub.Publish(notify.Agent(a.ID), notify.Workspace(a.WorkspaceID))
}

// View returns the API view of an agent.
func (s *Service) View(ctx context.Context, actor access.Subject, agentID uuid.UUID) (codersdk.WorkspaceAgent, error) {
	a, err := s.AgentForUser(ctx, actor, agentID, codersdk.RBACActionRead)
	if err != nil {
		return codersdk.WorkspaceAgent{}, err
	}
	loaded, err := resource.Load(ctx, s.store.Queries, s.now(), []uuid.UUID{a.JobID})
	if err != nil {
		return codersdk.WorkspaceAgent{}, err
	}
	codersdk.NameApps(loaded[a.JobID], a.WorkspaceName, a.OwnerUsername)
	for _, r := range loaded[a.JobID] {
		for _, found := range r.Agents {
			if found.ID == agentID {
				if d, ok := s.live.latency(agentID); ok {
					found.Latency[RelayRegion] = codersdk.DERPRegion{LatencyMS: float64(d.Microseconds()) / 1000, Preferred: true}
				}
				return found, nil
			}
		}
	}
	return codersdk.WorkspaceAgent{}, codersdk.NotFound()
}

// SleepLimits are the limits of an agent for tunnels whose clients are away: of closed
// laptops, or offline.
type SleepLimits struct {
	Memory uint64        // bytes of all such tunnels; 0: the agent's default
	Time   time.Duration // for which one is kept; 0: no limit
}

// DisablesDirect reports whether direct connections between clients and agents are forbidden.
func (s *Service) DisablesDirect() bool { return s.c.DisableDirect }

// STUN returns the STUN servers: host:port each.
func (s *Service) STUN() []string { return s.c.STUN }
