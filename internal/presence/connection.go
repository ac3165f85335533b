package presence

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
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
	ClientCA      []byte
	DisableDirect bool
	HostKeySeed   []byte
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
		Scripts: scripts, Metadata: row.MetadataItems, Apps: apps,
		AccessURL: s.c.AccessURL, ClientCA: s.c.ClientCA, DisableDirect: s.c.DisableDirect, HostKeySeed: s.HostKeySeed(c.Agent),
	}, nil
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
// of the agent took over, or a newer build replaced the agent: the caller then
// ends the connection.
func (s *Service) Ping(ctx context.Context, c Connection) error {
	now := s.now()
	p, err := s.store.AgentPing(ctx, &now, c.Agent.ID, c.ID)
	switch {
	case err != nil:
		return err
	case !p.Counts:
		return coder.Errorf(coder.CodeConflict, "A newer connection of this agent took over; is the agent running twice?")
	case !p.Current:
		return superseded()
	}
	return nil
}

// Disconnected notes that a connection ended. It changes nothing when a newer
// one took over meanwhile.
func (s *Service) Disconnected(ctx context.Context, c Connection) error {
	n, err := s.store.AgentDisconnect(ctx, s.now(), c.Agent.ID, c.ID)
	if err == nil && n > 0 {
		s.changed(c.Agent)
	}
	return err
}

// sweepInterval is how often silent agents are looked for.
const sweepInterval = 5 * time.Second

// sweeper tells watchers what no event tells: that an agent fell silent, or
// that its time to connect is over. Several replicas may do so at once.
type sweeper struct{ lifecycle.Loop }

func (w *sweeper) init(s *Service) {
	w.Run = func(ctx context.Context) {
		since := s.now()
		t := time.NewTicker(sweepInterval)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
			now := s.now()
			if err := s.Sweep(ctx, since, now); err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "could not look for silent agents", "error", err)
				continue
			}
			since = now
		}
	}
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

// Start begins to look for silent agents.
func (s *Service) Start(ctx context.Context) error { return s.sweep.Start(ctx) }

// Stop ends that.
func (s *Service) Stop(ctx context.Context) error { return s.sweep.Stop(ctx) }
