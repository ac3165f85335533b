package provisionapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/yamux"
	"storj.io/drpc"
	"storj.io/drpc/drpcmanager"
	"storj.io/drpc/drpcmetadata"
	"storj.io/drpc/drpcmux"
	"storj.io/drpc/drpcserver"
	"storj.io/drpc/drpcwire"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
)

// ServeConn serves an admitted daemon until its connection or ctx ends, or the
// API stops. It closes c. It returns nil for a connection that ended in order.
func (a *API) ServeConn(ctx context.Context, c net.Conn, d DaemonInfo) error {
	defer c.Close()
	if err := a.enter(); err != nil {
		return err
	}
	defer a.work.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.ctx(), cancel)()
	log := a.Log.With("provisioner", d.Name)

	id, gone, err := a.hello(ctx, d)
	if err != nil {
		return fmt.Errorf("record the provisioner: %w", err)
	}
	defer gone()
	if d.Seat == nil { // which has a record in each organization that it serves
		log = log.With("organization", d.OrganizationID, "daemon", id)
	}
	log.Info("provisioner connected", "tags", d.Tags, "version", d.Version, "api_version", d.APIVersion)
	defer log.Info("provisioner disconnected")

	conf := yamux.DefaultConfig()
	conf.LogOutput = io.Discard
	mux, err := yamux.Server(c, conf)
	if err != nil {
		return err
	}
	defer mux.Close()
	defer context.AfterFunc(ctx, func() { mux.Close() })()

	w := queue.Worker{ID: id, OrganizationID: d.OrganizationID, Name: d.Name, Tags: d.Tags, Provisioners: d.Provisioners}
	if !d.Leases {
		w.Lease = queue.UpstreamLease
	}
	srv := &conn{
		queue:    a.Queue,
		seat:     d.Seat,
		worker:   w,
		log:      log,
		leases:   d.Leases,
		parting:  newParting(),
		patience: a.Patience,
		tracer:   a.Tracer,
		fences:   map[string]int64{},
		told:     map[string]bool{},
	}
	parted := make(chan struct{})
	stay := context.AfterFunc(srv.parting.ended(), func() {
		defer close(parted)
		srv.part(ctx)
		mux.Close() //nolint:errcheck // the session has ended in any case
	})
	defer func() {
		if cancel(); !stay() {
			<-parted
		}
	}()
	defer a.Keys.Hold(d.KeyID, srv.parting.begin)()
	return serveStreams(ctx, mux, srv, log)
}

// hello records a daemon in its organization, or in all organizations of its
// seat.
func (a *API) hello(ctx context.Context, d DaemonInfo) (id uuid.UUID, gone func(), err error) {
	if d.Seat != nil {
		gone, err = d.Seat.Open(ctx, d.Tools)
		return uuid.Nil, gone, err
	}
	return a.Queue.Hello(ctx, d.Daemon())
}

// maxCalls bounds the calls of one connection that are served at the same time.
// A daemon needs a handful.
const maxCalls = 32

// serveStreams serves one call per yamux stream.
func serveStreams(ctx context.Context, mux *yamux.Session, srv *conn, log *slog.Logger) error {
	calls := drpcmux.New()
	if err := provisionerd.DRPCRegisterProvisionerDaemon(calls, srv); err != nil {
		return err
	}
	if err := provisionerd.DRPCRegisterExtensions(calls, srv); err != nil {
		return err
	}
	var work sync.WaitGroup
	defer work.Wait()
	turns := make(chan struct{}, maxCalls)
	for {
		stream, err := mux.AcceptStreamWithContext(ctx)
		if errors.Is(err, yamux.ErrSessionShutdown) {
			_, err = mux.AcceptStream() // returns the error that ended the session
		}
		if errors.Is(err, io.EOF) || errors.Is(err, yamux.ErrSessionShutdown) || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case turns <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		srv.calls.Add(1)
		work.Go(func() {
			defer func() { <-turns }()
			defer srv.parting.moved()
			defer srv.calls.Add(-1)
			defer stream.Close()
			defer func() {
				if p := recover(); p != nil {
					log.Error("provisioner call panicked", "panic", fmt.Sprint(p))
				}
			}()
			// A closed stream is normal, and calls return their errors to the
			// daemon.
			if err := srv.serve(ctx, stream, calls); drpc.ProtocolError.Has(err) {
				srv.nonsense.Do(func() { log.Warn("provisioner sent an invalid call; further ones are not logged", "error", err) })
			}
		})
	}
}

// serve serves the calls of a stream, usually one. A stream without a call is
// closed after the API's Patience.
func (c *conn) serve(ctx context.Context, stream net.Conn, calls drpc.Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	idle := time.AfterFunc(c.patience, func() {
		c.nonsense.Do(func() { c.log.Warn("provisioner opened a stream without a call; further ones are not logged") })
		cancel()
	})
	defer idle.Stop()
	return drpcserver.NewWithOptions(handler(func(s drpc.Stream, rpc string) error {
		idle.Stop()
		defer idle.Reset(c.patience)
		return c.traced(s, rpc, calls)
	}), drpcserver.Options{Manager: drpcmanager.Options{
		Reader: drpcwire.ReaderOptions{MaximumBufferSize: provisionerd.MaxMessage},
	}}).ServeOne(ctx, stream)
}

// traced serves a call below the span of the job that it is about. A call that
// waits for something is not recorded.
func (c *conn) traced(s drpc.Stream, rpc string, calls drpc.Handler) error {
	name := path.Base(rpc)
	fields, ok := drpcmetadata.Get(s.Context())
	if !ok || c.tracer == nil || fields["traceparent"] == "" || name == "AwaitInterruption" {
		return calls.HandleRPC(s, rpc)
	}
	ctx, span := c.tracer.Start(tracing.Continue(s.Context(), fields), "provisioner call "+name, tracing.KindServer)
	err := calls.HandleRPC(tracedStream{s, ctx}, rpc)
	tracing.End(span, err)
	return err
}

// tracedStream is a stream with another context.
type tracedStream struct {
	drpc.Stream
	ctx context.Context
}

func (s tracedStream) Context() context.Context { return s.ctx }

type handler func(drpc.Stream, string) error

func (h handler) HandleRPC(s drpc.Stream, rpc string) error { return h(s, rpc) }
