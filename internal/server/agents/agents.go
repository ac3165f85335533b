// Package agents groups what connects agents and their clients: presence, the
// relay between replicas, the tunnels' certificates and the connection log.
package agents

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agentapi"
	"github.com/seed-2a7f8fe7/coder/internal/connection"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/instance"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/proxy"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
	"github.com/seed-2a7f8fe7/coder/internal/switchboard"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// Config is what the group needs of the configuration and of other groups.
type Config struct {
	BrowserOnly   bool
	DisableDirect bool
	STUN          []string                  // host:port
	SleepMemory   uint64                    // bytes of an agent for tunnels whose clients are away
	SleepTime     time.Duration             // for which such a tunnel is kept; 0: no limit
	RelayAddress  string                    // where other replicas reach this one; "": nowhere
	PortURL       func(label string) string // of a port by the first label of its host name
	Observe       *presence.Observation     // metrics of agents; nil: none
	// ConnectionRetention is how long connections stay in the log; 0: forever.
	ConnectionRetention time.Duration

	// ExternalAuth returns tokens of agents' owners at providers.
	ExternalAuth func(ctx context.Context, ownerID, buildID uuid.UUID, id, match string, listen bool) (codersdk.ExternalAuthResponse, error)
	// ExternalAuthChanges returns a channel that is signaled when a user's tokens
	// may have changed, and its release.
	ExternalAuthChanges func(owner uuid.UUID) (<-chan struct{}, func())

	// GitSeed opens copies of git repositories for agents.
	GitSeed func(ctx context.Context, ownerID, buildID uuid.UUID, url string, create bool) (agentapi.GitSeed, error)
	// Secrets serves the secrets of agents' owners.
	Secrets agentapi.Secrets

	Identity *identity.Service
	Apps     *workspaceapp.Service
	Proxies  *proxy.Service
}

// Group is the use cases and the edge of agents.
type Group struct {
	Presence    *presence.Service
	Board       *switchboard.Board
	API         *agentapi.API
	Connections *connection.Service
}

// New creates the group, and in the database the secrets that the replicas of a
// new deployment share.
func New(ctx context.Context, b *base.Base, c Config) (*Group, error) {
	instances, err := instance.New(instance.Config{})
	if err != nil {
		return nil, err
	}
	seed, err := b.Secret(ctx, "tunnel-authority", tunnel.SeedSize)
	if err != nil {
		return nil, err
	}
	authority, err := tunnel.NewAuthority(seed)
	if err != nil {
		return nil, err
	}
	hostKeys, err := b.Secret(ctx, "ssh-host-key", 32)
	if err != nil {
		return nil, err
	}
	g := &Group{}
	g.Presence = presence.New(presence.Config{
		Store: b.Store, Vault: b.Vault, Hub: b.Hub, Log: b.Logger("presence"), ReplicaID: b.Replica, AccessURL: b.AccessURL.String(), PortURL: c.PortURL,
		ClientCA: authority.Certificate(), HostKeySecret: hostKeys, DisableDirect: c.DisableDirect, STUN: c.STUN,
		Sleep:      presence.SleepLimits{Memory: c.SleepMemory, Time: c.SleepTime},
		Registerer: b.Registry, Observe: c.Observe, Tracer: b.Agents, Now: b.Now,
	})
	g.Board = switchboard.New(switchboard.Config{
		Store: b.Store, Replica: switchboard.Replica{ID: b.Replica, Version: b.Version, RelayAddress: c.RelayAddress},
		Authority: authority, Transport: b.Outgoing, Log: b.Logger("switchboard"), Registerer: b.Registry, Tracer: b.Tracer,
		Now: b.Now,
	})
	g.Connections = connection.New(connection.Config{
		Store: b.Store, Log: b.Logger("connection"), Now: b.Now, ReplicaID: b.Replica, Retention: c.ConnectionRetention,
		Changed: func() { b.Hub.Publish(notify.Kind(string(codersdk.RBACResourceConnectionLog))) },
	})
	g.API = agentapi.New(agentapi.Config{
		Instances: instances, BrowserOnly: c.BrowserOnly, Log: b.Logger("agentapi"), Presence: g.Presence, Board: g.Board, Authority: authority,
		Identity: c.Identity, ExternalAuth: c.ExternalAuth, ExternalAuthChanges: c.ExternalAuthChanges,
		GitSeed: c.GitSeed, Secrets: c.Secrets, Apps: c.Apps, Connections: g.Connections, Proxies: c.Proxies, Now: b.Now,
	})
	return g, nil
}

// Services returns what runs in the background. Agents can connect once the
// last is started.
func (g *Group) Services() []lifecycle.Named {
	return []lifecycle.Named{
		{Name: "presence", Service: g.Presence},
		{Name: "connection log", Service: g.Connections},
		{Name: "switchboard", Service: g.Board},
		{Name: "agent connections", Service: g.API},
	}
}
