package presence

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Connection is one control connection of an agent. Only the newest of an
// agent counts.
type Connection struct {
	ID    uuid.UUID
	Agent Agent
}

// Hello is what an agent says of itself when it connects.
type Hello struct {
	Version           string
	APIVersion        string
	ExpandedDirectory string
	Subsystems        []string
	Certificate       []byte
}

// Manifest is what an agent needs to begin.
type Manifest struct {
	Agent         Agent
	Environment   map[string]string
	Directory     string
	MOTDFile      string
	Scripts       []Script
	Metadata      []coder.WorkspaceAgentMetadataDescription
	Apps          []sqlc.WorkspaceApp
	AccessURL     string
	PortURL       string // with {{port}} for the port; "" where ports have no host names
	ClientCA      []byte
	DisableDirect bool
	STUN          []string
	HostKeySeed   []byte
	Monitors      []coder.WorkspaceAgentMonitor
	Parent        *uuid.UUID // whose dev container this agent runs in
	Devcontainers []coder.DeclaredDevcontainer
}

// Script is a script and the icon of its log source.
type Script struct {
	coder.WorkspaceAgentScript
	Icon string
}

// Hello makes c the connection of its agent and gives the agent its manifest.
func (s *Service) Hello(ctx context.Context, c Connection, h Hello) (Manifest, error) {
	now := s.now()
	err := s.store.AgentConnect(ctx, sqlc.AgentConnectParams{
		ID: c.Agent.ID, ConnectionID: c.ID, ReplicaID: s.c.ReplicaID, Version: clip(h.Version, 200), ApiVersion: clip(h.APIVersion, 50),
		ExpandedDirectory: clip(h.ExpandedDirectory, 4096), Subsystems: subsystems(h.Subsystems), Certificate: h.Certificate, Now: &now,
	})
	if err != nil {
		return Manifest{}, err
	}
	if all := s.live.join(c); len(all) > 1 { // which of them counts
		if err := s.beat(ctx, slices.Repeat([]uuid.UUID{c.Agent.ID}, len(all)), all); err != nil {
			return Manifest{}, err
		}
	}
	s.changed(c.Agent)
	row := c.Agent.row
	apps, err := s.store.AgentApps(ctx, c.Agent.ID)
	if err != nil {
		return Manifest{}, err
	}
	sources, err := s.store.AgentLogSources(ctx, c.Agent.ID)
	if err != nil {
		return Manifest{}, err
	}
	icons := make(map[uuid.UUID]string, len(sources))
	for _, src := range sources {
		icons[src.ID] = src.Icon
	}
	scripts := make([]Script, len(row.Scripts))
	for i, sc := range row.Scripts {
		scripts[i] = Script{WorkspaceAgentScript: sc, Icon: icons[sc.LogSourceID]}
	}
	return Manifest{
		Agent: c.Agent, Environment: row.Environment, Directory: row.Directory, MOTDFile: row.MotdFile,
		Parent: row.ParentID, Devcontainers: row.Devcontainers,
		Scripts: scripts, Metadata: row.MetadataItems, Apps: apps, Monitors: row.ResourceMonitors,
		AccessURL: s.c.AccessURL, PortURL: s.portURL(c.Agent), ClientCA: s.c.ClientCA, DisableDirect: s.c.DisableDirect, STUN: s.c.STUN, HostKeySeed: s.HostKeySeed(c.Agent),
	}, nil
}

// maxLabel is how long a label of a host name may be.
const maxLabel = 63

// portURL gives where ports of an agent's workspace are.
func (s *Service) portURL(a Agent) string {
	const port = "{{port}}"
	of := "--" + a.Name + "--" + a.WorkspaceName + "--" + a.OwnerUsername
	if s.c.PortURL == nil || len("65535"+of) > maxLabel {
		return ""
	}
	return s.c.PortURL(port + of)
}

// subsystems keeps the names that the contract knows.
func subsystems(in []string) []string {
	out := []string{}
	for _, n := range in {
		switch coder.AgentSubsystem(n) {
		case coder.AgentSubsystemEnvbox, coder.AgentSubsystemEnvbuilder, coder.AgentSubsystemExectrace:
			out = append(out, n)
		}
	}
	return out
}

// Ping takes a sign of life. The error is CodeConflict when a newer connection
// of the agent took over, or a newer build replaced the agent, which is found
// out with the next Beat at the latest: the caller then ends the connection.
func (s *Service) Ping(_ context.Context, c Connection) error { return s.live.verdict(c) }

// Disconnected notes that a connection ended. It changes nothing when a newer
// one took over meanwhile.
func (s *Service) Disconnected(ctx context.Context, c Connection) error {
	s.live.leave(c)
	n, err := s.store.AgentDisconnect(ctx, s.now(), c.Agent.ID, c.ID)
	if err == nil && n > 0 {
		s.changed(c.Agent)
	}
	return err
}

// Sweep marks agents that fell silent as disconnected and sends hints for
// them and for those whose time to connect ended in the window.
func (s *Service) Sweep(ctx context.Context, since, until time.Time) error {
	quiet, err := s.store.AgentsGoneQuiet(ctx, until, until.Add(-coder.AgentInactiveTimeout))
	if err != nil {
		return err
	}
	late, err := s.store.AgentsTimedOut(ctx, since, until)
	if err != nil {
		return err
	}
	topics := make([]string, 0, 2*(len(quiet)+len(late)))
	for _, a := range quiet {
		topics = append(topics, notify.Agent(a.ID), notify.Workspace(a.WorkspaceID))
	}
	for _, a := range late {
		topics = append(topics, notify.Agent(a.ID), notify.Workspace(a.WorkspaceID))
	}
	if len(topics) > 0 {
		s.hub.Publish(topics...)
	}
	return nil
}

// Start begins to keep the database up to date about the agents here, and to
// look for silent ones.
func (s *Service) Start(ctx context.Context) error { return s.loop.Start(ctx) }

// Stop ends that, and writes down what is not yet.
func (s *Service) Stop(ctx context.Context) error { return s.loop.Stop(ctx) }
