package tunnel

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// laptop is a client machine that is closed, and opened again in another network.
type laptop struct {
	mu     sync.Mutex
	closed bool
	addr   netip.Addr
	link   relay.Link
	sock   *memSocket
}

// prepare makes a laptop of the client of a new tunnel.
func (j *laptop) prepare(client *DialConfig) {
	j.sock = client.Direct.sock.(*memSocket)
	j.addr = j.sock.addr.Addr()
	client.Direct.local = func() []netip.Addr {
		j.mu.Lock()
		defer j.mu.Unlock()
		return []netip.Addr{j.addr}
	}
	dial := client.Relay
	client.Relay = func(ctx context.Context) (relay.Link, error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.closed {
			return nil, errors.New("no network")
		}
		l, err := dial(ctx)
		j.link = l
		return l, err
	}
}

// sleep closes the laptop for a duration, and opens it at another address.
func (j *laptop) sleep(n *memNetwork, c *Conn, d time.Duration, addr string) {
	j.mu.Lock()
	j.closed = true
	j.link.Close(0, "")
	j.mu.Unlock()
	n.setLoss(func(netip.AddrPort, int) bool { return true })
	time.Sleep(d)
	n.mu.Lock()
	delete(n.socks, j.sock.addr)
	j.sock.addr = netip.MustParseAddrPort(addr)
	n.socks[j.sock.addr] = j.sock
	n.mu.Unlock()
	n.setLoss(nil)
	j.mu.Lock()
	j.closed, j.addr = false, j.sock.addr.Addr()
	j.mu.Unlock()
	c.Wake()
}

// TestDirectSleepsADay closes the laptop of a direct tunnel for eight hours, then for one, and
// opens it each time with another address. Data that either end wrote meanwhile must arrive
// once. Typed input must flow within two seconds, and the tunnel must become direct again.
func TestDirectSleepsADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j laptop
		n, c := newTunnel(t, func(agent *ListenConfig, client *DialConfig) {
			j.prepare(client)
			agent.Handle = func(ctx context.Context, r *Request) {
				s, err := r.Accept()
				if err != nil {
					return
				}
				go func() { // output in the middle of the sleep
					for {
						select {
						case <-ctx.Done():
							return
						case <-time.After(29 * time.Minute):
							_, _ = s.Write([]byte("!"))
						}
					}
				}()
				_, _ = io.Copy(s, s)
			}
		})
		waitDirect(t, c, 2*time.Second)
		s, err := c.Open(t.Context(), KindSSH, "")
		must(t, err)
		read := func(n int) string {
			b := make([]byte, n)
			_, err := io.ReadFull(s, b)
			must(t, err)
			return string(b)
		}
		for _, sleep := range []struct {
			length time.Duration
			addr   string
			output int // bytes that the session prints meanwhile
		}{{8*time.Hour + time.Minute, "10.9.9.9:1111", 16}, {time.Hour, "10.8.8.8:1111", 2}} {
			go func() {
				time.Sleep(10 * time.Minute)
				_, _ = s.Write([]byte("in the sleep"))
			}()
			j.sleep(n, c, sleep.length, sleep.addr)
			back := time.Now()
			_, err = s.Write([]byte("."))
			must(t, err)
			var output, typed int
			for _, b := range read(sleep.output + len("in the sleep.")) {
				if b == '!' {
					output++
				} else {
					typed++
				}
			}
			if took := time.Since(back); took > 2*time.Second || output != sleep.output || typed != len("in the sleep.") {
				t.Errorf("%v: %d bytes of output and %d typed bytes arrived, %v after the wake-up", sleep.length, output, typed, took)
			}
			waitDirect(t, c, 10*time.Second)
		}
	})
}

// TestSilentAgentIsLeft has an agent that is connected but no longer knows the session. The
// tunnel must end, which no other timeout would cause. An outage of any length must not end
// it.
func TestSilentAgentIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j laptop
		var lost sync.Mutex
		forgets := false
		n, c := newTunnel(t, func(_ *ListenConfig, client *DialConfig) {
			j.prepare(client)
			dial := client.Relay
			client.Relay = func(ctx context.Context) (relay.Link, error) {
				l, err := dial(ctx)
				lost.Lock()
				defer lost.Unlock()
				if err == nil && forgets {
					l = muteLink{l}
				}
				return l, err
			}
		})
		_, err := c.Ping(t.Context()) // completes the agent's handshake
		must(t, err)
		j.sleep(n, c, time.Hour, clientAddr)
		_, err = c.Ping(t.Context())
		must(t, err)
		lost.Lock()
		forgets = true
		lost.Unlock()
		j.mu.Lock()
		j.link.Close(0, "")
		j.mu.Unlock()
		n.setLoss(func(netip.AddrPort, int) bool { return true })
		time.Sleep(silenceLimit - time.Minute)
		if c.Err() != nil {
			t.Errorf("the tunnel ended too soon: %v", c.Err())
		}
		time.Sleep(3 * time.Minute)
		if c.Err() == nil {
			t.Error("the tunnel survived the loss of its session")
		}
	})
}

// muteLink drops all packets to and from the agent.
type muteLink struct{ relay.Link }

func (l muteLink) Send(text bool, b []byte) error {
	if text {
		return l.Link.Send(text, b)
	}
	return nil
}

func (l muteLink) Receive() (*relay.Message, error) {
	for {
		m, err := l.Link.Receive()
		if err != nil || m.Text {
			return m, err
		}
		m.Release()
	}
}
