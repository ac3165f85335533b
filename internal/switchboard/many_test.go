package switchboard_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/seed-2a7f8fe7/coder/internal/switchboard"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// inUse returns the memory of this process.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// TestManyTunnels opens many tunnels to one agent: each carries and costs little.
func TestManyTunnels(t *testing.T) {
	manyTunnels(t, 100)
}

// manyTunnels opens tunnels to one agent and returns a function that sends a
// number through each and wants it back.
func manyTunnels(t *testing.T, tunnels int) (*world, func() error) {
	w := newWorld(t)
	w.listen()
	before := inUse()
	conns := make([]*tunnel.Conn, tunnels)
	streams := make([]*tunnel.Stream, tunnels)
	t.Cleanup(func() {
		var g errgroup.Group
		g.SetLimit(32)
		for _, c := range conns {
			if c != nil {
				g.Go(c.Close)
			}
		}
		ok(t, g.Wait())
	})
	carries := func() error {
		var g errgroup.Group
		g.SetLimit(64)
		for i, s := range streams {
			g.Go(func() error {
				text := fmt.Sprintf("%08d", i)
				if _, err := io.WriteString(s, text); err != nil {
					return err
				}
				b := make([]byte, len(text))
				if _, err := io.ReadFull(s, b); err != nil || string(b) != text {
					return fmt.Errorf("tunnel %d gave %q, %w", i, b, err)
				}
				return nil
			})
		}
		return g.Wait()
	}
	var g errgroup.Group
	g.SetLimit(16)
	for i := range conns {
		c := w.config(w.grant(tunnel.KindSSH))
		g.Go(func() (err error) {
			if conns[i], err = tunnel.Dial(t.Context(), c); err != nil {
				return err
			}
			streams[i], err = conns[i].Open(t.Context(), tunnel.KindSSH, "")
			return err
		})
	}
	ok(t, g.Wait())
	ok(t, carries())
	per := (inUse() - before) / uint64(tunnels)
	t.Logf("a tunnel with a stream takes %d KiB: both ends, the relay, and their WebSockets", per>>10)
	if per > 512<<10 {
		t.Error("that is too much")
	}
	return w, carries
}

// FuzzRelay has a client, and an agent of somebody else's, say whatever they like:
// the board goes on, and the packets of others arrive.
func FuzzRelay(f *testing.F) {
	session := sessionText("31")
	f.Add("attach "+session+" "+instance, []byte("1111111111111111\x00\x02ab"), true)
	f.Add("serve "+instance, []byte("1111111111111111\x00\x02ab"), false)
	f.Add("attach 00", []byte{}, true)
	f.Add("", []byte("serve"), false)
	f.Fuzz(func(t *testing.T, hello string, said []byte, client bool) {
		if len(hello) > relay.MaxMessage || len(said) > relay.MaxMessage {
			return
		}
		b := switchboard.New(switchboard.Config{})
		id := uuid.New()
		agent := attach(t, b.AgentLink, id, "serve "+instance)
		for !b.Holds(id) {
			runtime.Gosched()
		}
		other := attach(t, b.ClientLink, id, "attach "+sessionText("77")+" "+instance)
		hears(t, other, "online")
		hears(t, agent, "attached "+sessionText("77"))

		serve, where := b.ClientLink, id
		if !client {
			serve, where = b.AgentLink, uuid.New() // its token lets it be that agent only
		}
		mine, theirs := relay.LinkPipe()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = serve(context.Background(), where, theirs)
		}()
		_ = mine.Send(true, []byte(hello))
		_ = mine.Send(false, said)
		_ = mine.Send(true, said)
		mine.Close(0, "")
		<-ended

		packets := "wwwwwwwwwwwwwwww\x00\x05hello"
		ok(t, other.Send(false, []byte(packets)))
		for late := time.After(testwait.Limit); ; {
			select {
			case <-late:
				t.Fatal("what another client sends does not arrive")
			default:
			}
			m, err := agent.Receive()
			ok(t, err)
			got := string(m.Data)
			m.Release()
			if got == packets {
				break
			}
		}
		ok(t, b.Stop(t.Context()))
	})
}
