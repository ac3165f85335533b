package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent/port"
)

// serveAPI serves the agent's HTTP API on one connection.
func (l *life) serveAPI(ctx context.Context, nc net.Conn) {
	mux := http.NewServeMux()
	l.debug(mux)
	l.serveContainers(mux)
	mux.HandleFunc("GET /api/v0/listening-ports", func(w http.ResponseWriter, r *http.Request) {
		ports, err := port.Listening()
		if err != nil {
			l.log.WarnContext(r.Context(), "cannot list the listening ports", "error", err)
			http.Error(w, "cannot list the listening ports", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(codersdk.WorkspaceAgentListeningPortsResponse{Ports: ports}) // the client has disconnected
	})
	only := &oneConn{Conn: nc, closed: make(chan struct{})}
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: dialTimeout, IdleTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { only.Close() })
	defer stop()
	_ = srv.Serve(only) // returns at the end of the connection
}

// oneConn is a listener that accepts one given connection.
type oneConn struct {
	net.Conn
	given  bool
	once   sync.Once
	closed chan struct{}
}

// Accept returns the connection. The second call blocks until the connection is
// closed.
func (o *oneConn) Accept() (net.Conn, error) {
	if !o.given {
		o.given = true
		return o, nil
	}
	<-o.closed
	return nil, errors.New("the connection is closed")
}

// Addr returns the local address of the connection.
func (o *oneConn) Addr() net.Addr { return o.LocalAddr() }

// Close closes the connection.
func (o *oneConn) Close() error {
	err := error(nil)
	o.once.Do(func() {
		err = o.Conn.Close()
		close(o.closed)
	})
	return err
}
