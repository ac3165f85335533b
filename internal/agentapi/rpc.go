package agentapi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/hashicorp/yamux"
	"storj.io/drpc/drpcmanager"
	"storj.io/drpc/drpcmux"
	"storj.io/drpc/drpcserver"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

// APIVersion is the version of the control connection, shown with the agent.
const APIVersion = "1.0"

// maxCalls bounds how many calls of one agent are answered at a time; twice as
// many more wait, and others are refused. An agent makes a handful.
const maxCalls = 16

// rpc answers GET /workspaceagents/me/rpc: the control connection, which lives
// on when rpc has returned.
func (a *API) rpc(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.agent(r)
	if err != nil {
		return err
	}
	c := presence.Connection{ID: uuid.New(), Agent: agent}
	ctx, done, ok := a.open.add(context.Background(), c.ID)
	if !ok {
		return coder.Errorf(coder.CodeUnavailable, "The server is stopping; connect again in a moment")
	}
	ws, err := websocket.Accept(slim{w}, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		done()
		return nil //nolint:nilerr // Accept has answered already
	}
	ws.SetReadLimit(bodyLimit)
	a.detach(r, func() {
		defer done()
		defer ws.CloseNow()
		a.connection(ctx, ws, c)
	})
	return nil
}

// detach serves a connection that was taken from its request after the handler
// has returned: there are thousands of them, and they last for weeks.
func (a *API) detach(r *http.Request, serve func()) {
	ended := telemetry.Detach(r.Context())
	go func() {
		defer ended()
		defer func() {
			if p := recover(); p != nil {
				a.c.Log.Error("a connection panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			}
		}()
		serve()
	}()
}

// connection serves one control connection until it ends, and notes that.
func (a *API) connection(ctx context.Context, ws *websocket.Conn, c presence.Connection) {
	who := []any{"agent", c.Agent.Name, "agent_id", c.Agent.ID, "workspace_id", c.Agent.WorkspaceID}
	a.c.Log.InfoContext(ctx, "agent connected", who...)
	err := a.serve(ctx, ws, c)
	a.c.Log.InfoContext(ctx, "agent disconnected", append(who, "reason", err)...)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := a.c.Presence.Disconnected(end, c); err != nil {
		a.c.Log.WarnContext(end, "could not note that an agent disconnected", append(who, "error", err)...)
	}
}

// serve answers the calls of one connection until it ends.
func (a *API) serve(ctx context.Context, ws *websocket.Conn, c presence.Connection) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	conf := yamux.DefaultConfig()
	conf.AcceptBacklog = 2 * maxCalls
	conf.EnableKeepAlive, conf.ConnectionWriteTimeout = false, a.c.KeepAlive // how long a ping may take, too
	conf.LogOutput = io.Discard
	session, err := yamux.Server(websocket.NetConn(ctx, ws, websocket.MessageBinary), conf)
	if err != nil {
		return err
	}
	defer session.Close()
	defer context.AfterFunc(ctx, func() { session.Close() })()
	watch(session, a.c.KeepAlive, func(d time.Duration) { a.c.Presence.SetLatency(c, d) })
	srv := &server{presence: a.c.Presence, conn: c, end: cancel, visitors: &visitors{api: a, agent: c.Agent}}
	defer srv.visitors.end()
	turns := make(chan struct{}, maxCalls)
	for {
		stream, err := session.AcceptStream()
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err != nil {
			return fmt.Errorf("the connection ended: %w", err)
		}
		select {
		case turns <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		go func() {
			defer func() { <-turns }()
			defer stream.Close()
			if err := a.answer(ctx, stream, srv); err != nil && !errors.Is(err, io.EOF) {
				a.c.Log.DebugContext(ctx, "call of an agent ended early", "agent_id", c.Agent.ID, "error", err)
			}
		}()
	}
}

// watch asks for signs of life and ends a session that does not answer. heard is
// told how long an answer took. Between, it is a timer and not a goroutine.
func watch(session *yamux.Session, every time.Duration, heard func(time.Duration)) {
	time.AfterFunc(every, func() {
		if session.IsClosed() {
			return
		}
		d, err := session.Ping()
		if err != nil {
			session.Close() //nolint:errcheck // it is lost
			return
		}
		heard(d)
		watch(session, every, heard)
	})
}

// answer answers the call of one stream. What tells calls apart is made anew
// each time: that is little work, and thousands of connections need not keep it.
func (a *API) answer(ctx context.Context, stream net.Conn, srv *server) (err error) {
	defer func() {
		if p := recover(); p != nil {
			a.c.Log.Error("a call of an agent panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	mux := drpcmux.New()
	if err := agentrpc.DRPCRegisterAgent(mux, srv); err != nil {
		return err
	}
	// Who begins with what is no call would otherwise be waited for for ever.
	o := drpcserver.Options{Manager: drpcmanager.Options{InactivityTimeout: a.c.KeepAlive}}
	return drpcserver.NewWithOptions(mux, o).ServeOne(ctx, stream)
}

// slim upgrades a connection with small buffers: control connections are many,
// and say little.
type slim struct{ http.ResponseWriter }

// Unwrap lets http.ResponseController reach what is below.
func (s slim) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Hijack takes the connection over.
func (s slim) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(s.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early, err := rw.Reader.Peek(rw.Reader.Buffered())
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	const size = 512
	// What was read too early must be in the buffer, where the caller looks for it.
	in := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(bytes.Clone(early)), conn), max(size, len(early)))
	if _, err := in.Peek(len(early)); err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return conn, bufio.NewReadWriter(in, bufio.NewWriterSize(conn, size)), nil
}
