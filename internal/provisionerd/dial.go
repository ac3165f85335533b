package provisionerd

import (
	"context"
	"errors"
	"io"
	"log/slog"
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
	"storj.io/drpc/drpcmetadata"
	"storj.io/drpc/drpcwire"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
)

// WebSocket is the connection of an external daemon. It authenticates with Key,
// PSK or the client's session token. (1.5.3 of the reference)
type WebSocket struct {
	Client       *codersdk.Client
	Organization string // ID, name, or "default"; a key determines it
	Name         string
	Tags         codersdk.Tags
	Provisioners []string
	Key, PSK     string
	Version      string   // version of this program
	Slots        int      // number of connections under this name; 0 means 1
	Tools        []string // tools of the engines, such as terraform/1.11.4
}

// Dial opens a connection. It returns a *codersdk.Error when the server
// refuses.
func (w WebSocket) Dial(ctx context.Context) (drpc.Conn, error) {
	c := w.authenticated()
	q := url.Values{
		"version":                        {codersdk.ProvisionerAPIVersion},
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
	if codersdk.Is(err, codersdk.CodeNotFound) {
		err = codersdk.Errorf(codersdk.CodeNotFound, "The organization %q does not exist, or these credentials are not for it", org).WithCause(err)
	}
	if err != nil {
		return nil, err
	}
	return Over(websocket.NetConn(context.Background(), ws, websocket.MessageBinary))
}

// authenticated returns the client with the credentials and the version of the daemon.
func (w WebSocket) authenticated() *codersdk.Client {
	c := *w.Client
	c.Header = c.Header.Clone()
	if c.Header == nil {
		c.Header = http.Header{}
	}
	c.Header.Set(codersdk.BuildVersionHeader, w.Version)
	switch {
	case w.Key != "":
		c.Header.Set("Coder-Provisioner-Daemon-Key", w.Key)
		c.SessionToken = ""
	case w.PSK != "":
		c.Header.Set("Coder-Provisioner-Daemon-PSK", w.PSK)
		c.SessionToken = ""
	}
	return &c
}

const dialTimeout = 30 * time.Second

// retryFirst is the first wait before a failed call is repeated. A job survives a
// restart of the server within its lease.
const retryFirst = 250 * time.Millisecond

// Pipe returns a dial function for a built-in daemon. serve gets the server's
// end of an in-memory connection, and returns when the connection ends.
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

// Over returns a DRPC connection over a byte stream: yamux with one stream per
// call.
func Over(c net.Conn) (drpc.Conn, error) {
	conf := yamux.DefaultConfig()
	conf.LogOutput = io.Discard
	s, err := yamux.Client(c, conf)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return calls{s}, nil
}

// calls is a drpc.Conn with concurrent calls.
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
	return conn.Invoke(carry(ctx), rpc, enc, in, out)
}

func (c calls) NewStream(ctx context.Context, rpc string, enc drpc.Encoding) (drpc.Stream, error) {
	conn, err := c.open()
	if err != nil {
		return nil, err
	}
	s, err := conn.NewStream(carry(ctx), rpc, enc)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return stream{s, conn}, nil
}

// carry returns ctx with its trace in the metadata of a call.
func carry(ctx context.Context) context.Context {
	if fields := tracing.Carry(ctx); len(fields) > 0 {
		return drpcmetadata.AddPairs(ctx, fields)
	}
	return ctx
}

// stream closes its yamux stream when it closes.
type stream struct {
	drpc.Stream
	conn *drpcconn.Conn
}

func (s stream) Close() error {
	// Only the result of the call matters, not that of its transport.
	err := s.Stream.Close()
	s.conn.Close() //nolint:errcheck // as above
	return err
}

// link maintains one connection to the server and reconnects.
type link struct {
	dial    func(context.Context) (drpc.Conn, error)
	log     *slog.Logger
	refused chan error
	turn    chan struct{} // held while dialing or using conn
	conn    drpc.Conn
	before  bool // there was an earlier connection
}

// get returns a live connection, dialing as long as necessary. Its only error
// is that of ctx.
func (l *link) get(ctx context.Context) (provisionerd.DRPCProvisionerDaemonClient, error) {
	return l.getUnless(ctx, nil)
}

// getUnless is get that also returns when final accepts the error of a dial.
func (l *link) getUnless(ctx context.Context, final func(error) bool) (provisionerd.DRPCProvisionerDaemonClient, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	wait := lifecycle.Backoff{First: retryFirst}
	for {
		if l.conn != nil {
			select {
			case <-l.conn.Closed():
				l.conn = nil
				l.log.Warn("lost the connection to the server; reconnecting")
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
		if !l.before && codersdk.Is(err, codersdk.CodeInvalid, codersdk.CodeUnauthenticated, codersdk.CodeForbidden, codersdk.CodeNotFound) {
			select {
			case l.refused <- err:
				l.log.Error("the server refuses this provisioner", "error", err)
			default: // already reported, and the caller keeps the daemon running
			}
		} else {
			l.log.Warn("cannot connect to the server; retrying", "error", err)
		}
		wait.Sleep(ctx)
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
