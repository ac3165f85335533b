package presence

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Connection is one control connection of an agent. Only the newest connection of an agent is
// valid.
type Connection struct {
	ID    uuid.UUID
	Agent Agent
}

// Hello is the data that an agent sends when it connects.
type Hello struct {
	Version           string
	APIVersion        string
	ExpandedDirectory string
	Subsystems        []string
	Certificate       []byte
}

// Manifest is the configuration that an agent needs to start.
type Manifest struct {
	Agent         Agent
	Environment   map[string]string
	Directory     string
	MOTDFile      string
	Scripts       []Script
	Metadata      []codersdk.WorkspaceAgentMetadataDescription
	Apps          []sqlc.WorkspaceApp
	AccessURL     string
	PortURL       string // contains {{port}}; "" if ports have no host names
	ClientCA      []byte
	DisableDirect bool
	STUN          []string
	Sleep         SleepLimits
	HostKeySeed   []byte
	Monitors      []codersdk.WorkspaceAgentMonitor
	Parent        *uuid.UUID // the agent whose dev container runs this agent
	Devcontainers []codersdk.DeclaredDevcontainer
}

// Script is a script and the icon of its log source.
type Script struct {
	codersdk.WorkspaceAgentScript
	Icon string
}

// Hello makes c the valid connection of its agent and returns the agent's manifest.
func (s *Service) Hello(ctx context.Context, c Connection, h Hello) (Manifest, error) {
	now := s.now()
	err := s.store.AgentConnect(ctx, sqlc.AgentConnectParams{
		ID: c.Agent.ID, ConnectionID: c.ID, ReplicaID: s.c.ReplicaID, Version: truncate(h.Version, 200), ApiVersion: truncate(h.APIVersion, 50),
		ExpandedDirectory: truncate(h.ExpandedDirectory, 4096), Subsystems: subsystems(h.Subsystems), Certificate: h.Certificate, Now: &now,
	})
	if err != nil {
		return Manifest{}, err
	}
	if all := s.live.join(c); len(all) > 1 { // decides which connection is valid
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
		AccessURL: s.c.AccessURL, PortURL: s.portURL(c.Agent), ClientCA: s.c.ClientCA, DisableDirect: s.c.DisableDirect, STUN: s.c.STUN,
		HostKeySeed: s.HostKeySeed(c.Agent), Sleep: s.c.Sleep,
	}, nil
}

// maxLabel is the maximum length of a DNS label.
const maxLabel = 63

// portURL returns the URL template of ports of an agent's workspace.
func (s *Service) portURL(a Agent) string {
	const port = "{{port}}"
	of := "--" + a.Name + "--" + a.WorkspaceName + "--" + a.OwnerUsername
	if s.c.PortURL == nil || len("65535"+of) > maxLabel {
		return ""
	}
	return s.c.PortURL(port + of)
}

// subsystems returns the known names.
func subsystems(in []string) []string {
	out := []string{}
	for _, n := range in {
		switch codersdk.AgentSubsystem(n) {
		case codersdk.AgentSubsystemEnvbox, codersdk.AgentSubsystemEnvbuilder, codersdk.AgentSubsystemExectrace:
			out = append(out, n)
		}
	}
	return out
}

// Ping records a heartbeat. The error is CodeConflict if a newer connection of the agent exists,
// or if a newer build replaced the agent, which is detected by the next Beat. The caller then
// closes the connection.
func (s *Service) Ping(_ context.Context, c Connection) error { return s.live.verdict(c) }

// Disconnected records the end of a connection. It changes nothing if a newer connection exists.
func (s *Service) Disconnected(ctx context.Context, c Connection) error {
	s.live.leave(c)
	n, err := s.store.AgentDisconnect(ctx, s.now(), c.Agent.ID, c.ID)
	if err == nil && n > 0 {
		s.changed(c.Agent)
	}
	return err
}

// Sweep marks silent agents as disconnected and sends notifications for them, and for agents
// whose connection timeout ended in the interval.
func (s *Service) Sweep(ctx context.Context, since, until time.Time) error {
	quiet, err := s.store.AgentsGoneQuiet(ctx, until, until.Add(-codersdk.AgentInactiveTimeout))
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

// Start starts the periodic writes to the database and the checks for silent agents.
func (s *Service) Start(ctx context.Context) error { return s.loop.Start(ctx) }

// Stop stops them and writes the remaining data.
func (s *Service) Stop(ctx context.Context) error { return s.loop.Stop(ctx) }
