package agent_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// BenchmarkEcho is the way of one byte and back: over plain TCP, over a pseudo
// terminal, through the tunnel to a port, and through it to a terminal.
func BenchmarkEcho(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go io.Copy(c, c) //nolint:errcheck // it ends with the connection
		}
	}()
	turn := func(b *testing.B, c io.ReadWriter, send []byte) {
		b.Helper()
		one := make([]byte, 1)
		for b.Loop() {
			if _, err := c.Write(send); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(c, one); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("tcp", func(b *testing.B) {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		turn(b, c, []byte("x"))
	})
	b.Run("terminal", func(b *testing.B) {
		p, tty, err := pty.Open()
		if err != nil {
			b.Fatal(err)
		}
		defer p.Close()
		defer tty.Close()
		turn(b, p, []byte("x"))
	})
	h := agenttest.New(b)
	u, _ := h.Serve("")
	w := h.Workspace("ws")
	a, err := agent.New(agent.Config{URL: u, Token: w.Token, LogDir: b.TempDir(), Log: slog.New(slog.DiscardHandler), Env: os.Environ()})
	if err != nil {
		b.Fatal(err)
	}
	if err := a.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	defer a.Stop(b.Context()) //nolint:errcheck // it ends with the test
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		v, err := h.Presence.View(b.Context(), h.Owner, w.ID)
		if err != nil {
			b.Fatal(err)
		}
		if v.LifecycleState == codersdk.WorkspaceAgentLifecycleReady {
			break
		}
		<-tick.C
	}
	row, err := h.Presence.AgentForUser(b.Context(), h.Owner, w.ID, codersdk.RBACActionSSH)
	if err != nil {
		b.Fatal(err)
	}
	conn, err := h.Board.DialAgent(b.Context(), tunnel.Grant{
		UserID: h.Owner.UserID, WorkspaceID: w.WorkspaceID, AgentID: w.ID, Actions: []string{tunnel.KindPTY, tunnel.KindTCP},
	}, row.Certificate)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	b.Run("tunnel", func(b *testing.B) {
		s, err := conn.Open(b.Context(), tunnel.KindTCP, l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		turn(b, s, []byte("x"))
	})
	b.Run("web terminal", func(b *testing.B) {
		s, err := conn.Open(b.Context(), tunnel.KindPTY, fmt.Sprintf("%s 80x24 %s", uuid.New(), base64.RawURLEncoding.EncodeToString([]byte("stty -icanon; echo ready; exec cat >/dev/null"))))
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		ready := make([]byte, len("ready\r\n"))
		if _, err := io.ReadFull(s, ready); err != nil {
			b.Fatal(err)
		}
		turn(b, s, []byte(`{"data":"x"}`))
	})
}
