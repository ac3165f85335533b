// Package crowd is many agents that nobody works with, simulated in one process:
// each has the connections that a real agent has, and says what a real one says,
// without the processes behind it.
package crowd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
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
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// How simulated agents behave: as real ones of a template with two items of
// metadata every ten seconds do, without the processes.
const (
	pingEvery  = 15 * time.Second
	statsEvery = 30 * time.Second
	dialLimit  = 3 * time.Second
)

// MetadataEvery is how often each agent sends its two items of metadata.
const MetadataEvery = 10 * time.Second

// Crowd is any number of simulated agents. It is safe for concurrent use.
type Crowd struct {
	At        *url.URL              // the server
	Connected atomic.Int64          // how many are
	Dials     atomic.Int64          // so far
	Reports   atomic.Int64          // so far
	Failed    atomic.Pointer[error] // what went wrong last, nil for nothing
	work      sync.WaitGroup
}

// Wait waits until all have ended, after their contexts have.
func (c *Crowd) Wait() { c.work.Wait() }

// Join adds an agent that lives until ctx ends.
func (c *Crowd) Join(ctx context.Context, token uuid.UUID) error {
	id, err := tunnel.NewIdentity()
	if err != nil {
		return err
	}
	api := client.New(c.At)
	api.SessionToken = token.String()
	c.work.Go(func() {
		m := &member{Crowd: c, api: api, identity: id}
		defer m.leave()
		wait := client.Redial{Limit: dialLimit}
		for ctx.Err() == nil {
			if err := m.live(ctx, &wait); err != nil && ctx.Err() == nil {
				c.Failed.Store(&err)
			}
			select {
			case <-time.After(wait.Next()):
			case <-ctx.Done():
			}
		}
	})
	return nil
}

// member is one simulated agent.
type member struct {
	*Crowd
	api      *client.Client
	identity *tunnel.Identity
	listener *tunnel.Listener
}

// live connects once and says what agents say until the connection ends.
func (m *member) live(ctx context.Context, wait *client.Redial) error {
	dial, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	m.Dials.Add(1)
	ws, err := m.api.Dial(dial, "/workspaceagents/me/rpc", url.Values{"version": {"1.0"}})
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
	manifest, err := rpc.Hello(dial, &agentrpc.HelloRequest{Version: "v0.0.0-bench", Certificate: m.identity.Certificate()})
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

// listen keeps the agent's link to the relay, as every agent does for clients.
func (m *member) listen(ctx context.Context, manifest *agentrpc.Manifest) error {
	var err error
	m.listener, err = tunnel.Listen(tunnel.ListenConfig{
		Identity: m.identity, AgentID: uuid.UUID(manifest.AgentId), ClientCA: manifest.ClientCa,
		Relay: tunnel.AgentRelay(m.api), Direct: tunnel.Direct{Disabled: "nobody dials"}, Handle: func(context.Context, *tunnel.Request) {},
	})
	if err != nil {
		return err
	}
	return m.listener.Start(ctx)
}

func (m *member) leave() {
	if m.listener != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		m.listener.Stop(ctx) //nolint:errcheck // nobody uses it
	}
}

// report says what agents say, each from a moment of its own on.
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

// agentCalls makes each call on a stream of its own, as agents do.
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
