package provisionapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"

	"github.com/hashicorp/yamux"
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
	log := a.Log.With("name", d.Name, "organization", d.OrganizationID)

	id, gone, err := a.Queue.Hello(ctx, queue.Daemon{
		OrganizationID: d.OrganizationID, KeyID: d.KeyID, Name: d.Name, Tags: d.Tags,
		Provisioners: d.Provisioners, Version: d.Version, APIVersion: d.APIVersion,
		Slots: d.Slots, Tools: d.Tools,
	})
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
	srv := &conn{queue: a.Queue, worker: w, log: log, leases: d.Leases, parting: newParting(), fences: map[string]int64{}, told: map[string]bool{}}
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
	defer a.Queue.HoldKey(d.KeyID, srv.parting.begin)()
	return serveStreams(ctx, mux, srv, log)
}

// serveStreams answers one call per yamux stream.
func serveStreams(ctx context.Context, mux *yamux.Session, srv *conn, log *slog.Logger) error {
	calls := drpcmux.New()
	if err := provisionerd.DRPCRegisterProvisionerDaemon(calls, srv); err != nil {
		return err
	}
	if err := provisionerd.DRPCRegisterExtensions(calls, srv); err != nil {
		return err
	}
	server := drpcserver.NewWithOptions(calls, drpcserver.Options{Manager: drpcmanager.Options{
		Reader: drpcwire.ReaderOptions{MaximumBufferSize: provisionerd.MaxMessage},
	}})
	var work sync.WaitGroup
	defer work.Wait()
	for {
		stream, err := mux.AcceptStreamWithContext(ctx)
		if errors.Is(err, io.EOF) || errors.Is(err, yamux.ErrSessionShutdown) || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		srv.calls.Add(1)
		work.Go(func() {
			defer srv.parting.moved()
			defer srv.calls.Add(-1)
			defer stream.Close()
			defer func() {
				if p := recover(); p != nil {
					log.Error("a call of a provisioner panicked", "panic", fmt.Sprint(p))
				}
			}()
			server.ServeOne(ctx, stream) //nolint:errcheck // the end of a stream is no news; calls return their errors to the daemon
		})
	}
}
