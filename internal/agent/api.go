package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder"
)

// serveAPI answers the agent's own HTTP API on one connection.
func (l *life) serveAPI(ctx context.Context, nc net.Conn) {
	mux := http.NewServeMux()
	l.debug(mux)
	l.serveContainers(mux)
	mux.HandleFunc("GET /api/v0/listening-ports", func(w http.ResponseWriter, r *http.Request) {
		ports, err := listeningPorts()
		if err != nil {
			l.log.WarnContext(r.Context(), "the listening ports could not be found", "error", err)
			http.Error(w, "the listening ports could not be found", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(coder.WorkspaceAgentListeningPortsResponse{Ports: ports}) // the client is gone
	})
	only := &oneConn{Conn: nc, closed: make(chan struct{})}
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: dialTimeout, IdleTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { only.Close() })
	defer stop()
	_ = srv.Serve(only) // ends with the connection
}

// oneConn is a listener of the one connection that it is.
type oneConn struct {
	net.Conn
	given  bool
	once   sync.Once
	closed chan struct{}
}

// Accept gives the connection, and when asked again waits for its end.
func (o *oneConn) Accept() (net.Conn, error) {
	if !o.given {
		o.given = true
		return o, nil
	}
	<-o.closed
	return nil, errors.New("the connection has ended")
}

// Addr gives this end of the connection.
func (o *oneConn) Addr() net.Addr { return o.LocalAddr() }

// Close ends the connection.
func (o *oneConn) Close() error {
	err := error(nil)
	o.once.Do(func() {
		err = o.Conn.Close()
		close(o.closed)
	})
	return err
}
