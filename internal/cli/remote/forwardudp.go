package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

const (
	// udpIdle is the time without datagrams after which a local sender is
	// removed.
	udpIdle = 5 * time.Minute
	// maxSenders bounds the local senders of one port.
	maxSenders = 1024
	// waitingDatagrams bounds the datagrams that are queued while a flow is
	// opened.
	waitingDatagrams = 64
)

// udpForward forwards datagrams between a local port and a port of a workspace.
// Each local sender has a flow of its own, so that replies reach the right
// sender.
type udpForward struct {
	a      *command.Run
	conn   *connection
	socket *net.UDPConn
	remote string

	mu      sync.Mutex
	senders map[netip.AddrPort]*udpSender
	said    bool // the limit of senders was reported
}

type udpSender struct {
	from netip.AddrPort
	in   chan []byte
	last atomic.Int64 // Unix nanoseconds of the last datagram in either direction
}

// listenForwardUDP opens the local socket.
func listenForwardUDP(a *command.Run, conn *connection, f portForward) (*udpForward, error) {
	addr, err := net.ResolveUDPAddr("udp", f.local)
	if err != nil {
		return nil, err
	}
	socket, err := net.ListenUDP("udp", addr)
	if err != nil {
		return nil, err
	}
	return &udpForward{a: a, conn: conn, socket: socket, remote: f.remote, senders: make(map[netip.AddrPort]*udpSender)}, nil
}

// run forwards datagrams until the socket is closed.
func (u *udpForward) run(ctx context.Context) {
	b := make([]byte, 64<<10)
	for {
		n, from, err := u.socket.ReadFromUDPAddrPort(b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // a reply was undeliverable
		}
		if s := u.sender(ctx, from); s != nil {
			select {
			case s.in <- append([]byte(nil), b[:n]...):
			default: // drop the datagram, as UDP permits
			}
		}
	}
}

// sender returns the state of a local sender, or nil when there are too many.
func (u *udpForward) sender(ctx context.Context, from netip.AddrPort) *udpSender {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.senders[from]
	if s != nil {
		return s
	}
	if len(u.senders) >= maxSenders {
		if !u.said {
			u.said = true
			fmt.Fprintf(u.a.Stderr, "%s: more than %d concurrent senders; the others are ignored.\n", u.remote, maxSenders)
		}
		return nil
	}
	s = &udpSender{from: from, in: make(chan []byte, waitingDatagrams)}
	u.senders[from] = s
	go func() {
		if err := u.serve(ctx, s); err != nil && ctx.Err() == nil {
			message, _ := command.Describe(err)
			fmt.Fprintf(u.a.Stderr, "%s: %s\n", u.remote, message)
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.senders, s.from)
	}()
	return s
}

// serve forwards the datagrams of one sender until it is idle for udpIdle.
func (u *udpForward) serve(ctx context.Context, s *udpSender) error {
	flow, err := u.conn.OpenUDP(ctx, u.remote)
	if err != nil {
		return err
	}
	defer flow.Close() //nolint:errcheck // nothing is left to be written
	s.last.Store(time.Now().UnixNano())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		u.answers(flow, s)
	}()
	idle := time.NewTicker(udpIdle / 4)
	defer idle.Stop()
	for {
		select {
		case b := <-s.in:
			s.last.Store(time.Now().UnixNano())
			if err := flow.Send(b); err != nil {
				return err
			}
		case <-idle.C:
			if time.Since(time.Unix(0, s.last.Load())) > udpIdle {
				return nil
			}
		case <-gone:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// answers forwards the workspace's datagrams to the sender.
func (u *udpForward) answers(flow *tunnel.Flow, s *udpSender) {
	for {
		b, err := flow.Receive()
		if err != nil {
			return
		}
		s.last.Store(time.Now().UnixNano())
		if _, err := u.socket.WriteToUDPAddrPort(b, s.from); errors.Is(err, net.ErrClosed) {
			return
		}
	}
}
