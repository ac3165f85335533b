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
	"storj.io/drpc"
	"storj.io/drpc/drpcmanager"
	"storj.io/drpc/drpcmux"
	"storj.io/drpc/drpcserver"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

// maxCalls bounds the calls of one agent that are served at the same time.
// Twice as many may wait; further calls are refused. An agent makes a handful.
const maxCalls = 16

// rpc serves GET /workspaceagents/me/rpc, the control connection. The
// connection stays open after rpc has returned.
func (a *API) rpc(w http.ResponseWriter, r *http.Request) error {
	onlyLogs, invalid := logsOnly(r)
	authenticate := a.agent
	if onlyLogs {
		authenticate = a.logAgent
	}
	agent, err := authenticate(r)
	if err != nil {
		return err
	}
	if invalid != nil {
		return invalid
	}
	c := presence.Connection{ID: uuid.New(), Agent: agent}
	ctx, done, ok := a.open.add(context.Background(), c.ID)
	if !ok {
		return codersdk.Errorf(codersdk.CodeUnavailable, "The server is stopping; connect again in a moment")
	}
	ws, err := websocket.Accept(slim{w}, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		done()
		return nil //nolint:nilerr // Accept has replied already
	}
	ws.SetReadLimit(bodyLimit)
	a.detach(r, func() {
		defer done()
		defer ws.CloseNow()
		if onlyLogs {
			a.logConnection(ctx, ws, agent, bearer(r))
			return
		}
		a.connection(ctx, ws, c)
	})
	return nil
}

// detach serves a hijacked connection after the handler has returned, which
// frees the request's memory: there are thousands of connections, and they last
// for weeks.
func (a *API) detach(r *http.Request, serve func()) {
	ended := telemetry.Detach(r.Context())
	go func() {
		defer ended()
		defer func() {
			if p := recover(); p != nil {
				a.c.Log.Error("connection panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			}
		}()
		serve()
	}()
}

// connection serves one control connection until it ends, and records its end.
func (a *API) connection(ctx context.Context, ws *websocket.Conn, c presence.Connection) {
	who := []any{"agent", c.Agent.Name, "agent_id", c.Agent.ID, "workspace_id", c.Agent.WorkspaceID}
	a.c.Log.InfoContext(ctx, "agent connected", who...)
	err := a.serve(ctx, ws, a.agentCalls(c))
	a.c.Log.InfoContext(ctx, "agent disconnected", append(who, "reason", err)...)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := a.c.Presence.Disconnected(end, c); err != nil {
		a.c.Log.WarnContext(end, "recording the disconnection of an agent failed", append(who, "error", err)...)
	}
}

// logConnection serves a program that sends log lines beside the agent.
func (a *API) logConnection(ctx context.Context, ws *websocket.Conn, agent presence.Agent, token string) {
	err := a.serve(ctx, ws, func(end context.CancelCauseFunc) calls {
		srv := &logServer{presence: a.c.Presence, token: token, end: end}
		return calls{handler: func() (drpc.Handler, error) { return logCalls(srv) }}
	})
	a.c.Log.DebugContext(ctx, "log connection ended", "agent_id", agent.ID, "workspace_id", agent.WorkspaceID, "reason", err)
}

// calls are the calls that a connection serves.
type calls struct {
	handler func() (drpc.Handler, error)
	latency func(time.Duration) // receives each measured round trip; may be nil
	end     func()              // releases resources of the calls; may be nil
	hint    *hints              // receives the session; may be nil
}

// agentCalls returns the calls of the agent itself.
func (a *API) agentCalls(c presence.Connection) func(context.CancelCauseFunc) calls {
	return func(end context.CancelCauseFunc) calls {
		srv := &server{presence: a.c.Presence, secrets: a.c.Secrets, links: a.c.ExternalAuthChanges, conn: c, end: end, visitors: &visitors{api: a, agent: c.Agent}}
		return calls{
			handler: func() (drpc.Handler, error) {
				mux := drpcmux.New()
				return mux, agentrpc.DRPCRegisterAgent(mux, srv)
			},
			latency: func(d time.Duration) { a.c.Presence.SetLatency(c, d) },
			end:     srv.visitors.end,
			hint:    &srv.hints,
		}
	}
}

// serve serves the calls of one connection until it ends.
func (a *API) serve(ctx context.Context, ws *websocket.Conn, with func(end context.CancelCauseFunc) calls) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	conf := yamux.DefaultConfig()
	conf.AcceptBacklog = 2 * maxCalls
	conf.EnableKeepAlive, conf.ConnectionWriteTimeout = false, a.c.KeepAlive // also the timeout of a ping
	conf.LogOutput = io.Discard
	session, err := yamux.Server(websocket.NetConn(ctx, ws, websocket.MessageBinary), conf)
	if err != nil {
		return err
	}
	defer session.Close()
	defer context.AfterFunc(ctx, func() { session.Close() })()
	served := with(cancel)
	if served.hint != nil {
		served.hint.session = session
	}
	if served.latency == nil {
		served.latency = func(time.Duration) {}
	}
	if served.end != nil {
		defer served.end()
	}
	watch(session, a.c.KeepAlive, served.latency)
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
			if err := a.answer(ctx, stream, served); err != nil && !errors.Is(err, io.EOF) {
				a.c.Log.DebugContext(ctx, "call of an agent ended early", "error", err)
			}
		}()
	}
}

// watch sends heartbeats and closes a session that does not reply. heard
// receives each round-trip time. Between heartbeats, watch holds a timer, not a
// goroutine.
func watch(session *yamux.Session, every time.Duration, heard func(time.Duration)) {
	time.AfterFunc(every, func() {
		if session.IsClosed() {
			return
		}
		d, err := session.Ping()
		if err != nil {
			session.Close() //nolint:errcheck // the connection is lost
			return
		}
		heard(d)
		watch(session, every, heard)
	})
}

// answer serves the call of one stream. The call mux is created for each call:
// that is cheap, and thousands of connections need not keep one in memory.
func (a *API) answer(ctx context.Context, stream net.Conn, served calls) (err error) {
	defer func() {
		if p := recover(); p != nil {
			a.c.Log.Error("agent call panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	handler, err := served.handler()
	if err != nil {
		return err
	}
	// Close a stream that sends something else than a call. It would otherwise
	// be waited for without end.
	o := drpcserver.Options{Manager: drpcmanager.Options{InactivityTimeout: a.c.KeepAlive}}
	return drpcserver.NewWithOptions(handler, o).ServeOne(ctx, stream)
}

// slim upgrades a connection with small buffers: there are many control
// connections, and each carries little data.
type slim struct{ http.ResponseWriter }

// Unwrap lets http.ResponseController reach the wrapped writer.
func (s slim) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Hijack takes over the connection.
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
	// Bytes that were read too early must be in the buffer, where the caller
	// expects them.
	in := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(bytes.Clone(early)), conn), max(size, len(early)))
	if _, err := in.Peek(len(early)); err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return conn, bufio.NewReadWriter(in, bufio.NewWriterSize(conn, size)), nil
}
