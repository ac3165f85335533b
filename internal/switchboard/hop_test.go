package switchboard_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/switchboard"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// replica returns one of several worlds that share a database and an agent.
func replica(t testing.TB, store *postgres.Store, name string, first *world) *world {
	w := unstarted(t)
	if first != nil {
		w.identity, w.agentID, w.authority = first.identity, first.agentID, first.authority
	}
	w.start(store, name)
	return w
}

// start creates the board of a replica, as after a restart.
func (w *world) start(store *postgres.Store, name string) {
	b := switchboard.New(switchboard.Config{
		Store: store, Authority: w.authority,
		Replica: switchboard.Replica{ID: uuid.New(), Hostname: name, Version: "v1", RelayAddress: w.url},
	})
	ok(w.t, b.Start(w.t.Context()))
	w.setBoard(b)
}

// TestHop has a client on one replica and its agent on another, then moves
// the agent, restarts the client's replica, and at last kills the agent's: the
// tunnel goes on each time.
func TestHop(t *testing.T) {
	store := postgrestest.New(t)
	a := replica(t, store, "a", nil)
	b := replica(t, store, "b", a)
	at := b // where the agent dials
	a.listen(func(c *tunnel.ListenConfig) {
		c.Relay = func(ctx context.Context) (relay.Link, error) {
			a.mu.Lock()
			w := at
			a.mu.Unlock()
			return w.relay("agent")(ctx)
		}
	})
	move := func(to *world) {
		a.mu.Lock()
		at = to
		a.mu.Unlock()
	}
	conn := a.dial(tunnel.KindSSH)
	s, err := conn.Open(t.Context(), tunnel.KindSSH, "")
	ok(t, err)
	talk(t, s, "over two replicas")
	if a.board.Holds(a.agentID) || !b.board.Holds(a.agentID) {
		t.Fatal("the agent is not where it should be")
	}
	own, err := a.board.Open(t.Context(), tunnel.Target{AgentID: a.agentID, Certificate: a.identity.Certificate()}, tunnel.KindTCP, "x:1")
	ok(t, err)
	_, err = own.Write([]byte("the server too"))
	ok(t, err)
	ok(t, own.Close())

	move(a)
	b.cut("agent")
	talk(t, s, "the agent came to the client's replica")

	move(b)
	a.cut("agent")
	talk(t, s, "and went back")

	old := a.board
	a.start(store, "a again")
	ok(t, old.Stop(t.Context()))
	talk(t, s, "after the client's replica was restarted")

	move(a)
	old = b.board
	b.start(store, "b again")
	ok(t, old.Stop(t.Context()))
	talk(t, s, "after the agent's replica was restarted")
}

// TestHopRefuses tries what is no token of a replica.
func TestHopRefuses(t *testing.T) {
	store := postgrestest.New(t)
	w := replica(t, store, "a", nil)
	other := replica(t, store, "b", w)
	seen := ""
	agent := uuid.New()
	w.listen(func(c *tunnel.ListenConfig) { c.Relay = w.relay("agent") })
	_ = agent
	good := func() string { return switchboard.HopToken(other.board, w.board, w.agentID) }
	ok(t, w.board.AdmitHop(good(), w.agentID))
	seen = good()
	ok(t, w.board.AdmitHop(seen, w.agentID))
	stranger := unstarted(t)
	authority, err := tunnel.NewAuthority([]byte(strings.Repeat("x", tunnel.SeedSize)))
	ok(t, err)
	stranger.authority = authority
	stranger.start(store, "c")
	for name, token := range map[string]string{
		"none": "", "rubbish": "!!", "short": "AAAA", "used": seen,
		"of another deployment": switchboard.HopToken(stranger.board, w.board, w.agentID),
		"for another replica":   switchboard.HopToken(w.board, other.board, w.agentID),
		"for another agent":     switchboard.HopToken(other.board, w.board, uuid.New()),
		"changed":               strings.ToUpper(good()),
	} {
		if err := w.board.AdmitHop(token, w.agentID); !codersdk.Is(err, codersdk.CodeUnauthenticated) {
			t.Errorf("token %s: %v", name, err)
		}
	}
	late := switchboard.New(switchboard.Config{Authority: w.authority, Now: func() time.Time { return time.Now().Add(-time.Hour) }})
	if err := w.board.AdmitHop(switchboard.HopToken(late, w.board, w.agentID), w.agentID); !codersdk.Is(err, codersdk.CodeUnauthenticated) {
		t.Errorf("an old token: %v", err)
	}
	if _, _, err := websocket.Dial(t.Context(), w.url+switchboard.HopPath, nil); err == nil {
		t.Error("dialed without a token")
	}
}

// TestWarmTunnel opens many streams by the server: one tunnel carries them,
// also after the agent was restarted.
func TestWarmTunnel(t *testing.T) {
	w := newWorld(t)
	to := tunnel.Target{AgentID: w.agentID, Certificate: w.identity.Certificate()}
	if _, err := w.board.Open(t.Context(), to, tunnel.KindTCP, "x:1"); !codersdk.Is(err, codersdk.CodeUnavailable) {
		t.Errorf("without an agent: %v", err)
	}
	l := w.listen()
	for range 50 {
		s, err := w.board.Open(t.Context(), to, tunnel.KindTCP, "x:1")
		ok(t, err)
		defer s.Close()
	}
	if n := l.Stats().Tunnels; n != 1 {
		t.Errorf("%d tunnels", n)
	}
	if _, err := w.board.Open(t.Context(), to, tunnel.KindTCP, "refuse"); !codersdk.Is(err, codersdk.CodePrecondition) {
		t.Errorf("refused by the agent: %v", err)
	}
	id, err := tunnel.NewIdentity()
	ok(t, err)
	w.listen(func(c *tunnel.ListenConfig) { c.Identity = id })
	to.Certificate = id.Certificate()
	s, err := w.board.Open(t.Context(), to, tunnel.KindTCP, "x:1")
	ok(t, err)
	ok(t, s.Close())
}
