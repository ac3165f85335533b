package mcpapi

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/access"
)

// loopback carries requests to a handler of the same process through memory,
// WebSockets included.
type loopback struct {
	server *http.Server
	conns  chan net.Conn
	closed chan struct{}
	done   chan struct{}
}

func newLoopback(log *slog.Logger) *loopback {
	return &loopback{
		server: &http.Server{
			ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
			// Tokens that are limited to MCP are valid for what its tools request.
			ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
				return access.WithOrigin(ctx, access.Origin{Path: Pattern})
			},
		},
		conns: make(chan net.Conn), closed: make(chan struct{}), done: make(chan struct{}),
	}
}

func (l *loopback) start() {
	go func() {
		defer close(l.done)
		_ = l.server.Serve(l) // always http.ErrServerClosed
	}()
}

// stop waits for open requests until ctx ends, then cuts them.
func (l *loopback) stop(ctx context.Context) error {
	err := l.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, l.server.Close())
	}
	<-l.done
	return err
}

// client returns a client whose requests come from an address.
func (l *loopback) client(from netip.Addr) *http.Client {
	return &http.Client{Transport: &http.Transport{
		// A connection costs little, and is not kept: it belongs to one caller.
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			near, far := net.Pipe()
			select {
			case l.conns <- conn{far, net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}:
				return near, nil
			case <-l.closed:
				return nil, net.ErrClosed
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	}}
}

// conn is the server's end of a connection, with the address of the caller.
type conn struct {
	net.Conn
	from net.Addr
}

// RemoteAddr returns the address of the caller.
func (c conn) RemoteAddr() net.Addr { return c.from }

// Accept waits for the next connection.
func (l *loopback) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept. The server calls it once.
func (l *loopback) Close() error {
	close(l.closed)
	return nil
}

// Addr returns the address of the listener, which no network has.
func (l *loopback) Addr() net.Addr { return &net.TCPAddr{} }
