package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// webTerminal is a terminal like that of the dashboard. It reconnects with the same
// token, sends the offset of the received output, and sends unacknowledged input again.
type webTerminal struct {
	c     *codersdk.Client
	agent uuid.UUID
	q     url.Values
	out   *io.PipeWriter

	mu      sync.Mutex
	conn    *websocket.Conn
	seq     int64
	pending []codersdk.ReconnectingPTYRequest
	lines   int // lines that were sent and not yet echoed; all input is echoed
	closed  bool

	session      uuid.UUID
	offset, skip int64
}

func (w *webTerminal) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seq++
	w.lines += bytes.Count(p, []byte("\n"))
	m := codersdk.ReconnectingPTYRequest{Data: strings.ReplaceAll(string(p), "\n", "\r"), Seq: w.seq}
	w.pending = append(w.pending, m)
	w.put(m)
	return len(p), nil
}

func (w *webTerminal) put(m codersdk.ReconnectingPTYRequest) {
	if w.conn == nil {
		return
	}
	b, _ := json.Marshal(m)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	w.conn.Write(ctx, websocket.MessageText, b) //nolint:errcheck // the input is sent again after a reconnect
}

// Close ends run after all input has been echoed. The server may acknowledge a line
// before it sends the output for it.
func (w *webTerminal) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.conn != nil && w.returned() {
		w.conn.CloseNow() //nolint:errcheck // follow returns the error
	}
	return nil
}

func (w *webTerminal) done() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.returned()
}

// returned reports whether input has ended and all input has been echoed. The caller
// holds mu.
func (w *webTerminal) returned() bool {
	return w.closed && len(w.pending) == 0 && w.lines <= 0
}

// print writes output to out and counts its lines.
func (w *webTerminal) print(p []byte) {
	w.offset += int64(len(p))
	w.out.Write(p) //nolint:errcheck // after a failure, out has no reader
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines -= bytes.Count(p, []byte("\n"))
}

// run connects, and reconnects until all input has been echoed.
func (w *webTerminal) run(ctx context.Context) {
	for !w.done() && ctx.Err() == nil {
		if w.session != uuid.Nil {
			w.q.Set("session", w.session.String())
			w.q.Set("offset", fmt.Sprint(w.offset))
		}
		dialing, stop := context.WithTimeout(ctx, 2*time.Second)
		conn, err := w.c.Dial(dialing, "/workspaceagents/"+w.agent.String()+"/pty", w.q)
		stop()
		if err != nil {
			testwait.Pause(100 * time.Millisecond)
			continue
		}
		conn.SetReadLimit(8 << 20)
		w.follow(ctx, conn)
		conn.CloseNow() //nolint:errcheck // the connection has failed
	}
	w.out.Close()
}

// follow reads output until the connection fails or no data arrives for two seconds.
func (w *webTerminal) follow(ctx context.Context, conn *websocket.Conn) {
	for first := true; !w.done(); {
		reading, stop := context.WithTimeout(ctx, 2*time.Second)
		kind, b, err := conn.Read(reading)
		stop()
		if err != nil {
			return
		}
		if kind == websocket.MessageBinary {
			n := min(w.skip, int64(len(b)))
			w.skip -= n
			w.print(b[n:])
			continue
		}
		var s codersdk.ReconnectingPTYStatus
		if json.Unmarshal(b, &s) != nil {
			return
		}
		if s.Session != w.session || s.Repaint {
			w.session, w.offset, w.skip = s.Session, s.Output, int64(s.Paint)
		}
		w.mu.Lock()
		for len(w.pending) > 0 && w.pending[0].Seq <= s.Input {
			w.pending = w.pending[1:]
		}
		if first {
			first, w.conn = false, conn
			for _, m := range w.pending {
				w.put(m)
			}
		}
		w.mu.Unlock()
	}
}
