package switchboard_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/switchboard"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

var instance = strings.Repeat("ab", 16)

func sessionText(b string) string { return strings.Repeat(b, 16) }

// attach returns the far end of a link that b serves, after its first message.
func attach(t *testing.T, serve func(context.Context, uuid.UUID, relay.Link) error, agent uuid.UUID, hello string) relay.Link {
	t.Helper()
	mine, theirs := relay.LinkPipe()
	go func() { _ = serve(context.Background(), agent, theirs) }()
	ok(t, mine.Send(true, []byte(hello)))
	t.Cleanup(func() { mine.Close(0, "") })
	return mine
}

// hears wants a message.
func hears(t *testing.T, l relay.Link, want string) {
	t.Helper()
	m, err := l.Receive()
	ok(t, err)
	defer m.Release()
	if got := string(m.Data); got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestBoardForwards(t *testing.T) {
	reg := prometheus.NewRegistry()
	b := switchboard.New(switchboard.Config{Registerer: reg})
	id := uuid.New()
	agent := attach(t, b.AgentLink, id, "serve "+instance)
	for !b.Holds(id) {
		runtime.Gosched()
	}
	one := attach(t, b.ClientLink, id, "attach "+sessionText("31")+" "+instance)
	hears(t, one, "online")
	hears(t, agent, "attached "+sessionText("31"))
	two := attach(t, b.ClientLink, id, "attach "+sessionText("32")+" "+instance)
	hears(t, two, "online")
	hears(t, agent, "attached "+sessionText("32"))
	s1, s2 := strings.Repeat("1", 16), strings.Repeat("2", 16)

	ok(t, one.Send(false, []byte(s1+"from one")))
	hears(t, agent, s1+"from one")
	ok(t, two.Send(false, []byte(s1+"in the name of one")))
	ok(t, two.Send(false, []byte("short")))
	ok(t, two.Send(true, []byte("a text nobody wants")))
	ok(t, two.Send(false, []byte(s2+"from two")))
	hears(t, agent, s2+"from two")
	ok(t, agent.Send(false, []byte(strings.Repeat("3", 16)+"to nobody")))
	ok(t, agent.Send(false, []byte(s2+"to two")))
	hears(t, two, s2+"to two")

	again := attach(t, b.ClientLink, id, "attach "+sessionText("31")+" "+instance)
	hears(t, again, "online")
	hears(t, agent, "attached "+sessionText("31"))
	if _, err := one.Receive(); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Fatalf("the old link of the session: %v", err)
	}
	agent.Close(0, "")
	hears(t, again, "offline")
	hears(t, two, "offline")

	got := map[string]float64{}
	families, err := reg.Gather()
	ok(t, err)
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			got[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	delete(got, "coderd_relay_agents") // it may not have left yet
	delete(got, "coderd_relay_clients")
	want := map[string]float64{
		"coderd_relay_bytes_total agent": 16, "coderd_relay_bytes_total client": 6,
		"coderd_relay_dropped_bytes_total unknown_session": 27, "coderd_relay_dropped_bytes_total agent_offline": 0,
		"coderd_relay_dropped_bytes_total slow_client": 0, "coderd_relay_hops": 0,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	ok(t, b.Stop(t.Context()))
	if _, err := two.Receive(); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("after the stop: %v", err)
	}
}

// TestBoardRefuses has ends begin with something else than they should.
func TestBoardRefuses(t *testing.T) {
	b := switchboard.New(switchboard.Config{})
	for _, hello := range []string{"", "serve", "attach " + instance, "serve xy", "attach 00 00", "serve " + instance + " more", strings.Repeat("x", 30_000)} {
		for name, serve := range map[string]func(context.Context, uuid.UUID, relay.Link) error{"agent": b.AgentLink, "client": b.ClientLink} {
			l := attach(t, serve, uuid.New(), hello)
			if _, err := l.Receive(); websocket.CloseStatus(err) != relay.StatusRefused {
				t.Errorf("%s %.40q: %v", name, hello, err)
			}
		}
	}
	ok(t, b.Stop(t.Context()))
	mine, theirs := relay.LinkPipe()
	if err := b.AgentLink(t.Context(), uuid.New(), theirs); !codersdk.Is(err, codersdk.CodeUnavailable) {
		t.Errorf("after the stop: %v", err)
	}
	if _, err := mine.Receive(); websocket.CloseStatus(err) != websocket.StatusTryAgainLater {
		t.Errorf("after the stop: %v", err)
	}
}

func TestReplicas(t *testing.T) {
	store := postgrestest.New(t)
	now := time.Now().Truncate(time.Millisecond)
	replica := func(name string, at time.Time) (*switchboard.Board, uuid.UUID) {
		id := uuid.New()
		return switchboard.New(switchboard.Config{
			Store: store, Replica: switchboard.Replica{ID: id, Hostname: name, Version: "v1"}, Now: func() time.Time { return at },
		}), id
	}
	alive := func() (names []string) {
		rows, err := store.ReplicasAlive(t.Context(), now.Add(-time.Minute))
		ok(t, err)
		for _, r := range rows {
			names = append(names, r.Hostname)
		}
		return names
	}
	a, _ := replica("a", now)
	b, bID := replica("b", now.Add(time.Second))
	old, oldID := replica("old", now.Add(-time.Hour))
	for _, s := range []*switchboard.Board{a, b, old} {
		ok(t, s.Start(t.Context()))
	}
	if d := cmp.Diff([]string{"a", "b"}, alive()); d != "" {
		t.Error(d)
	}
	agents := map[string]uuid.UUID{"of b": uuid.New(), "of a dead replica": uuid.New(), "of an unknown one": uuid.New(), "of nobody": uuid.New()}
	for name, replica := range map[string]uuid.UUID{"of b": bID, "of a dead replica": oldID, "of an unknown one": uuid.New()} {
		ok(t, store.RelayHold(t.Context(), sqlc.RelayHoldParams{AgentID: agents[name], ReplicaID: replica, LinkID: uuid.New(), Now: now}))
	}
	for name, id := range agents {
		err := a.Elsewhere(t.Context(), id)
		if name != "of b" && err != nil {
			t.Errorf("an agent %s: %v", name, err)
		}
		if name == "of b" && (!codersdk.Is(err, codersdk.CodeUnavailable) || !strings.Contains(err.Error(), "of this deployment, b")) {
			t.Errorf("an agent of b: %v", err)
		}
	}
	for _, s := range []*switchboard.Board{old, b} {
		ok(t, s.Stop(t.Context()))
	}
	ok(t, store.ReplicaAnnounce(t.Context(), sqlc.ReplicaAnnounceParams{ID: bID, Hostname: "b", Now: now.Add(time.Second)})) // a late heartbeat
	if d := cmp.Diff([]string{"a"}, alive()); d != "" {
		t.Error(d)
	}
	ok(t, a.Stop(t.Context()))
}

// TestBoardFull refuses one client too many, but no session that has a place: one
// whose old link is still open, or broke a moment ago. A session that says goodbye, or
// stays away, leaves its place to another.
func TestBoardFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := switchboard.New(switchboard.Config{})
		id := uuid.New()
		const most = 1000
		client := func(i int) relay.Link {
			mine, theirs := relay.LinkPipe()
			go func() { _ = b.ClientLink(context.Background(), id, theirs) }()
			ok(t, mine.Send(true, fmt.Appendf(nil, "attach %032x %s", i, instance)))
			return mine
		}
		admitted := func(i int) relay.Link {
			t.Helper()
			l := client(i)
			hears(t, l, relay.TextOffline)
			return l
		}
		refused := func(i int) {
			t.Helper()
			if m, err := client(i).Receive(); websocket.CloseStatus(err) != relay.StatusRefused {
				t.Errorf("client %d got %+v, %v", i, m, err)
			}
		}
		links := make([]relay.Link, most)
		for i := range most {
			links[i] = admitted(i)
		}
		links[7] = admitted(7) // takes the place of the link before
		refused(most)
		links[7].Close(0, "")
		synctest.Wait()
		refused(most)
		links[7] = admitted(7)
		refused(most)

		ok(t, links[8].Send(true, []byte(relay.TextDetach)))
		links[8].Close(0, "")
		synctest.Wait()
		links[8] = admitted(most)
		refused(8)

		links[9].Close(0, "")
		time.Sleep(time.Minute)
		links[9] = admitted(9 + most)
		refused(9)
		ok(t, b.Stop(t.Context()))
	})
}
