package presence_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// crashVariable holds the database and the token with which a process of this
// test is a server until it is killed.
const crashVariable = "CODER_TEST_PRESENCE_CRASH"

// TestMain lets the test binary be a server that is killed.
func TestMain(m *testing.M) {
	if url := os.Getenv(crashVariable); url != "" {
		if err := untilKilled(url, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// untilKilled takes what an agent says, writes some of it down, takes more, and
// says so.
func untilKilled(url, token string) error {
	ctx := context.Background()
	store, err := postgres.Open(ctx, postgres.Config{URL: url})
	if err != nil {
		return err
	}
	hub := notify.New(store.Pool(), nil)
	if err := hub.Start(ctx); err != nil {
		return err
	}
	p := presence.New(presence.Config{Store: store, Hub: hub, ReplicaID: uuid.New()})
	if err := p.Start(ctx); err != nil {
		return err
	}
	a, err := p.AuthenticateAgent(ctx, token)
	if err != nil {
		return err
	}
	if _, err := p.Hello(ctx, presence.Connection{ID: uuid.New(), Agent: a}, presence.Hello{Certificate: []byte("cert")}); err != nil {
		return err
	}
	for i, step := range []func() error{
		func() error { return p.SetLifecycle(ctx, a, codersdk.WorkspaceAgentLifecycleStarting, time.Now()) },
		func() error {
			return p.PutMetadata(ctx, a, []presence.MetadataValue{{Key: "cpu", Value: "written"}, {Key: "disk", Value: "written"}})
		},
		func() error { return p.Sample(ctx) },
		func() error { return p.PutMetadata(ctx, a, []presence.MetadataValue{{Key: "cpu", Value: "lost"}}) },
		func() error { return p.SetLifecycle(ctx, a, codersdk.WorkspaceAgentLifecycleReady, time.Now()) },
		func() error {
			_, err := p.AppendLogs(ctx, a, presence.LogBatch{Source: uuid.New(), Lines: []presence.LogLine{{Output: "kept"}}})
			return err
		},
	} {
		if err := step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin) // until the test ends, should it not kill this
	return err
}

// A server that is killed loses the values that came after the last sample, and
// nothing else: not what was written, no state, no line of log. Another server
// shows the agent as gone within thirty seconds, and takes it over.
func TestKilled(t *testing.T) {
	h, clock := open(t)
	ctx := t.Context()
	a := measured(t, h, "ws")
	child := exec.Command(os.Args[0], a.Token)
	child.Env = append(os.Environ(), crashVariable+"="+h.Store.Pool().Config().ConnString())
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	must(t, err)
	_, err = child.StdinPipe()
	must(t, err)
	must(t, child.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	must(t, child.Process.Kill())
	_ = child.Wait() // it was killed

	values := func() [2]string {
		t.Helper()
		all, err := h.Presence.Metadata(ctx, h.Owner, a.ID)
		must(t, err)
		return [2]string{all[0].Result.Value, all[1].Result.Value}
	}
	if got := values(); got != [2]string{"written", "written"} {
		t.Errorf("metadata: %v", got)
	}
	lines, err := h.Presence.Logs(ctx, h.Owner, a.ID, 0, 0)
	if err != nil || len(lines) != 1 || lines[0].Output != "kept" {
		t.Errorf("log: %v, %v", lines, err)
	}
	clock.pass(time.Since(clock.now())) // the other process had the true time
	since := clock.now()
	clock.pass(30 * time.Second)
	must(t, h.Presence.Sweep(ctx, since, clock.now()))
	v, err := h.Presence.View(ctx, h.Owner, a.ID)
	must(t, err)
	if v.Status != codersdk.WorkspaceAgentStatusDisconnected || v.LifecycleState != codersdk.WorkspaceAgentLifecycleReady {
		t.Errorf("30 s later the agent is %s and %s", v.Status, v.LifecycleState)
	}
	c := connect(t, h, a.Token)
	must(t, h.Presence.PutMetadata(ctx, c.Agent, []presence.MetadataValue{{Key: "cpu", Value: "new"}}))
	if got := values(); got != [2]string{"new", "written"} {
		t.Errorf("metadata after it came back: %v", got)
	}
}

// Frequent reports of agents cost the database no statements of their own: signs of
// life, metadata and use become a few statements for all agents together.
func TestReportsLeaveTheDatabaseAlone(t *testing.T) {
	h, _ := open(t)
	ctx := t.Context()
	// A pool of its own, so that what others do is not counted.
	store, err := postgres.Open(ctx, postgres.Config{URL: h.Store.Pool().Config().ConnString()})
	must(t, err)
	t.Cleanup(store.Close)
	p := presence.New(presence.Config{Store: store, Hub: h.Hub, ReplicaID: uuid.New()})
	const agents, items = 25, 100
	var connections []presence.Connection
	for i := range agents {
		a := h.Workspace("ws"+strconv.Itoa(i), func(p *provisioner.Agent) {
			for k := range items {
				p.Metadata = append(p.Metadata, &provisioner.Agent_Metadata{Key: "k" + strconv.Itoa(k), Script: "x", Interval: 1})
			}
		})
		agent, err := p.AuthenticateAgent(ctx, a.Token)
		must(t, err)
		c := presence.Connection{ID: uuid.New(), Agent: agent}
		_, err = p.Hello(ctx, c, presence.Hello{Certificate: []byte("cert")})
		must(t, err)
		connections = append(connections, c)
	}
	cost := func(what string, most int64, f func()) {
		t.Helper()
		before := store.Pool().Stat().AcquireCount()
		f()
		if n := store.Pool().Stat().AcquireCount() - before; n > most {
			t.Errorf("%s: %d statements, want %d at most", what, n, most)
		}
	}
	cost("reports", 0, func() {
		for _, c := range connections {
			for range 3 {
				must(t, p.Ping(ctx, c))
				_, err := p.PutStats(ctx, c.Agent, presence.Stats{SSH: 1})
				must(t, err)
				for k := range items {
					must(t, p.PutMetadata(ctx, c.Agent, []presence.MetadataValue{{Key: "k" + strconv.Itoa(k), Value: "v"}}))
				}
			}
		}
	})
	cost("a sample of 2,500 values", 3, func() { must(t, p.Sample(ctx)) })
	cost("a sample of nothing new", 0, func() { must(t, p.Sample(ctx)) })
	cost("a beat of agents in use", 2, func() { must(t, p.Beat(ctx)) })
	cost("a beat of idle agents", 1, func() { must(t, p.Beat(ctx)) })
	for _, c := range connections[:1] {
		rows, err := store.AgentMetadata(ctx, c.Agent.ID)
		if err != nil || len(rows) != items {
			t.Errorf("%d values, %v", len(rows), err)
		}
	}
}

// A sample that could not be written is written later, with what is newer by
// then.
func TestSampleFails(t *testing.T) {
	h, _ := open(t)
	a := measured(t, h, "ws")
	c := connect(t, h, a.Token)
	put := func(key, value string) {
		t.Helper()
		must(t, h.Presence.PutMetadata(t.Context(), c.Agent, []presence.MetadataValue{{Key: key, Value: value}}))
	}
	put("cpu", "1")
	put("disk", "1")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if h.Presence.Sample(gone) == nil {
		t.Fatal("it was written by nobody")
	}
	put("cpu", "2")
	must(t, h.Presence.Sample(t.Context()))
	if got := stored(t, h, a.ID); got["cpu"] != "2" || got["disk"] != "1" {
		t.Errorf("%v", got)
	}
}

// A watcher at a server that dies with the agent's sees the agent's next reports
// at its next server.
func TestWatchOutlivesAServer(t *testing.T) {
	h := agenttest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	a := measured(t, h, "ws")
	dead := replica(t, h) // never beats, nor samples
	agent, err := dead.AuthenticateAgent(ctx, a.Token)
	must(t, err)
	_, err = dead.Hello(ctx, presence.Connection{ID: uuid.New(), Agent: agent}, presence.Hello{Certificate: []byte("cert")})
	must(t, err)
	seen, ended := make(chan string, 100), make(chan error, 1)
	go func() {
		ended <- h.Presence.WatchMetadata(ctx, h.Owner, a.ID, func(all []codersdk.WorkspaceAgentMetadata) error {
			seen <- all[0].Result.Value
			return nil
		})
	}()
	if got := <-seen; got != "" {
		t.Errorf("saw %q", got)
	}
	c := connect(t, h, a.Token)
	must(t, h.Presence.PutMetadata(ctx, c.Agent, []presence.MetadataValue{{Key: "cpu", Value: "again"}}))
	select {
	case got := <-seen:
		if got != "again" {
			t.Errorf("saw %q", got)
		}
	case <-time.After(testwait.Limit):
		t.Error("nothing was seen")
	}
	cancel()
	<-ended
}
