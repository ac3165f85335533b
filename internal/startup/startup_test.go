package startup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fails wants an error of a code whose text has a part.
func fails(t *testing.T, err error, code codersdk.Code, part string) {
	t.Helper()
	if codersdk.CodeOf(err) != code || !strings.Contains(err.Error(), part) {
		t.Errorf("got %v, want %s: %s", err, code, part)
	}
}

func TestUnits(t *testing.T) {
	ctx, now := t.Context(), func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 0)
		t.Cleanup(cancel)
		return ctx
	}
	u := NewUnits()
	must(t, u.Want("build", "clone", "tools", "clone"))
	must(t, u.Want("build", "tools"))
	fails(t, u.Start(now(), "build"), codersdk.CodeUnavailable, `"clone" (not registered), "tools" (not registered)`)
	fails(t, u.Complete("build"), codersdk.CodeConflict, "is pending")
	fails(t, u.Complete("clone"), codersdk.CodeConflict, "is not registered")
	must(t, u.Start(now(), "clone"))
	fails(t, u.Start(ctx, "clone"), codersdk.CodeConflict, "starts only once")
	fails(t, u.Want("clone", "tools"), codersdk.CodeConflict, "is already started")
	must(t, u.Complete("clone"))
	must(t, u.Complete("clone"))
	x, err := u.Get("build")
	must(t, err)
	if x.Status != StatusPending || x.IsReady || len(x.Dependencies) != 2 || !x.Dependencies[0].IsSatisfied || x.Dependencies[1].CurrentStatus != StatusNotRegistered {
		t.Errorf("%+v", x)
	}
	must(t, u.Start(ctx, "tools"))
	started := make(chan error)
	go func() { started <- u.Start(ctx, "build") }()
	must(t, u.Complete("tools"))
	must(t, <-started)
	if x, err = u.Get("build"); err != nil || x.Status != StatusStarted || !x.IsReady {
		t.Errorf("%+v %v", x, err)
	}
	if x, err = u.Get("nobody"); err != nil || x.Status != StatusNotRegistered || x.Dependencies == nil {
		t.Errorf("%+v %v", x, err)
	}
	ended, end := context.WithCancel(ctx)
	must(t, u.Want("later", "never"))
	end()
	if err := u.Start(ended, "later"); err != context.Canceled {
		t.Error(err)
	}
}

func TestNoUnitWaitsForItself(t *testing.T) {
	u := NewUnits()
	fails(t, u.Want("a", "a"), codersdk.CodeConflict, `"a" -> "a"`)
	must(t, u.Want("a", "b"))
	must(t, u.Want("b", "c"))
	fails(t, u.Want("c", "x", "a"), codersdk.CodeConflict, `"c" -> "a" -> "b" -> "c"`)
	if x, err := u.Get("c"); err != nil || x.Status != StatusNotRegistered || len(x.Dependencies) != 0 {
		t.Errorf("something is left of what was refused: %+v %v", x, err)
	}
}

// Whatever is wanted of what, everything can be done in the end.
func TestEverythingCanBeDone(t *testing.T) {
	for seed := range uint64(50) {
		r, u := rand.New(rand.NewPCG(seed, 0)), NewUnits()
		name := func() string { return string(rune('a' + r.IntN(12))) }
		for range 60 {
			if err := u.Want(name(), name(), name()); err != nil && !codersdk.Is(err, codersdk.CodeConflict) {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		var all sync.WaitGroup
		for c := 'a'; c < 'a'+12; c++ {
			all.Go(func() {
				if err := u.Start(ctx, string(c)); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
				if err := u.Complete(string(c)); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			})
		}
		all.Wait()
		cancel()
	}
}

func TestUnitsHaveBounds(t *testing.T) {
	u := NewUnits()
	for _, name := range []string{"", strings.Repeat("x", maxName+1), "a\nb", "\xff"} {
		for what, err := range map[string]error{"want": u.Want(name, "x"), "want of": u.Want("x", name), "start": u.Start(t.Context(), name), "complete": u.Complete(name)} {
			if !codersdk.Is(err, codersdk.CodeInvalid) {
				t.Errorf("%s %q: %v", what, name, err)
			}
		}
	}
	for i := range maxUnits {
		must(t, u.Start(t.Context(), fmt.Sprint(i)))
	}
	fails(t, u.Start(t.Context(), "more"), codersdk.CodeTooLarge, "1000 units")
	u = NewUnits()
	others := make([]string, maxWants)
	for i := range others {
		others[i] = fmt.Sprint(i)
	}
	must(t, u.Want("x", others...))
	fails(t, u.Want("y", "0"), codersdk.CodeTooLarge, "10000")
}

// socket is a place for one: paths of sockets are short.
func socket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "startup")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "agent.sock")
}

