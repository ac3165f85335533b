// Package provisionerd is the daemon that runs jobs: it dials a server,
// acquires a job, runs it with an engine, and reports the result. Built-in and
// external daemons differ in Dial only.
//
// A job survives the loss of the connection: the daemon reconnects indefinitely
// and continues with the same fence, until the server reports the job as lost
// or the lease must have expired. A panic of an engine fails the job, not the
// daemon. Stop drains: the current job is finished; at the deadline it is
// canceled, and reported as failed with its current state. (PRV-02, PRV-19)
package provisionerd

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"storj.io/drpc"
	"storj.io/drpc/drpcerr"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
)

// Config configures a Daemon.
type Config struct {
	// Dial opens one connection to the server. See WebSocket and Pipe.
	Dial func(ctx context.Context) (drpc.Conn, error)
	Name string
	Tags codersdk.Tags // for the log only; the server decides
	// Slot identifies the slot of a process in the log; "" for the only one.
	Slot string
	// Engines maps provisioner types, terraform or echo, to engines.
	Engines map[string]provisioner.Engine
	Log     *slog.Logger
	// Registerer registers the metrics; daemons of one process may share it;
	// may be nil. (PRV-27)
	Registerer prometheus.Registerer
	// Tracer records the steps of jobs; nil records nothing.
	Tracer *tracing.Tracer
	// UpdateInterval is the maximum interval between updates of a running job.
	// 0 means one second for a server with leases, and five seconds for one
	// without.
	UpdateInterval time.Duration
	// ForceCancelInterval bounds the time for the tool of a canceled job to
	// exit; a twentieth later the job is abandoned. 0 means 10 minutes.
	// (PRV-18)
	ForceCancelInterval time.Duration
}

// Daemon runs one job at a time. It implements lifecycle.Service.
type Daemon struct {
	Config
	link    *link
	metrics *metrics
	refused chan error

	gone      error // reason why the server disconnected the daemon; used by take only
	onGone    func(error)
	leftovers bool // engines may have states of dead jobs; used by take only

	drain  context.CancelFunc // stops the acquisition of jobs
	kill   context.CancelFunc // also cancels the current job
	closed chan struct{}
}

// errStopped returns the cause for canceling the current job when the daemon
// must stop.
func errStopped() error { return errors.New("the provisioner is stopping immediately") }

