package presence_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
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

// clock is a clock that tests move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time { return c.pass(0) }

// pass lets time go by and tells what time it is then.
func (c *clock) pass(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
	return c.at
}

func open(t *testing.T) (*agenttest.Fixture, *clock) {
	t.Helper()
	c := &clock{at: time.Now()}
	return agenttest.New(t, func(p *presence.Config) { p.Now = c.now }), c
}

func want(t *testing.T, err error, code codersdk.Code) {
	t.Helper()
	if codersdk.CodeOf(err) != code {
		t.Errorf("got %v (%s), want the code %q", err, codersdk.CodeOf(err), code)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func connect(t *testing.T, h *agenttest.Fixture, token string) presence.Connection {
	t.Helper()
	a, err := h.Presence.AuthenticateAgent(t.Context(), token)
	must(t, err)
	c := presence.Connection{ID: uuid.New(), Agent: a}
	_, err = h.Presence.Hello(t.Context(), c, presence.Hello{Version: "v1", Certificate: []byte("cert")})
	must(t, err)
	return c
}

func TestWhoMayConnect(t *testing.T) {
	h, _ := open(t)
	ctx, p := t.Context(), h.Presence
	for _, token := range []string{"", "nonsense", uuid.NewString(), uuid.Nil.String()} {
		_, err := p.AuthenticateAgent(ctx, token)
		want(t, err, codersdk.CodeUnauthenticated)
	}
	first := h.Workspace("ws")
	a, err := p.AuthenticateAgent(ctx, first.Token)
	must(t, err)
	if a.ID != first.ID || a.WorkspaceID != first.WorkspaceID || a.BuildID != first.BuildID || a.OwnerID != h.Owner.UserID || a.WorkspaceName != "ws" {
		t.Errorf("%+v", a)
	}
	// While a stop runs, and when a later build failed, the agent may still speak.
	h.Build(first.WorkspaceID, 2, "stop", "running")
	_, err = p.AuthenticateAgent(ctx, first.Token)
	want(t, err, "")
	h.Build(first.WorkspaceID, 3, "start", "failed")
	_, err = p.AuthenticateAgent(ctx, first.Token)
	want(t, err, "")
	second := h.Build(first.WorkspaceID, 4, "start", "succeeded")
	_, err = p.AuthenticateAgent(ctx, first.Token)
	want(t, err, codersdk.CodeConflict)
	_, err = p.AuthenticateAgent(ctx, second.Token)
	want(t, err, "")
	h.Build(first.WorkspaceID, 5, "stop", "succeeded")
	_, err = p.AuthenticateAgent(ctx, second.Token)
	want(t, err, codersdk.CodeConflict)
	gone := h.Workspace("gone")
	h.Delete(gone.WorkspaceID)
	_, err = p.AuthenticateAgent(ctx, gone.Token)
	want(t, err, codersdk.CodeConflict)
	_, err = p.AgentForUser(ctx, h.Owner, gone.ID, codersdk.RBACActionRead)
	want(t, err, codersdk.CodeNotFound)
}

func TestWhoMaySee(t *testing.T) {
	h, _ := open(t)
	ctx, p := t.Context(), h.Presence
	a := h.Workspace("ws")
	_, err := p.AgentForUser(ctx, h.Owner, a.ID, codersdk.RBACActionSSH)
	want(t, err, "")
	for _, ask := range []func() error{
		func() error { _, err := p.AgentForUser(ctx, h.Stranger, a.ID, codersdk.RBACActionSSH); return err },
		func() error { _, err := p.View(ctx, h.Stranger, a.ID); return err },
		func() error { _, err := p.Logs(ctx, h.Stranger, a.ID, 0, 0); return err },
		func() error { _, err := p.Metadata(ctx, h.Stranger, a.ID); return err },
		func() error { return p.FollowLogs(ctx, h.Stranger, a.ID, 0, nil) },
		func() error { return p.WatchMetadata(ctx, h.Stranger, a.ID, nil) },
		func() error { _, err := p.View(ctx, h.Owner, uuid.New()); return err },
	} {
		want(t, ask(), codersdk.CodeNotFound)
	}
}

func TestConnectionsTakeOver(t *testing.T) {
	h, clock := open(t)
	ctx, p := t.Context(), h.Presence
	a := h.Workspace("ws")
	status := func() codersdk.WorkspaceAgentStatus {
		v, err := p.View(ctx, h.Owner, a.ID)
		must(t, err)
		return v.Status
	}
	if s := status(); s != codersdk.WorkspaceAgentStatusConnecting {
		t.Errorf("before it connects it is %s", s)
	}
	old := connect(t, h, a.Token)
	if s := status(); s != codersdk.WorkspaceAgentStatusConnected {
		t.Errorf("connected it is %s", s)
	}
	must(t, p.Ping(ctx, old))
	fresh := connect(t, h, a.Token)
	want(t, p.Ping(ctx, old), codersdk.CodeConflict)
	must(t, p.Disconnected(ctx, old))
	if s := status(); s != codersdk.WorkspaceAgentStatusConnected {
		t.Errorf("when the old connection ends it is %s", s)
	}
	must(t, p.Ping(ctx, fresh))
	clock.pass(time.Second)
	must(t, p.Disconnected(ctx, fresh))
	if s := status(); s != codersdk.WorkspaceAgentStatusDisconnected {
		t.Errorf("disconnected it is %s", s)
	}
	again := connect(t, h, a.Token)
	must(t, p.Beat(ctx))
	must(t, p.Ping(ctx, again))
	h.Build(a.WorkspaceID, 2, "start", "succeeded")
	must(t, p.Beat(ctx))
	want(t, p.Ping(ctx, again), codersdk.CodeConflict)
}

// Watchers also learn of silence, and of time that is up.
func TestSweep(t *testing.T) {
	h, clock := open(t)
	ctx, p := t.Context(), h.Presence
	quiet, late := h.Workspace("quiet"), h.Workspace("late")
	connect(t, h, quiet.Token)
	told, cancel := h.Hub.Subscribe(notify.Agent(quiet.ID))
	defer cancel()
	toldLate, cancelLate := h.Hub.Subscribe(notify.Workspace(late.WorkspaceID))
	defer cancelLate()
	drain(told)
	drain(toldLate)
	since := clock.now()
	clock.pass(codersdk.AgentInactiveTimeout + time.Second)
	must(t, p.Sweep(ctx, since, clock.now()))
	wait(t, told)
	v, err := p.View(ctx, h.Owner, quiet.ID)
	must(t, err)
	if v.Status != codersdk.WorkspaceAgentStatusDisconnected || v.DisconnectedAt == nil {
		t.Errorf("a silent agent is %s", v.Status)
	}
	since = clock.now()
	clock.pass(2 * time.Minute)
	must(t, p.Sweep(ctx, since, clock.now()))
	wait(t, toldLate)
	v, err = p.View(ctx, h.Owner, late.ID)
	must(t, err)
	if v.Status != codersdk.WorkspaceAgentStatusTimeout || v.Health.Healthy {
		t.Errorf("an agent that never came is %s, %+v", v.Status, v.Health)
	}
}

func drain(c <-chan struct{}) {
	for {
		select {
		case <-c:
		case <-time.After(200 * time.Millisecond):
			return
		}
	}
}

func wait(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(testwait.Limit):
		t.Fatal("no hint came")
	}
}

func TestLifecycle(t *testing.T) {
	h, clock := open(t)
	ctx, p := t.Context(), h.Presence
	a := h.Workspace("ws")
	c := connect(t, h, a.Token)
	set := func(s codersdk.WorkspaceAgentLifecycle) error { return p.SetLifecycle(ctx, c.Agent, s, clock.now()) }
	want(t, set("created"), codersdk.CodeInvalid)
	want(t, set("nonsense"), codersdk.CodeInvalid)
	want(t, set(codersdk.WorkspaceAgentLifecycleReady), codersdk.CodeConflict)
	for _, s := range []codersdk.WorkspaceAgentLifecycle{"starting", "starting", "ready", "shutting_down", "off", "starting", "start_timeout", "start_error", "starting", "shutting_down", "shutdown_error"} {
		if err := set(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	want(t, set(codersdk.WorkspaceAgentLifecycleReady), codersdk.CodeConflict)
	must(t, set("starting"))
	clock.pass(time.Minute)
	must(t, p.SetLifecycle(ctx, c.Agent, "ready", clock.now().Add(time.Hour))) // its clock is wrong
	v, err := p.View(ctx, h.Owner, a.ID)
	must(t, err)
	if v.ReadyAt == nil || v.ReadyAt.After(clock.now()) || v.ReadyAt.Sub(*v.StartedAt) < time.Minute-time.Second {
		t.Errorf("started %v, ready %v", v.StartedAt, v.ReadyAt)
	}
}

func TestLogs(t *testing.T) {
	h, _ := open(t)
	ctx, p := t.Context(), h.Presence
	a := h.Workspace("ws")
	agent := connect(t, h, a.Token).Agent
	src := uuid.New()
	_, err := p.PutLogSource(ctx, agent, uuid.Nil, "x", "")
	want(t, err, codersdk.CodeInvalid)
	_, err = p.PutLogSource(ctx, agent, src, " ", "")
	want(t, err, codersdk.CodeInvalid)
	named, err := p.PutLogSource(ctx, agent, src, "Build", "/icon.svg")
	must(t, err)
	if named.ID != src || named.WorkspaceAgentID != a.ID {
		t.Errorf("%+v", named)
	}
	full, err := p.AppendLogs(ctx, agent, presence.LogBatch{Source: src, Lines: []presence.LogLine{
		{Level: "info", Output: "one"}, {Level: "nonsense", Output: "two\x00\xff"}, {Level: "error", Output: strings.Repeat("x", presence.LogLimit/2)},
	}})
	if err != nil || full {
		t.Fatalf("%t, %v", full, err)
	}
	lines, err := p.Logs(ctx, h.Owner, a.ID, 0, 0)
	must(t, err)
	if len(lines) != 3 || lines[1].Output != "two\uFFFD" || lines[1].Level != "info" || lines[2].Level != "error" || lines[0].SourceID != src {
		t.Errorf("%.200v", lines)
	}
	part, err := p.Logs(ctx, h.Owner, a.ID, lines[0].ID, lines[2].ID)
	if err != nil || len(part) != 1 || part[0].ID != lines[1].ID {
		t.Errorf("between: %v, %v", part, err)
	}
	full, err = p.AppendLogs(ctx, agent, presence.LogBatch{Source: src, Lines: []presence.LogLine{{Output: "fits"}, {Output: strings.Repeat("x", presence.LogLimit)}, {Output: "after"}}})
	if err != nil || !full {
		t.Errorf("%t, %v", full, err)
	}
	full, err = p.AppendLogs(ctx, agent, presence.LogBatch{Source: src, Lines: []presence.LogLine{{Output: "late"}}})
	if err != nil || !full {
		t.Errorf("%t, %v", full, err)
	}
	lines, err = p.Logs(ctx, h.Owner, a.ID, 0, 0)
	if err != nil || len(lines) != 4 || lines[3].Output != "fits" {
		t.Errorf("%d lines, %v", len(lines), err)
	}
	_, err = p.AppendLogs(ctx, agent, presence.LogBatch{Source: src, Lines: make([]presence.LogLine, 10_001)})
	want(t, err, codersdk.CodeTooLarge)
}

// TestLogsAreStoredOnce sends lines again, as an agent does that did not receive an answer.
func TestLogsAreStoredOnce(t *testing.T) {
	h, _ := open(t)
	a := h.Workspace("ws")
	agent := connect(t, h, a.Token).Agent
	run, next := uuid.New(), uuid.New()
	for _, step := range []struct {
		sequence uuid.UUID
		first    int64
		lines    string
		stored   string // the whole log
	}{
		{run, 0, "a b", "a b"},
		{run, 0, "a b", "a b"},
		{run, 0, "a b c", "a b c"},
		{run, 1, "b", "a b c"}, // late
		{uuid.Nil, 0, "x", "a b c x"},
		{uuid.Nil, 0, "x", "a b c x x"},
		{run, 2, "c d", "a b c x x d"},
		{run, 6, "g", "a b c x x d g"}, // a server of another version stored the lines between
		{next, 0, "a", "a b c x x d g a"},
		{next, 1, "b", "a b c x x d g a b"},
	} {
		b := presence.LogBatch{Source: uuid.New(), Sequence: step.sequence, First: step.first}
		for l := range strings.FieldsSeq(step.lines) {
			b.Lines = append(b.Lines, presence.LogLine{Output: l})
		}
		_, err := h.Presence.AppendLogs(t.Context(), agent, b)
		must(t, err)
		lines, err := h.Presence.Logs(t.Context(), h.Owner, a.ID, 0, 0)
		must(t, err)
		var stored []string
		for _, l := range lines {
			stored = append(stored, l.Output)
		}
		if got := strings.Join(stored, " "); got != step.stored {
			t.Errorf("after %q from %d: the log is %q, want %q", step.lines, step.first, got, step.stored)
		}
	}
}

func TestFollowLogs(t *testing.T) {
	h, _ := open(t)
	p := h.Presence
	a := h.Workspace("ws")
	agent := connect(t, h, a.Token).Agent
	say := func(text string) {
		t.Helper()
		_, err := p.AppendLogs(t.Context(), agent, presence.LogBatch{Source: uuid.New(), Lines: []presence.LogLine{{Output: text}}})
		must(t, err)
	}
	say("before")
	heard, ended := make(chan string, 10), make(chan error, 1)
	go func() {
		ended <- p.FollowLogs(t.Context(), h.Owner, a.ID, 0, func(lines []codersdk.WorkspaceAgentLog) error {
			for _, l := range lines {
				heard <- l.Output
			}
			return nil
		})
	}()
	for _, text := range []string{"before", "now", "then"} {
		if text != "before" {
			say(text)
		}
		select {
		case got := <-heard:
			if got != text {
				t.Errorf("heard %q, want %q", got, text)
			}
		case <-time.After(testwait.Limit):
			t.Fatalf("%q was not heard", text)
		}
	}
	must(t, p.SetLifecycle(t.Context(), agent, codersdk.WorkspaceAgentLifecycleOff, time.Now()))
	select {
	case err := <-ended:
		must(t, err)
	case <-time.After(testwait.Limit):
		t.Fatal("it does not end with the agent")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stop := errors.New("enough")
	if err := p.FollowLogs(t.Context(), h.Owner, a.ID, 0, func([]codersdk.WorkspaceAgentLog) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	if err := p.FollowLogs(ctx, h.Owner, a.ID, 0, nil); err == nil {
		t.Error("it goes on without its context")
	}
}

func TestReports(t *testing.T) {
	h, clock := open(t)
	ctx, p := t.Context(), h.Presence
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		p.Metadata = []*provisioner.Agent_Metadata{{Key: "cpu", Script: "x", Interval: 1}, {Key: "disk", Script: "y", Interval: 60}}
		p.Scripts = []*provisioner.Script{{DisplayName: "Start", Script: "true", RunOnStart: true}}
		p.Apps = []*provisioner.App{
			{Slug: "code", Url: "http://localhost:1", Healthcheck: &provisioner.Healthcheck{Url: "http://localhost:1", Interval: 1, Threshold: 1}},
			{Slug: "plain", Url: "http://localhost:2"},
		}
	})
	agent := connect(t, h, a.Token).Agent
	must(t, p.PutMetadata(ctx, agent, []presence.MetadataValue{
		{Key: "cpu", Value: "1%"}, {Key: "cpu", Value: strings.Repeat("é", 2000), Error: "bad\x00"}, {Key: "unknown", Value: "x"},
	}))
	clock.pass(5 * time.Second)
	all, err := p.Metadata(ctx, h.Owner, a.ID)
	must(t, err)
	if len(all) != 2 || len(all[0].Result.Value) != 2048 || all[0].Result.Error != "bad" || all[0].Result.Age != 5 || !all[1].Result.CollectedAt.IsZero() {
		t.Errorf("%.300v", all)
	}
	v, err := p.View(ctx, h.Owner, a.ID)
	must(t, err)
	ids := map[string]uuid.UUID{}
	for _, app := range v.Apps {
		ids[app.Slug] = app.ID
	}
	must(t, p.SetAppHealth(ctx, agent, map[uuid.UUID]codersdk.WorkspaceAppHealth{ids["code"]: "healthy", ids["plain"]: "healthy", uuid.New(): "healthy"}))
	want(t, p.SetAppHealth(ctx, agent, map[uuid.UUID]codersdk.WorkspaceAppHealth{ids["code"]: "splendid"}), codersdk.CodeInvalid)
	v, err = p.View(ctx, h.Owner, a.ID)
	must(t, err)
	i := slices.IndexFunc(v.Apps, func(app codersdk.WorkspaceApp) bool { return app.Slug == "code" })
	if v.Apps[i].Health != "healthy" || v.Apps[1-i].Health != "disabled" {
		t.Errorf("%+v", v.Apps)
	}
	timing := presence.ScriptTiming{ScriptID: v.Scripts[0].ID, StartedAt: clock.now(), EndedAt: clock.now(), Stage: "start", Status: "ok"}
	must(t, p.AddScriptTiming(ctx, agent, timing))
	must(t, p.AddScriptTiming(ctx, agent, timing)) // the agent did not receive the answer
	if timings, err := h.Store.BuildScriptTimings(ctx, agent.JobID); err != nil || len(timings) != 1 {
		t.Errorf("%d timings of one run, %v", len(timings), err)
	}
	timing.Status, timing.StartedAt = "splendid", timing.StartedAt.Add(-time.Second)
	want(t, p.AddScriptTiming(ctx, agent, timing), codersdk.CodeInvalid)
	timing.ScriptID = uuid.New()
	want(t, p.AddScriptTiming(ctx, agent, timing), codersdk.CodeInvalid)
	_, err = p.PutStats(ctx, agent, presence.Stats{SSH: 1})
	must(t, err)
	must(t, p.Beat(ctx))
	w, err := h.Store.WorkspaceByID(ctx, a.WorkspaceID)
	must(t, err)
	if time.Since(w.LastUsedAt) > time.Hour {
		t.Errorf("last used %v", w.LastUsedAt)
	}
}

func TestWatchMetadata(t *testing.T) {
	h, _ := open(t)
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		p.Metadata = []*provisioner.Agent_Metadata{{Key: "cpu", Script: "x", Interval: 1}}
	})
	agent := connect(t, h, a.Token).Agent
	seen := make(chan string, 10)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- h.Presence.WatchMetadata(ctx, h.Owner, a.ID, func(all []codersdk.WorkspaceAgentMetadata) error {
			seen <- all[0].Result.Value
			return nil
		})
	}()
	for _, value := range []string{"", "1", "2"} {
		if value != "" {
			must(t, h.Presence.PutMetadata(t.Context(), agent, []presence.MetadataValue{{Key: "cpu", Value: value}}))
		}
		select {
		case got := <-seen:
			if got != value {
				t.Errorf("saw %q, want %q", got, value)
			}
		case <-time.After(testwait.Limit):
			t.Fatalf("%q was not seen", value)
		}
	}
	cancel()
	<-ended
}

// The host key is the same for an agent of that name in the workspace, and
// for no other.
func TestHostKey(t *testing.T) {
	h, _ := open(t)
	a := h.Workspace("ws")
	b := h.Build(a.WorkspaceID, 2, "start", "succeeded")
	other := h.Workspace("other")
	seed := func(x agenttest.Agent) string {
		row, err := h.Presence.AgentForUser(t.Context(), h.Owner, x.ID, codersdk.RBACActionRead)
		must(t, err)
		return string(h.Presence.HostKeySeed(row))
	}
	if seed(a) != seed(b) || seed(a) == seed(other) || len(seed(a)) != 32 {
		t.Error("host keys are not what they should be")
	}
}
