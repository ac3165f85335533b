package provisionerd

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/coder/websocket"
	"github.com/hashicorp/yamux"
	"storj.io/drpc"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcmanager"
	"storj.io/drpc/drpcwire"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/client"
)

// WebSocket is how an external daemon reaches its server. One of Key, PSK and
// the client's session token lets it in. (1.5.3 of the reference)
type WebSocket struct {
	Client       *client.Client
	Organization string // id, name, or "default"; a key brings its own
	Name         string
	Tags         coder.Tags
	Provisioners []string
	Key, PSK     string
	Version      string   // of this program
	Slots        int      // connections there will be under this name; 0 means 1
	Tools        []string // what the engines run, such as terraform/1.11.4
}

// Dial opens a connection. A server that refuses gives a *coder.Error.
func (w WebSocket) Dial(ctx context.Context) (drpc.Conn, error) {
	c := *w.Client
	c.Header = c.Header.Clone()
	if c.Header == nil {
		c.Header = http.Header{}
	}
	c.Header.Set(client.BuildVersionHeader, w.Version)
	switch {
	case w.Key != "":
		c.Header.Set("Coder-Provisioner-Daemon-Key", w.Key)
		c.SessionToken = ""
	case w.PSK != "":
		c.Header.Set("Coder-Provisioner-Daemon-PSK", w.PSK)
		c.SessionToken = ""
	}
	q := url.Values{
		"version":                        {coder.ProvisionerAPIVersion},
		"name":                           {w.Name},
		"provisioner":                    w.Provisioners,
		provisionerd.CapabilityParameter: {provisionerd.CapabilityLease},
	}
	if w.Slots > 1 {
		q.Set(provisionerd.SlotsParameter, strconv.Itoa(w.Slots))
	}
	if len(w.Tools) > 0 {
		q[provisionerd.ToolParameter] = w.Tools
	}
	for k, v := range w.Tags {
		q.Add("tag", k+"="+v)
	}
	slices.Sort(q["tag"])
	org := w.Organization
	if org == "" {
		org = "default"
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	ws, err := c.Dial(ctx, "/organizations/"+url.PathEscape(org)+"/provisionerdaemons/serve", q)
	if err != nil {
		return nil, err
	}
	return Over(websocket.NetConn(context.Background(), ws, websocket.MessageBinary))
}

const dialTimeout = 30 * time.Second

// Pipe is how a built-in daemon reaches the server around it: serve is given
// the server's end of an in-memory connection, and returns when it ends.
func Pipe(serve func(context.Context, net.Conn) error) func(context.Context) (drpc.Conn, error) {
	return func(context.Context) (drpc.Conn, error) {
		here, there := net.Pipe()
		go func() {
			defer here.Close()
			defer there.Close()
			serve(context.Background(), there) //nolint:errcheck // the other end sees the connection close and dials again
		}()
		return Over(here)
	}
}

// Over makes a connection for calls of a byte stream to a server: yamux, and
// in it a stream for each call.
func Over(c net.Conn) (drpc.Conn, error) {
	conf := yamux.DefaultConfig()
	conf.LogOutput = io.Discard
	s, err := yamux.Client(c, conf)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return calls{s}, nil
}

// calls is a drpc.Conn on which any number of calls run at once.
type calls struct{ session *yamux.Session }

func (c calls) Close() error            { return c.session.Close() }
func (c calls) Closed() <-chan struct{} { return c.session.CloseChan() }

func (c calls) open() (*drpcconn.Conn, error) {
	s, err := c.session.OpenStream()
	if err != nil {
		return nil, err
	}
	return drpcconn.NewWithOptions(s, drpcconn.Options{Manager: drpcmanager.Options{
		Reader: drpcwire.ReaderOptions{MaximumBufferSize: provisionerd.MaxMessage},
	}}), nil
}

func (c calls) Invoke(ctx context.Context, rpc string, enc drpc.Encoding, in, out drpc.Message) error {
	conn, err := c.open()
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Invoke(ctx, rpc, enc, in, out)
}

func (c calls) NewStream(ctx context.Context, rpc string, enc drpc.Encoding) (drpc.Stream, error) {
	conn, err := c.open()
	if err != nil {
		return nil, err
	}
	s, err := conn.NewStream(ctx, rpc, enc)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return stream{s, conn}, nil
}

// stream takes its yamux stream with it when it closes.
type stream struct {
	drpc.Stream
	conn *drpcconn.Conn
}

func (s stream) Close() error {
	// The call's own end is what matters; the transport only carried it.
	err := s.Stream.Close()
	s.conn.Close() //nolint:errcheck // as above
	return err
}

// link keeps one connection to the server and makes it anew when it is gone.
type link struct {
	dial    func(context.Context) (drpc.Conn, error)
	log     *slog.Logger
	refused chan error
	turn    chan struct{} // held by whoever dials or looks at conn
	conn    drpc.Conn
	before  bool // there was a connection before
}

// get gives a connection that was alive a moment ago, dialing for as long as
// it takes; its only error is that of ctx.
func (l *link) get(ctx context.Context) (provisionerd.DRPCProvisionerDaemonClient, error) {
	return l.getUnless(ctx, nil)
}

// getUnless is get that also ends when the server answers a dial with an error
// that is final says.
func (l *link) getUnless(ctx context.Context, final func(error) bool) (provisionerd.DRPCProvisionerDaemonClient, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	wait := backoff{}
	for {
		if l.conn != nil {
			select {
			case <-l.conn.Closed():
				l.conn = nil
				l.log.Warn("lost the connection to the server, dialing again")
			default:
				return provisionerd.NewDRPCProvisionerDaemonClient(l.conn), nil
			}
		}
		conn, err := l.dial(ctx)
		if err == nil {
			l.conn, l.before = conn, true
			l.log.Info("successfully connected to coderd")
			continue
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if l.before && final != nil && final(err) {
			return nil, err
		}
		if !l.before && coder.Is(err, coder.CodeInvalid, coder.CodeUnauthenticated, coder.CodeForbidden, coder.CodeNotFound) {
			select {
			case l.refused <- err:
			default:
			}
		}
		l.log.Warn("cannot connect to the server, trying again", "error", err)
		wait.sleep(ctx)
	}
}

func (l *link) close() {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if l.conn != nil {
		l.conn.Close() //nolint:errcheck // nothing is left to say
		l.conn = nil
	}
}

// backoff waits longer and longer, with jitter: from a quarter of a second to
// five seconds, so that a job outlives a restart of its server within its lease.
type backoff struct{ next time.Duration }

func (b *backoff) reset() { b.next = 0 }

func (b *backoff) sleep(ctx context.Context) {
	b.next = min(max(b.next*2, 250*time.Millisecond), 5*time.Second)
	t := time.NewTimer(b.next/2 + rand.N(b.next/2))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
