package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/sshd"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// noWait is the argument of an SSH stream whose client does not wait for the
// start scripts.
const noWait = "no-wait"

// dialTimeout bounds how long a connection inside the workspace may take to
// come about.
const dialTimeout = 10 * time.Second

// serve serves one stream of a tunnel.
func (l *life) serve(ctx context.Context, r *tunnel.Request) {
	switch r.Kind {
	case tunnel.KindSSH:
		stream, err := r.Accept()
		if err != nil {
			return // the client is gone
		}
		if err := l.ssh.ServeConn(ctx, stream, sshd.Options{NoWait: r.Arg == noWait}); err != nil && ctx.Err() == nil {
			l.log.Debug("an SSH connection did not come about", "error", err)
		}
	case tunnel.KindTCP:
		l.serveTCP(ctx, r)
	case tunnel.KindUDP:
		serveUDP(ctx, r)
	case tunnel.KindPTY:
		l.ptys.Serve(ctx, r)
	case tunnel.KindAgentAPI:
		stream, err := r.Accept()
		if err != nil {
			return // the client is gone
		}
		l.serveAPI(ctx, stream)
	default:
		r.Reject(fmt.Errorf("this agent does not serve %s", r.Kind))
	}
}

// serveTCP connects a stream to an address as the workspace sees it.
func (l *life) serveTCP(ctx context.Context, r *tunnel.Request) {
	nc, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", r.Arg)
	if err != nil {
		r.Reject(err)
		return
	}
	defer nc.Close()
	stream, err := r.Accept()
	if err != nil {
		return // the client is gone
	}
	stop := context.AfterFunc(ctx, func() { nc.Close(); stream.Close() })
	defer stop()
	// What a client who has left wrote still arrives, and nobody waits for an
	// answer, which may never come.
	if half, ok := nc.(*net.TCPConn); ok {
		defer stream.WhenAbandoned(func() { _ = half.CloseRead() })() // it may be closed
	}
	var both sync.WaitGroup
	both.Go(func() { pass(nc, stream) })
	both.Go(func() {
		if _, err := io.Copy(stream, nc); !stream.Abandoned() {
			passEnd(stream, nc, err)
		}
	})
	both.Wait()
}

// udpIdle is how long a flow of datagrams lives without any.
const udpIdle = 5 * time.Minute

// serveUDP connects a flow to a UDP address as the workspace sees it.
func serveUDP(ctx context.Context, r *tunnel.Request) {
	socket, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "udp", r.Arg)
	if err != nil {
		r.Reject(err)
		return
	}
	defer socket.Close()
	flow, err := r.AcceptUDP()
	if err != nil {
		return // the client is gone
	}
	defer context.AfterFunc(ctx, func() { socket.Close() })()
	alive := func() { _ = socket.SetReadDeadline(time.Now().Add(udpIdle)) }
	alive()
	flow.Carry(socket, alive)
}

// pass copies one way and passes its end on; a break breaks both ways.
func pass(to, from net.Conn) {
	_, err := io.Copy(to, from)
	passEnd(to, from, err)
}

func passEnd(to, from net.Conn, err error) {
	w, ok := to.(interface{ CloseWrite() error })
	if err == nil && ok && w.CloseWrite() == nil {
		return
	}
	_ = errors.Join(to.Close(), from.Close()) // one of them is broken
}
