package agentapi

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/hashicorp/yamux"
	"storj.io/drpc/drpcmux"
	"storj.io/drpc/drpcserver"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
)

// APIVersion is the version of the control connection, shown with the agent.
const APIVersion = "1.0"

// keepAlive is how often an agent is asked for a sign of life, and how long
// the answer may take. (AG-04)
const keepAlive = 10 * time.Second

// rpc answers GET /workspaceagents/me/rpc: the control connection, for as long
// as it lasts.
func (a *API) rpc(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.agent(r)
	if err != nil {
		return err
	}
	c := presence.Connection{ID: uuid.New(), Agent: agent}
	ctx, done, ok := a.open.add(r.Context(), c.ID)
	if !ok {
		return coder.Errorf(coder.CodeUnavailable, "The server is stopping; connect again in a moment")
	}
	defer done()
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return nil //nolint:nilerr // Accept has answered already
	}
	defer ws.CloseNow()
	ws.SetReadLimit(bodyLimit)
	log := a.c.Log.With("agent", agent.Name, "agent_id", agent.ID, "workspace_id", agent.WorkspaceID)
	log.InfoContext(ctx, "agent connected")
	err = a.serve(ctx, ws, c, log)
	log.InfoContext(ctx, "agent disconnected", "reason", err)

	// The request's context may have ended with the connection.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := a.c.Presence.Disconnected(end, c); err != nil {
		log.WarnContext(end, "could not note that an agent disconnected", "error", err)
	}
	return nil
}

// serve answers the calls of one connection until it ends.
func (a *API) serve(ctx context.Context, ws *websocket.Conn, c presence.Connection, log *slog.Logger) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	conf := yamux.DefaultConfig()
	conf.KeepAliveInterval, conf.ConnectionWriteTimeout = keepAlive, keepAlive // silent for twice that is gone
	conf.LogOutput = io.Discard
	session, err := yamux.Server(websocket.NetConn(ctx, ws, websocket.MessageBinary), conf)
	if err != nil {
		return err
	}
	defer session.Close()
	mux := drpcmux.New()
	s := &server{presence: a.c.Presence, conn: c, end: cancel}
	if err := agentrpc.DRPCRegisterAgent(mux, s); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { session.Close() })
	defer stop()
	srv := drpcserver.NewWithOptions(mux, drpcserver.Options{Log: func(err error) {
		log.DebugContext(ctx, "call of an agent ended early", "error", err)
	}})
	err = srv.Serve(ctx, session)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
