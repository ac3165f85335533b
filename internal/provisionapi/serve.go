package provisionapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/yamux"
	"storj.io/drpc"
	"storj.io/drpc/drpcmanager"
	"storj.io/drpc/drpcmux"
	"storj.io/drpc/drpcserver"
	"storj.io/drpc/drpcwire"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// ServeConn serves an admitted daemon until its connection or ctx ends, or the
// edge stops. It closes c. A connection that ended in order gives nil.
func (a *API) ServeConn(ctx context.Context, c net.Conn, d DaemonInfo) error {
	defer c.Close()
	if err := a.enter(); err != nil {
		return err
	}
	defer a.work.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.ctx(), cancel)()
	log := a.Log.With("provisioner", d.Name, "organization", d.OrganizationID)

	id, gone, err := a.hello(ctx, d)
	if err != nil {
		return fmt.Errorf("record the provisioner: %w", err)
	}
	defer gone()
	log.Info("provisioner connected", "daemon", id, "tags", d.Tags, "version", d.Version, "api_version", d.APIVersion)
	defer log.Info("provisioner disconnected", "daemon", id)

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
	srv := &conn{queue: a.Queue, seat: d.Seat, worker: w, log: log, leases: d.Leases, parting: newParting(), patience: a.Patience, fences: map[string]int64{}, told: map[string]bool{}}
	parted := make(chan struct{})
	stay := context.AfterFunc(srv.parting.ended(), func() {
		defer close(parted)
		srv.part(ctx)
		mux.Close() //nolint:errcheck // it is over either way
	})
	defer func() {
		if cancel(); !stay() {
			<-parted
		}
	}()
	defer a.Keys.Hold(d.KeyID, srv.parting.begin)()
	return serveStreams(ctx, mux, srv, log)
}

// hello records a daemon: as a row of its organization, or of all those that
// its seat is for.
func (a *API) hello(ctx context.Context, d DaemonInfo) (id uuid.UUID, gone func(), err error) {
	if d.Seat != nil {
		gone, err = d.Seat.Open(ctx)
		return uuid.Nil, gone, err
	}
	return a.Queue.Hello(ctx, d.Daemon())
}

// maxCalls bounds how many calls of one connection are answered at a time; a
// daemon needs a handful.
const maxCalls = 32

// serveStreams answers one call per yamux stream.
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
			_, err = mux.AcceptStream() // which tells what ended the session
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
					log.Error("a call of a provisioner panicked", "panic", fmt.Sprint(p))
				}
			}()
			// The end of a stream is no news, and calls return their errors to the daemon.
			if err := srv.serve(ctx, stream, calls); drpc.ProtocolError.Has(err) {
				srv.nonsense.Do(func() { log.Warn("a provisioner sends what is no call; what follows is not told", "error", err) })
			}
		})
	}
}

// serve answers the calls of a stream, usually one. A stream on which none
// begins for longer than the daemon has patience for is ended.
func (c *conn) serve(ctx context.Context, stream net.Conn, calls drpc.Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	idle := time.AfterFunc(c.patience, func() {
		c.nonsense.Do(func() { c.log.Warn("a provisioner opens streams and makes no call; what follows is not told") })
		cancel()
	})
	defer idle.Stop()
	return drpcserver.NewWithOptions(handler(func(s drpc.Stream, rpc string) error {
		idle.Stop()
		defer idle.Reset(c.patience)
		return calls.HandleRPC(s, rpc)
	}), drpcserver.Options{Manager: drpcmanager.Options{
		Reader: drpcwire.ReaderOptions{MaximumBufferSize: provisionerd.MaxMessage},
	}}).ServeOne(ctx, stream)
}

type handler func(drpc.Stream, string) error

func (h handler) HandleRPC(s drpc.Stream, rpc string) error { return h(s, rpc) }
