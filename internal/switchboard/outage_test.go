package switchboard_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/switchboard"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// TestCuts breaks links while much is under way, both ways: every byte
// arrives once and in order.
func TestCuts(t *testing.T) {
	w := newWorld(t)
	w.listen()
	c := w.dial(tunnel.KindSSH)
	s, err := c.Open(t.Context(), tunnel.KindSSH, "")
	ok(t, err)
	sent, got := sha256.New(), sha256.New()
	const chunk, chunks = 256 << 10, 120
	progress := make(chan struct{}, 1)
	go func() {
		b := make([]byte, chunk)
		for range chunks {
			_, _ = rand.Read(b)
			sent.Write(b)
			if _, err := s.Write(b); err != nil {
				t.Error(err)
				return
			}
			select {
			case progress <- struct{}{}:
			default:
			}
		}
		_ = s.CloseWrite()
	}()
	done := make(chan struct{})
	var cutter sync.WaitGroup
	cuts := 0
	cutter.Go(func() {
		ends := []string{"client", "agent", ""}
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-progress: // something moves again
			}
			if n%12 == 11 {
				w.cut(ends[cuts%len(ends)])
				cuts++
			}
		}
	})
	start := time.Now()
	n, err := io.Copy(got, s)
	close(done)
	cutter.Wait()
	ok(t, err)
	if n != chunk*chunks || !bytes.Equal(sent.Sum(nil), got.Sum(nil)) {
		t.Fatalf("got %d bytes of %d, or others", n, chunk*chunks)
	}
	if cuts < 3 {
		t.Fatalf("only %d cuts", cuts)
	}
	t.Logf("%d MB each way with %d cuts in %v", n>>20, cuts, time.Since(start))
}

// TestServerRestart moves a tunnel to another board, which knows nothing.
func TestServerRestart(t *testing.T) {
	w := newWorld(t)
	w.listen()
	c := w.dial(tunnel.KindSSH)
	s, err := c.Open(t.Context(), tunnel.KindSSH, "")
	ok(t, err)
	talk(t, s, "before")
	old := w.board
	w.setBoard(switchboard.New(switchboard.Config{Authority: w.authority}))
	ok(t, old.Stop(t.Context()))
	start := time.Now()
	talk(t, s, "after")
	t.Logf("the tunnel went on %v after the stop", time.Since(start))
}

// talk sends a line and wants it back.
func talk(t testing.TB, s *tunnel.Stream, text string) {
	t.Helper()
	_, err := s.Write([]byte(text))
	ok(t, err)
	b := make([]byte, len(text))
	ok(t, s.SetReadDeadline(time.Now().Add(testwait.Limit)))
	_, err = io.ReadFull(s, b)
	ok(t, err)
	ok(t, s.SetReadDeadline(time.Time{}))
	if string(b) != text {
		t.Fatalf("got %q for %q", b, text)
	}
}

// TestOfflineAgent dials before the agent is there.
func TestOfflineAgent(t *testing.T) {
	w := newWorld(t)
	short, cancel := context.WithCancel(t.Context())
	defer cancel()
	impatient := w.config(w.grant(tunnel.KindSSH))
	impatient.Waiting = cancel
	_, err := tunnel.Dial(short, impatient)
	if !codersdk.Is(err, codersdk.CodeUnavailable) || !strings.Contains(err.Error(), "not connected") {
		t.Fatalf("got %v", err)
	}
	config := w.config(w.grant(tunnel.KindSSH))
	waiting := make(chan struct{}, 1)
	config.Waiting = func() { waiting <- struct{}{} }
	go func() {
		<-waiting
		w.listen()
	}()
	c, err := tunnel.Dial(t.Context(), config)
	ok(t, err)
	ok(t, c.Close())
}

// TestAgentRestart wants a clear end when the agent was killed and another is
// in its place. The killed one must not dial again: two that live fight for their
// place until the server tells the former that it was displaced.
func TestAgentRestart(t *testing.T) {
	w := newWorld(t)
	var killed atomic.Bool
	w.listen(func(c *tunnel.ListenConfig) {
		dial := c.Relay
		c.Relay = func(ctx context.Context) (relay.Link, error) {
			if killed.Load() {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return dial(ctx)
		}
	})
	c := w.dial(tunnel.KindSSH)
	id, err := tunnel.NewIdentity()
	ok(t, err)
	killed.Store(true)
	w.cut("agent")
	w.listen(func(c *tunnel.ListenConfig) { c.Identity = id })
	select {
	case <-c.Done():
	case <-time.After(2 * time.Minute): // far more than it takes, on a busy machine too
		t.Fatal("the tunnel still lives")
	}
	if err := c.Err(); !codersdk.Is(err, codersdk.CodeUnavailable) || !strings.Contains(err.Error(), "restarted") {
		t.Fatalf("got %v", err)
	}
	_, err = tunnel.Dial(t.Context(), w.config(w.grant(tunnel.KindSSH)))
	if !codersdk.Is(err, codersdk.CodeUnavailable) || !strings.Contains(err.Error(), "restarted") {
		t.Fatalf("dial with the old certificate: got %v", err)
	}
}

// TestAgentStop sends clients the reason.
func TestAgentStop(t *testing.T) {
	w := newWorld(t)
	l, err := tunnel.Listen(tunnel.ListenConfig{
		Identity: w.identity, AgentID: w.agentID, ClientCA: w.authority.Certificate(), Relay: w.relay("agent"), Handle: echo,
	})
	ok(t, err)
	ok(t, l.Start(t.Context()))
	c := w.dial(tunnel.KindSSH)
	s, err := c.Open(t.Context(), tunnel.KindSSH, "")
	ok(t, err)
	ok(t, l.Stop(t.Context()))
	_, err = s.Read(make([]byte, 1))
	if !codersdk.Is(err, codersdk.CodeUnavailable) || !strings.Contains(err.Error(), "stopping") {
		t.Fatalf("got %v", err)
	}
}

// TestStreams runs many streams at once, each with its own bytes.
func TestStreams(t *testing.T) {
	w := newWorld(t)
	w.listen()
	c := w.dial(tunnel.KindSSH)
	var wait sync.WaitGroup
	for i := range 100 {
		wait.Go(func() {
			s, err := c.Open(t.Context(), tunnel.KindSSH, "")
			if err != nil {
				t.Error(err)
				return
			}
			var want bytes.Buffer
			for n := range uint64(4000) {
				want.Write(binary.BigEndian.AppendUint64(nil, n*100+uint64(i)))
			}
			go func() {
				_, _ = s.Write(want.Bytes())
				_ = s.CloseWrite()
			}()
			got, err := io.ReadAll(s)
			if err != nil || !bytes.Equal(got, want.Bytes()) {
				t.Errorf("stream %d: %d bytes of %d, %v", i, len(got), want.Len(), err)
			}
		})
	}
	wait.Wait()
}

// TestServerDials opens a tunnel from the board itself.
func TestServerDials(t *testing.T) {
	w := newWorld(t)
	l := w.listen()
	c, err := w.board.DialAgent(t.Context(), w.grant(tunnel.KindTCP), w.identity.Certificate())
	ok(t, err)
	defer c.Close()
	s, err := c.Open(t.Context(), tunnel.KindTCP, "localhost:8080")
	ok(t, err)
	talk(t, s, "in memory")
	w.cut("agent")
	talk(t, s, "after a cut")
	if got := l.Stats(); got.Tunnels != 1 || got.RxBytes == 0 || got.MedianRTT == 0 {
		t.Fatalf("stats: %+v", got)
	}
}
