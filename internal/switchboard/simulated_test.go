package switchboard_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/switchboard"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// simulated is a board, an agent and a client on links in memory, in a bubble
// of simulated time.
type simulated struct {
	board *switchboard.Board
	agent uuid.UUID
	down  map[string]bool // ends that cannot dial

	mu    sync.Mutex
	wrap  func(relay.Link) relay.Link // what else happens on links, or nil
	links map[string]relay.Link
	up    time.Time // when the last link was dialed
}

// relay returns an end's dialer.
func (w *simulated) relay(end string) relay.Dialer {
	return func(context.Context) (relay.Link, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.down[end] {
			return nil, errors.New("no network")
		}
		mine, theirs := relay.LinkPipe()
		w.links[end], w.up = mine, time.Now()
		serve := w.board.AgentLink
		if end == "client" {
			serve = w.board.ClientLink
		}
		go func() { _ = serve(context.Background(), w.agent, slowLink{theirs}) }()
		if w.wrap != nil {
			return w.wrap(slowLink{mine}), nil
		}
		return slowLink{mine}, nil
	}
}

// slowLink takes some time for each message.
type slowLink struct{ relay.Link }

func (l slowLink) Receive() (*relay.Message, error) {
	m, err := l.Link.Receive()
	time.Sleep(3 * time.Millisecond)
	return m, err
}

// set takes an end off the network, or brings it back.
func (w *simulated) set(end string, down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down[end] = down
	if l := w.links[end]; down && l != nil {
		l.Close(0, "")
	}
}

// restart replaces the board by one that knows nothing.
func (w *simulated) restart(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	old := w.board
	w.board = switchboard.New(switchboard.Config{})
	w.mu.Unlock()
	ok(t, old.Stop(context.Background()))
}

func startSimulated(t *testing.T, wrap func(relay.Link) relay.Link, change ...func(*tunnel.ListenConfig)) (*simulated, *tunnel.Conn) {
	// quic-go counts time from the start of the process, and takes no time for
	// "none": simulated time, which begins in 2000, must be later than it.
	time.Sleep(40 * 365 * 24 * time.Hour)
	authority, err := tunnel.NewAuthority(make([]byte, tunnel.SeedSize))
	ok(t, err)
	identity, err := tunnel.NewIdentity()
	ok(t, err)
	w := &simulated{
		board: switchboard.New(switchboard.Config{}), agent: uuid.New(), wrap: wrap,
		down: map[string]bool{}, links: map[string]relay.Link{},
	}
	config := tunnel.ListenConfig{
		Identity: identity, AgentID: w.agent, ClientCA: authority.Certificate(), Handle: echo, Relay: w.relay("agent"),
		Direct: tunnel.Direct{Disabled: "simulated"},
	}
	for _, f := range change {
		f(&config)
	}
	l, err := tunnel.Listen(config)
	ok(t, err)
	ok(t, l.Start(t.Context()))
	id, err := tunnel.NewIdentity()
	ok(t, err)
	certificate, err := authority.Issue(id.PublicKey(), tunnel.Grant{AgentID: w.agent, Actions: []string{tunnel.KindSSH}}, time.Now())
	ok(t, err)
	c, err := tunnel.Dial(t.Context(), tunnel.DialConfig{
		Identity: id, Certificate: certificate, AgentCertificate: identity.Certificate(), Relay: w.relay("client"),
		Direct: tunnel.Direct{Disabled: "simulated"},
	})
	ok(t, err)
	t.Cleanup(func() {
		_ = c.Close()
		ok(t, l.Stop(context.Background()))
		ok(t, w.board.Stop(context.Background()))
	})
	return w, c
}

