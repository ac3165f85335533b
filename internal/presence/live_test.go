package presence_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// replica is another server over the same database.
func replica(t *testing.T, h *agenttest.Fixture) *presence.Service {
	t.Helper()
	hub := notify.New(h.Store.Pool(), slog.New(slog.DiscardHandler))
	must(t, hub.Start(t.Context()))
	t.Cleanup(func() { hub.Stop(context.Background()) })
	return presence.New(presence.Config{Store: h.Store, Hub: hub, ReplicaID: uuid.New(), HostKeySecret: []byte("secret")})
}

func measured(t *testing.T, h *agenttest.Fixture, name string, change ...func(*provisioner.Agent)) agenttest.Agent {
	t.Helper()
	return h.Workspace(name, append(change, func(p *provisioner.Agent) {
		p.Metadata = []*provisioner.Agent_Metadata{{Key: "cpu", Script: "x", Interval: 1}, {Key: "disk", Script: "y", Interval: 1}}
	})...)
}

func stored(t *testing.T, h *agenttest.Fixture, agent uuid.UUID) map[string]string {
	t.Helper()
	rows, err := h.Store.AgentMetadata(t.Context(), agent)
	must(t, err)
	out := map[string]string{}
	for _, r := range rows {
		out[r.Key] = r.Value
	}
	return out
}

// Values are in memory first, and in the database when they are sampled.
func TestMetadataIsSampled(t *testing.T) {
	h, _ := open(t)
	ctx, p := t.Context(), h.Presence
	other := replica(t, h)
	a := measured(t, h, "ws")
	c := connect(t, h, a.Token)
	put := func(key, value string) {
		t.Helper()
		must(t, p.PutMetadata(ctx, c.Agent, []presence.MetadataValue{{Key: key, Value: value}}))
	}
	shown := func(s *presence.Service) [2]string {
		t.Helper()
		all, err := s.Metadata(ctx, h.Owner, a.ID)
		must(t, err)
		return [2]string{all[0].Result.Value, all[1].Result.Value}
	}
	put("cpu", "1")
	put("cpu", "2")
	if got := stored(t, h, a.ID); len(got) != 0 {
		t.Errorf("a value went to the database before its time: %v", got)
	}
	if here, there := shown(p), shown(other); here != [2]string{"2", ""} || there != [2]string{"", ""} {
		t.Errorf("before a sample: here %v, there %v", here, there)
	}
	must(t, p.Sample(ctx))
	put("disk", "3")
	if here, there := shown(p), shown(other); here != [2]string{"2", "3"} || there != [2]string{"2", ""} {
		t.Errorf("after a sample: here %v, there %v", here, there)
	}
	// The last report outlives the connection.
	must(t, p.Disconnected(ctx, c))
	must(t, p.Sample(ctx))
	if here, there := shown(p), shown(other); here != [2]string{"2", "3"} || there != here {
		t.Errorf("after the end: here %v, there %v", here, there)
	}
}

// A server that stops writes down what it knows.
func TestStopSamples(t *testing.T) {
	h, _ := open(t)
	a := measured(t, h, "ws")
	c := connect(t, h, a.Token)
	must(t, h.Presence.PutMetadata(t.Context(), c.Agent, []presence.MetadataValue{{Key: "cpu", Value: "1"}}))
	must(t, h.Presence.Stop(t.Context()))
	if got := stored(t, h, a.ID); got["cpu"] != "1" {
		t.Errorf("%v", got)
	}
}

// A watcher at another server soon sees changes too.
func TestWatchFromElsewhere(t *testing.T) {
	h := agenttest.New(t)
	other := replica(t, h)
	a := measured(t, h, "ws")
	c := connect(t, h, a.Token)
	put := func(value string) {
		t.Helper()
		must(t, h.Presence.PutMetadata(t.Context(), c.Agent, []presence.MetadataValue{{Key: "cpu", Value: value}}))
	}
	put("before")
	seen := make(chan string, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- other.WatchMetadata(ctx, h.Owner, a.ID, func(all []codersdk.WorkspaceAgentMetadata) error {
			seen <- all[0].Result.Value
			return nil
		})
	}()
	await := func(value string) {
		t.Helper()
		late := time.After(testwait.Limit)
		for {
			select {
			case got := <-seen:
				if got == value {
					return
				}
			case <-late:
				t.Fatalf("%q was not seen", value)
			}
		}
	}
	await("before")
	put("now")
	await("now")
	put("then")
	await("then")
	cancel()
	<-ended
}

// An agent that connects to another server leaves the first one: what it
// says there counts, and the first connection is told.
func TestAgentMoves(t *testing.T) {
	h, _ := open(t)
	ctx := t.Context()
	other := replica(t, h)
	a := measured(t, h, "ws")
	old := connect(t, h, a.Token)
	agent, err := other.AuthenticateAgent(ctx, a.Token)
	must(t, err)
	fresh := presence.Connection{ID: uuid.New(), Agent: agent}
	_, err = other.Hello(ctx, fresh, presence.Hello{Version: "v1", Certificate: []byte("cert")})
	must(t, err)
	must(t, h.Presence.Ping(ctx, old)) // nobody has told it yet
	must(t, h.Presence.Beat(ctx))
	must(t, other.Beat(ctx))
	want(t, h.Presence.Ping(ctx, old), codersdk.CodeConflict)
	must(t, other.Ping(ctx, fresh))
	must(t, h.Presence.Disconnected(ctx, old))
	v, err := other.View(ctx, h.Owner, a.ID)
	must(t, err)
	if v.Status != codersdk.WorkspaceAgentStatusConnected {
		t.Errorf("the agent that moved is %s", v.Status)
	}
}

// An agent whose server died with it shows as gone within thirty seconds; one
// whose server lives does not.
func TestDeadServer(t *testing.T) {
	h, clock := open(t)
	ctx := t.Context()
	dead, alive := h.Workspace("dead"), h.Workspace("alive")
	connect(t, h, dead.Token)
	other := presence.New(presence.Config{Store: h.Store, Hub: h.Hub, ReplicaID: uuid.New(), Now: clock.now})
	agent, err := other.AuthenticateAgent(ctx, alive.Token)
	must(t, err)
	_, err = other.Hello(ctx, presence.Connection{ID: uuid.New(), Agent: agent}, presence.Hello{Certificate: []byte("cert")})
	must(t, err)
	status := func(id uuid.UUID) codersdk.WorkspaceAgentStatus {
		t.Helper()
		v, err := other.View(ctx, h.Owner, id)
		must(t, err)
		return v.Status
	}
	for range 3 {
		clock.pass(10 * time.Second)
		must(t, other.Beat(ctx))
		must(t, other.Sweep(ctx, clock.now().Add(-10*time.Second), clock.now()))
	}
	if status(dead.ID) != codersdk.WorkspaceAgentStatusDisconnected || status(alive.ID) != codersdk.WorkspaceAgentStatusConnected {
		t.Errorf("after 30 s: of the dead server %s, of the living %s", status(dead.ID), status(alive.ID))
	}
}