// New returns a daemon that does nothing until Start.
func New(c Config) (*Daemon, error) {
	if c.Dial == nil || len(c.Engines) == 0 {
		return nil, errors.New("a provisioner requires a server to dial and an engine")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Log = c.Log.With("provisioner", c.Name) // the key "name" is used for the package
	if c.Slot != "" {
		c.Log = c.Log.With("slot", c.Slot)
	}
	if c.ForceCancelInterval <= 0 {
		c.ForceCancelInterval = 10 * time.Minute
	}
	m, err := newMetrics(c.Registerer)
	if err != nil {
		return nil, err
	}
	d := &Daemon{Config: c, metrics: m, refused: make(chan error, 1), closed: make(chan struct{})}
	d.onGone = d.refuse
	d.link = &link{dial: c.Dial, log: c.Log.With("tags", c.Tags), turn: make(chan struct{}, 1), refused: d.refused}
	return d, nil
}

// Start starts to dial the server and returns immediately.
func (d *Daemon) Start(context.Context) error {
	alive, kill := context.WithCancelCause(context.Background())
	taking, drain := context.WithCancel(alive)
	d.kill, d.drain = func() { kill(errStopped()) }, drain
	go func() {
		defer close(d.closed)
		if d.Slot == "" || d.Slot == firstSlot {
			d.metrics.daemons.Inc()
			defer d.metrics.daemons.Dec()
		}
		d.take(taking, alive)
		d.link.close()
		if d.gone != nil && d.onGone != nil {
			d.onGone(d.gone)
		}
	}()
	return nil
}

// Stop acquires no more jobs and waits for the current one; when ctx ends, that
// is canceled.
func (d *Daemon) Stop(ctx context.Context) error {
	d.drain()
	select {
	case <-d.closed:
		return nil
	case <-ctx.Done():
	}
	d.Log.Info("canceling the current job")
	d.kill()
	<-d.closed
	return nil
}

// Refused returns a channel with the error when the server does not admit the
// daemon. Either the server refused the first connection permanently, for
// example for an invalid key; the daemon then keeps trying unless the caller
// stops it. Or the server revoked the access later, for example for a deleted
// key; the daemon has then ended.
func (d *Daemon) Refused() <-chan error { return d.refused }

func (d *Daemon) refuse(err error) {
	select {
	case d.refused <- err:
	default:
	}
}

// take runs jobs one after another until taking ends.
func (d *Daemon) take(taking, alive context.Context) {
	wait := lifecycle.Backoff{First: retryFirst}
	d.leftovers = true
	for taking.Err() == nil {
		if d.leftovers {
			d.leftovers = false
			d.recover(taking)
		}
		client, err := d.link.getUnless(taking, sentAwayFor)
		if err != nil {
			if taking.Err() == nil {
				d.Log.Warn("the server revoked this provisioner's access; stopping", "error", err)
				d.gone = err
			}
			return
		}
		job, err := acquire(taking, alive, client)
		if err != nil {
			if taking.Err() == nil {
				d.Log.Warn("cannot acquire a job; retrying", "error", err)
				wait.Sleep(taking)
			}
			continue
		}
		wait.Reset()
		if job.GetJobId() == "" {
			continue
		}
		d.run(alive, job)
	}
}

// sentAwayFor reports whether the error means that the server revoked the
// daemon's access: its key was deleted or has expired, or its session ended.
func sentAwayFor(err error) bool { return codersdk.Is(err, codersdk.CodeUnauthenticated) }

// acquire waits for a job. When taking ends it cancels the request, but still
// returns a job that was already assigned.
func acquire(taking, alive context.Context, client provisionerd.DRPCProvisionerDaemonClient) (*provisionerd.AcquiredJob, error) {
	ctx, cancel := context.WithCancel(alive)
	defer cancel()
	stream, err := client.AcquireJobWithCancel(ctx)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	type answer struct {
		job *provisionerd.AcquiredJob
		err error
	}
	got := make(chan answer, 1)
	go func() {
		job, err := stream.Recv()
		if drpcerr.Code(err) == drpcerr.Unimplemented {
			job, err = client.AcquireJob(ctx, &provisionerd.Empty{})
		}
		got <- answer{job, err}
	}()
	select {
	case a := <-got:
		return a.job, a.err
	case <-taking.Done():
	}
	if err := stream.Send(&provisionerd.CancelAcquire{}); err != nil {
		return nil, err
	}
	select {
	case a := <-got:
		return a.job, a.err
	case <-time.After(goodbye):
		return nil, taking.Err()
	}
}

// goodbye bounds the time to cancel a request for a job.
const goodbye = 5 * time.Second

// lostError ends a job that this daemon no longer holds.
type lostError struct{ why string }

func (e lostError) Error() string { return e.why }

// call makes a call about a job, and repeats it over new connections until the
// server has answered, ctx ends, or the error is final.
func (d *Daemon) call(ctx context.Context, do func(context.Context, provisionerd.DRPCProvisionerDaemonClient) error) error {
	return d.callUnless(ctx, nil, do)
}

// callUnless is call that also ends for errors that end getUnless.
func (d *Daemon) callUnless(ctx context.Context, final func(error) bool, do func(context.Context, provisionerd.DRPCProvisionerDaemonClient) error) error {
	wait := lifecycle.Backoff{First: retryFirst, Limit: time.Second}
	var failing time.Time // start of the current series of failures without a connection loss
	for failures := 0; ; {
		client, err := d.link.getUnless(ctx, final)
		if err != nil {
			return err
		}
		err = do(ctx, client)
		switch code := drpcerr.Code(err); {
		case err == nil:
			return nil
		case code == provisionerd.CodeLost:
			return lostError{"the server abandoned the job: " + err.Error()}
		case ctx.Err() != nil:
			return ctx.Err()
		case code != 0:
			return err
		}
		select {
		case <-client.DRPCConn().Closed(): // not an answer of the server
			failures = 0
		default:
			if failures++; failures == 1 {
				failing = time.Now()
			}
			if failures >= maxFailures && time.Since(failing) > maxFailing {
				return err
			}
		}
		d.Log.Debug("call failed; retrying", "error", err)
		wait.Sleep(ctx)
	}
}

// A server without its database fails every call. An error is final after
// maxFailing and at least maxFailures attempts; lost connections do not count.
const (
	maxFailures = 5
	maxFailing  = time.Minute
)