// TestOutages takes the ends off the network for up to ten minutes, at random
// and in the middle of a transfer. The tunnel must go on as soon as the path
// is back, long before QUIC's own timers, and no byte may be lost or doubled.
func TestOutages(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			w, c := startSimulated(t, nil)
			s, err := c.Open(t.Context(), tunnel.KindSSH, "")
			ok(t, err)
			const chunk, chunks = 100_000, 12
			sent, got := sha256.New(), sha256.New()
			var wait sync.WaitGroup
			for n := range chunks {
				b := make([]byte, chunk)
				for i := range b {
					b[i] = byte(r.Uint32())
				}
				sent.Write(b)
				wait.Go(func() {
					if _, err := s.Write(b); err != nil {
						t.Errorf("chunk %d: %v", n, err)
					}
				})
				end := []string{"agent", "client"}[r.IntN(2)]
				time.Sleep(time.Duration(r.IntN(1000)) * time.Microsecond)
				w.set(end, true)
				time.Sleep(time.Duration(r.Int64N(int64(10 * time.Minute))))
				w.set(end, false)
				if _, err := io.CopyN(got, s, chunk); err != nil {
					t.Fatal(err)
				}
				wait.Wait()
				w.mu.Lock()
				took := time.Since(w.up)
				w.mu.Unlock()
				if took > 10*time.Second { // QUIC alone would probe once a minute
					t.Errorf("seed %d, chunk %d: all there only %v after the %s was back", seed, n, took, end)
				}
			}
			if string(sent.Sum(nil)) != string(got.Sum(nil)) {
				t.Error("other bytes came than went")
			}
		})
	}
}

// TestIdle keeps a silent tunnel for a day, and ends one whose path is gone for longer than
// the agent is configured to keep it.
func TestIdle(t *testing.T) {
	const limit = 20 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		w, c := startSimulated(t, nil, func(l *tunnel.ListenConfig) { l.Sleep.Time = limit })
		time.Sleep(24 * time.Hour)
		_, err := c.Ping(t.Context())
		ok(t, err)
		w.set("client", true)
		time.Sleep(limit + time.Minute)
		if err := c.Err(); !codersdk.Is(err, codersdk.CodeUnavailable) || !strings.Contains(err.Error(), "longer than this deployment keeps sessions") {
			t.Errorf("the tunnel without a path: %v", err)
		}
	})
}

// TestSessionsSleepADay closes the laptop for eight hours, in which the server restarts twice
// and both ends write. All of it arrives once and in order, and typing flows within two
// seconds of the return.
func TestSessionsSleepADay(t *testing.T) {
	const day, parts = 8 * time.Hour, 8
	for _, slow := range []bool{false, true} { // the server restarts before, or after the client's return
		synctest.Test(t, func(t *testing.T) {
			w, c := startSimulated(t, nil, func(l *tunnel.ListenConfig) {
				l.Handle = func(_ context.Context, r *tunnel.Request) {
					s, err := r.Accept()
					if err != nil {
						return
					}
					go func() { // output of the session, all day long
						for n := range parts {
							time.Sleep(day / parts)
							_, _ = s.Write([]byte{byte('A' + n)})
						}
					}()
					_, _ = io.Copy(s, s)
				}
			})
			s, err := c.Open(t.Context(), tunnel.KindSSH, "")
			ok(t, err)
			talk(t, s, "before")
			w.set("client", true)
			_, err = s.Write([]byte("typed into the sleep"))
			ok(t, err)
			time.Sleep(day / 3)
			w.restart(t)
			time.Sleep(day / 3)
			if !slow {
				w.restart(t)
			}
			time.Sleep(day/3 + time.Hour)
			w.set("client", false)
			c.Wake()
			back := time.Now()
			if slow {
				w.restart(t)
			}
			want := map[string]bool{}
			for n := range parts {
				want[string(rune('A'+n))] = true
			}
			_, err = s.Write([]byte("."))
			ok(t, err)
			var typed []byte
			for b := make([]byte, 1); len(typed) == 0 || typed[len(typed)-1] != '.'; {
				_, err := io.ReadFull(s, b)
				ok(t, err)
				if want[string(b)] {
					delete(want, string(b))
				} else {
					typed = append(typed, b[0])
				}
			}
			if took := time.Since(back); took > 2*time.Second {
				t.Errorf("typing flows %v after the return", took)
			}
			if string(typed) != "typed into the sleep." || len(want) != 0 {
				t.Errorf("got %q; missing %v", typed, want)
			}
		})
	}
}