func TestSocket(t *testing.T) {
	path, id, ctx := socket(t), uuid.New(), t.Context()
	s, err := Serve(ctx, path, id, NewUnits(), nil)
	must(t, err)
	defer s.Close()
	if fi, err := os.Lstat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi.Mode(), err)
	}
	c := &Client{Path: path}
	if got, err := c.Ping(ctx); err != nil || got != id {
		t.Errorf("%s %v", got, err)
	}
	must(t, c.Want(ctx, "b", "a"))
	fails(t, c.Want(ctx, "a", "b"), codersdk.CodeConflict, `"a" -> "b" -> "a"`)
	fails(t, c.Start(ctx, "b", time.Millisecond), codersdk.CodeUnavailable, `waiting for "a" (not registered)`)
	fails(t, c.Start(ctx, "b", 0), codersdk.CodeUnavailable, `waiting for "a"`)
	started := make(chan error)
	go func() { started <- c.Start(ctx, "b", 48*time.Hour) }()
	must(t, c.Start(ctx, "a", 0))
	must(t, c.Complete(ctx, "a"))
	must(t, <-started)
	if u, err := c.Get(ctx, "b"); err != nil || u.Status != StatusStarted || len(u.Dependencies) != 1 || !u.Dependencies[0].IsSatisfied {
		t.Errorf("%+v %v", u, err)
	}
	fails(t, c.ask(ctx, "POST", "/want", []int{1}, nil), codersdk.CodeInvalid, "not valid JSON of a unit")
	if err := c.ask(ctx, "GET", "/other", nil, nil); err == nil || !strings.Contains(err.Error(), "404") {
		t.Error(err)
	}
}

// Who waits goes when it has lost patience, and its unit is not started.
func TestWaitersMayLeave(t *testing.T) {
	path := socket(t)
	s, err := Serve(t.Context(), path, uuid.New(), NewUnits(), nil)
	must(t, err)
	c := &Client{Path: path}
	must(t, c.Want(t.Context(), "b", "a"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Start(ctx, "b", time.Hour); err != context.DeadlineExceeded {
		t.Error(err)
	}
	ended := make(chan error)
	go func() { ended <- c.Start(t.Context(), "b", time.Hour) }()
	for u := (Unit{}); u.Status != StatusPending; { // b has been there since want
		u, err = c.Get(t.Context(), "b")
		must(t, err)
	}
	s.Close() // with the agent
	fails(t, <-ended, codersdk.CodeUnavailable, "CODER_AGENT_SOCKET_SERVER_ENABLED")
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

func TestWhoseSocket(t *testing.T) {
	path, id, ctx := socket(t), uuid.New(), t.Context()
	// A dead process has left one.
	ln, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	must(t, err)
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	ln.Close()
	first, err := Serve(ctx, path, id, NewUnits(), nil)
	must(t, err)
	if _, err := Serve(ctx, path, uuid.New(), NewUnits(), nil); !codersdk.Is(err, codersdk.CodeConflict) {
		t.Errorf("of another agent: %v", err)
	}
	second, err := Serve(ctx, path, id, NewUnits(), nil) // the same agent, started again
	must(t, err)
	first.Close()
	if _, err := (&Client{Path: path}).Ping(ctx); err != nil {
		t.Errorf("the former took the socket of the latter with it: %v", err)
	}
	second.Close()
	if _, err := Serve(ctx, path+strings.Repeat("x", 100), id, NewUnits(), nil); !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Errorf("a long path: %v", err)
	}
	if _, err := Serve(ctx, filepath.Join(path, "no", "directory"), id, NewUnits(), nil); err == nil {
		t.Error("served nowhere")
	}
}

// Sockets of killed processes are removed, and nothing else is.
func TestRemoveStale(t *testing.T) {
	dir := filepath.Dir(socket(t))
	listen := func(name string) net.Listener {
		t.Helper()
		l, err := net.Listen("unix", filepath.Join(dir, name))
		must(t, err)
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		return l
	}
	defer listen("agent-live.sock").Close()
	must(t, listen("agent-dead.sock").Close())
	must(t, listen("other-dead.sock").Close())
	must(t, os.WriteFile(filepath.Join(dir, "agent-file.sock"), nil, 0o600))
	if got, want := RemoveStale(dir, "agent-????.sock"), filepath.Join(dir, "agent-dead.sock"); len(got) != 1 || got[0] != want {
		t.Errorf("removed %q, want %q", got, want)
	}
	for _, name := range []string{"agent-live.sock", "other-dead.sock", "agent-file.sock"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
