// Package crowd simulates many agents in one process. Each has the connections
// of a real agent and sends the same reports. Without a home it serves no streams,
// like an idle agent.
package crowd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/hashicorp/yamux"
	"google.golang.org/protobuf/types/known/timestamppb"
	"storj.io/drpc"
	"storj.io/drpc/drpcconn"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/sshd"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// Behavior of simulated agents: that of real agents whose template has two
// metadata items, reported every ten seconds.
const (
	pingEvery  = 15 * time.Second
	statsEvery = 30 * time.Second
	dialLimit  = 3 * time.Second
)

// MetadataEvery is the interval at which an agent sends its two metadata items.
const MetadataEvery = 10 * time.Second

// Crowd is a set of simulated agents. It is safe for concurrent use.
type Crowd struct {
	At        *url.URL              // the server
	Home      string                // of the processes of SSH sessions, without the login files of this user; "" means no SSH
	Connected atomic.Int64          // number of connected agents
	Dials     atomic.Int64          // so far
	Reports   atomic.Int64          // so far
	Failed    atomic.Pointer[error] // the last error, nil for none
	work      sync.WaitGroup
}

// Wait waits until all agents have ended, after their contexts have.
func (c *Crowd) Wait() { c.work.Wait() }

// Join adds an agent that runs until ctx ends.
func (c *Crowd) Join(ctx context.Context, token uuid.UUID) error {
	id, err := tunnel.NewIdentity()
	if err != nil {
		return err
	}
	api := codersdk.New(c.At)
	api.SessionToken = token.String()
	// A real agent shares its connections with nobody, and closes all idle ones when it dials again.
	own := http.DefaultTransport.(*http.Transport).Clone()
	api.HTTP = &http.Client{Transport: own}
	c.work.Go(func() {
		m := &member{Crowd: c, api: api, identity: id}
		defer own.CloseIdleConnections()
		defer m.leave()
		wait := lifecycle.Backoff{Limit: dialLimit}
		for ctx.Err() == nil {
			if err := m.live(ctx, &wait); err != nil && ctx.Err() == nil {
				c.Failed.Store(&err)
			}
			wait.Sleep(ctx)
		}
	})
	return nil
}

// member is one simulated agent.
type member struct {
	*Crowd
	api      *codersdk.Client
	identity *tunnel.Identity
	listener *tunnel.Listener
}

// live connects once and sends reports until the connection ends.
func (m *member) live(ctx context.Context, wait *lifecycle.Backoff) error {
	dial, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	m.Dials.Add(1)
	ws, err := m.api.Dial(dial, "/workspaceagents/me/rpc", url.Values{"version": {agentrpc.Version}})
	if err != nil {
		return err
	}
	defer ws.CloseNow()
	conf := yamux.DefaultConfig()
	conf.KeepAliveInterval, conf.LogOutput = pingEvery, io.Discard
	session, err := yamux.Client(websocket.NetConn(ctx, ws, websocket.MessageBinary), conf)
	if err != nil {
		return err
	}
	defer session.Close()
	rpc := agentrpc.NewDRPCAgentClient(&agentCalls{session})
	manifest, err := rpc.Hello(dial, &agentrpc.HelloRequest{Version: "v2.37.0-bench", Certificate: m.identity.Certificate()})
	if err != nil {
		return err
	}
	wait.Reset()
	m.Connected.Add(1)
	defer m.Connected.Add(-1)
	if m.listener == nil {
		if err := m.listen(ctx, manifest); err != nil {
			return err
		}
	}
	return m.report(ctx, rpc, session.CloseChan())
}

// listen keeps the agent's connection to the relay open.
func (m *member) listen(ctx context.Context, manifest *agentrpc.Manifest) error {
	handle, err := m.handler(manifest)
	if err != nil {
		return err
	}
	l, err := tunnel.Listen(tunnel.ListenConfig{
		Identity: m.identity, AgentID: uuid.UUID(manifest.AgentId), ClientCA: manifest.ClientCa,
		Relay: tunnel.AgentRelay(m.api), Direct: tunnel.Direct{Disabled: "nobody dials"}, Handle: handle,
	})
	if err != nil {
		return err
	}
	if err := l.Start(ctx); err != nil {
		return err
	}
	m.listener = l
	return nil
}

// handler returns what serves the streams of clients.
func (m *member) handler(manifest *agentrpc.Manifest) (func(context.Context, *tunnel.Request), error) {
	if m.Home == "" {
		return func(context.Context, *tunnel.Request) {}, nil
	}
	server, err := sshd.New(sshd.Config{HostKeySeed: manifest.SshHostKeySeed, Env: append(os.Environ(), "HOME="+m.Home)})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, r *tunnel.Request) {
		if r.Kind != tunnel.KindSSH {
			r.Reject(errors.New("only SSH is served"))
			return
		}
		stream, err := r.Accept()
		if err != nil {
			return // the client has disconnected
		}
		server.ServeConn(ctx, stream, sshd.Options{NoWait: true}) //nolint:errcheck // the client measures it
	}, nil
}

func (m *member) leave() {
	if m.listener != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		m.listener.Stop(ctx) //nolint:errcheck // it has no users
	}
}

// report sends the reports of an agent, each with its own offset.
func (m *member) report(ctx context.Context, rpc agentrpc.DRPCAgentClient, ended <-chan struct{}) error {
	next := func(every time.Duration) time.Time { return time.Now().Add(rand.N(every)) }
	metadata, ping, stats := next(MetadataEvery), next(pingEvery), next(statsEvery)
	for {
		soonest := metadata
		for _, t := range []time.Time{ping, stats} {
			if t.Before(soonest) {
				soonest = t
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return errors.New("the connection ended")
		case <-time.After(time.Until(soonest)):
		}
		var err error
		switch soonest {
		case metadata:
			metadata = metadata.Add(MetadataEvery)
			now := timestamppb.Now()
			_, err = rpc.UpdateMetadata(ctx, &agentrpc.MetadataRequest{Values: []*agentrpc.MetadataValue{
				{Key: "cpu", Value: fmt.Sprintf("%.2f/4 cores", 4*rand.Float64()), CollectedAt: now},
				{Key: "ram", Value: fmt.Sprintf("%.1f/16 GiB", 16*rand.Float64()), CollectedAt: now},
			}})
		case ping:
			ping = ping.Add(pingEvery)
			_, err = rpc.Ping(ctx, &agentrpc.PingRequest{})
		default:
			stats = stats.Add(statsEvery)
			_, err = rpc.UpdateStats(ctx, &agentrpc.StatsRequest{})
		}
		if err != nil {
			return err
		}
		m.Reports.Add(1)
	}
}

// agentCalls makes each call on its own stream, as agents do.
type agentCalls struct{ session *yamux.Session }

func (c *agentCalls) Close() error            { return c.session.Close() }
func (c *agentCalls) Closed() <-chan struct{} { return c.session.CloseChan() }

func (c *agentCalls) Invoke(ctx context.Context, rpc string, enc drpc.Encoding, in, out drpc.Message) error {
	stream, err := c.session.OpenStream()
	if err != nil {
		return err
	}
	conn := drpcconn.New(stream)
	return errors.Join(conn.Invoke(ctx, rpc, enc, in, out), conn.Close())
}

func (c *agentCalls) NewStream(context.Context, string, drpc.Encoding) (drpc.Stream, error) {
	return nil, errors.New("the agent service has no streaming calls")
}