// TestSleepersEndForMemory has sleeping tunnels exceed the limit: the client that returns is
// told so at once, also when the server restarted meanwhile. One that is only idle stays.
func TestSleepersEndForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c := startSimulated(t, nil, func(l *tunnel.ListenConfig) { l.Sleep.Memory = 1 })
		s, err := c.Open(t.Context(), tunnel.KindSSH, "")
		ok(t, err)
		talk(t, s, "before")
		time.Sleep(time.Hour)
		talk(t, s, "idle")
		w.set("client", true)
		time.Sleep(8 * time.Hour)
		if c.Err() != nil {
			t.Fatalf("the client cannot know yet: %v", c.Err())
		}
		w.restart(t)
		w.set("client", false)
		c.Wake()
		back := time.Now()
		<-c.Done()
		if took := time.Since(back); took > 2*time.Second {
			t.Errorf("told after %v", took)
		}
		if err := c.Err(); !codersdk.Is(err, codersdk.CodeUnavailable) || !strings.Contains(err.Error(), "memory limit") {
			t.Errorf("got %v", err)
		}
		if _, err := s.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "memory limit") {
			t.Errorf("the stream reports %v", err)
		}
	})
}

// hostileLink is a relay that loses, repeats, reorders, forges and keeps
// messages for later.
type hostileLink struct {
	relay.Link
	mu   *sync.Mutex
	r    *rand.Rand
	held [][]byte
}

func (l *hostileLink) Send(text bool, p []byte) error {
	if text {
		return l.Link.Send(text, p)
	}
	for _, q := range l.mangle(p) {
		if err := l.Link.Send(false, q); err != nil {
			return err
		}
	}
	return nil
}

// mangle returns what is sent instead of p.
func (l *hostileLink) mangle(p []byte) [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := [][]byte{p}
	switch n := l.r.IntN(100); {
	case n < 2: // lost
		out = nil
	case n < 6: // repeated
		out = append(out, p)
	case n < 10: // kept
		l.held, out = append(l.held, slices.Clone(p)), nil
	case n < 14 && len(l.held) > 0: // an old one first, which stays for a replay
		out = [][]byte{l.held[l.r.IntN(len(l.held))], p}
	case n < 17: // changed anywhere but in the session
		q := slices.Clone(p)
		q[16+l.r.IntN(len(q)-16)] ^= byte(1 + l.r.IntN(255))
		out = [][]byte{q}
	case n < 20: // rubbish for the same session
		q := slices.Clone(p)
		for i := range q[16:] {
			q[16+i] = byte(l.r.Uint32())
		}
		out = append(out, q)
	}
	return out
}

// TestHostileRelay shows that a relay which does its worst can slow a tunnel
// down and nothing else.
func TestHostileRelay(t *testing.T) {
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			var mu sync.Mutex
			_, c := startSimulated(t, func(l relay.Link) relay.Link { return &hostileLink{Link: l, mu: &mu, r: r} })
			s, err := c.Open(t.Context(), tunnel.KindSSH, "")
			ok(t, err)
			want := bytes.Repeat([]byte("0123456789abcdefghijklmnopqrstuvwxyz"), 20_000)
			go func() {
				_, _ = s.Write(want)
				_ = s.CloseWrite()
			}()
			got, err := io.ReadAll(s)
			ok(t, err)
			if !bytes.Equal(got, want) {
				t.Errorf("seed %d: other bytes came than went", seed)
			}
		})
	}
}

// TestTypingFlowsAgain types while one end is off the network, for up to ten
// minutes, and wants the echo within two seconds of its return.
func TestTypingFlowsAgain(t *testing.T) {
	for seed := range uint64(12) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			w, c := startSimulated(t, nil)
			s, err := c.Open(t.Context(), tunnel.KindSSH, "")
			ok(t, err)
			for n := range 10 {
				end := []string{"agent", "client"}[r.IntN(2)]
				w.set(end, true)
				time.Sleep(time.Duration(r.Int64N(int64(5 * time.Minute))))
				_, err := s.Write([]byte{byte(n)})
				ok(t, err)
				time.Sleep(time.Duration(r.Int64N(int64(5 * time.Minute))))
				w.set(end, false)
				back := time.Now()
				var b [1]byte
				_, err = io.ReadFull(s, b[:])
				ok(t, err)
				if took := time.Since(back); took > 2*time.Second || b[0] != byte(n) {
					t.Errorf("seed %d: %d came back as %d, %v after the %s", seed, n, b[0], took, end)
				}
			}
		})
	}
}
