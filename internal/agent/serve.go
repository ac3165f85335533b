package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/sshd"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// Words in the argument of an SSH stream, separated by spaces: the client does
// not wait for the start scripts, and the app that the client counts as.
const (
	noWait  = "no-wait"
	appWord = "app="
)

// sshOptions parses the argument of an SSH stream. It ignores unknown words,
// which newer clients may send.
func sshOptions(arg string) (o sshd.Options) {
	for word := range strings.FieldsSeq(arg) {
		if app, ok := strings.CutPrefix(word, appWord); ok {
			o.App = app
		} else if word == noWait {
			o.NoWait = true
		}
	}
	return o
}

// dialTimeout bounds a dial inside the workspace.
const dialTimeout = 10 * time.Second

// serve serves one stream of a tunnel.
func (l *life) serve(ctx context.Context, r *tunnel.Request) {
	switch r.Kind {
	case tunnel.KindSSH:
		stream, err := r.Accept()
		if err != nil {
			return // the client has disconnected
		}
		o := sshOptions(r.Arg)
		o.Away = r.Asleep
		if err := l.ssh.ServeConn(ctx, stream, o); err != nil && ctx.Err() == nil {
			l.log.Debug("SSH connection failed", "error", err)
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
			return // the client has disconnected
		}
		l.serveAPI(ctx, stream)
	default:
		r.Reject(fmt.Errorf("the agent does not serve %s", r.Kind))
	}
}

// serveTCP connects a stream to an address, resolved inside the workspace.
func (l *life) serveTCP(ctx context.Context, r *tunnel.Request) {
	nc, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", r.Arg)
	if err != nil {
		r.Reject(err)
		return
	}
	defer nc.Close()
	stream, err := r.Accept()
	if err != nil {
		return // the client has disconnected
	}
	stop := context.AfterFunc(ctx, func() { nc.Close(); stream.Close() })
	defer stop()
	// Data of a client that has disconnected is still delivered, but nobody
	// waits for a reply, which may never arrive.
	if half, ok := nc.(*net.TCPConn); ok {
		defer stream.WhenAbandoned(func() { _ = half.CloseRead() })() // the connection may already be closed
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

// udpIdle is the idle timeout of a datagram flow.
const udpIdle = 5 * time.Minute

// serveUDP connects a flow to a UDP address, resolved inside the workspace.
func serveUDP(ctx context.Context, r *tunnel.Request) {
	socket, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "udp", r.Arg)
	if err != nil {
		r.Reject(err)
		return
	}
	defer socket.Close()
	flow, err := r.AcceptUDP()
	if err != nil {
		return // the client has disconnected
	}
	defer context.AfterFunc(ctx, func() { socket.Close() })()
	alive := func() { _ = socket.SetReadDeadline(time.Now().Add(udpIdle)) }
	alive()
	flow.Carry(socket, alive)
}

// pass copies in one direction and forwards the end of the stream. An error
// closes both directions.
func pass(to, from net.Conn) {
	_, err := io.Copy(to, from)
	passEnd(to, from, err)
}

func passEnd(to, from net.Conn, err error) {
	w, ok := to.(interface{ CloseWrite() error })
	if err == nil && ok && w.CloseWrite() == nil {
		return
	}
	_ = errors.Join(to.Close(), from.Close()) // one of them is already broken
}
