// Package provisionerd is the daemon that runs jobs: it dials a server,
// waits for a job, runs it with an engine, and reports. It is the same
// whether it lives inside the server or on a machine far away; only Dial
// differs.
//
// A job survives the loss of the connection: the daemon dials again, for ever,
// and goes on under the fence it was given, until the server says that the job
// is lost or the lease must have run out. A panic of an engine fails the job,
// not the daemon. Stop drains: the current job is finished; at the deadline it
// is canceled, and reported as failed with the state it has. (PRV-02, PRV-19)
package provisionerd

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"storj.io/drpc"
	"storj.io/drpc/drpcerr"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
)

// Config is what a Daemon needs.
type Config struct {
	// Dial opens one connection to the server. See WebSocket and Pipe.
	Dial func(ctx context.Context) (drpc.Conn, error)
	Name string
	Tags coder.Tags // for the log only; the server decides
	// Slot tells the slots of one process apart in the log; "" when it is the
	// only one.
	Slot string
	// Engines by the kind of jobs they run, terraform or echo.
	Engines map[string]provisioner.Engine
	Log     *slog.Logger
	// Registerer takes the metrics; daemons of one process may share it; may
	// be nil. (PRV-27)
	Registerer prometheus.Registerer
	// UpdateInterval is how often the server hears of a running job even when
	// there is nothing to say; 0 means every second for a server with leases
	// and every five for one without.
	UpdateInterval time.Duration
	// ForceCancelInterval is how long the tool of a canceled job may take to
	// end; a twentieth later the job is given up; 0 means 10 minutes. (PRV-18)
	ForceCancelInterval time.Duration
}

// Daemon takes one job at a time. It is a lifecycle.Service.
type Daemon struct {
	Config
	link    *link
	metrics *metrics
	refused chan error

	gone      error // why the server sent the daemon away; used by take alone
	onGone    func(error)
	leftovers bool // engines may hold states of jobs that died; used by take alone

	drain  context.CancelFunc // no more jobs
	kill   context.CancelFunc // end the current job too
	closed chan struct{}
}

// errStopped is why the current job ends when the daemon must.
func errStopped() error { return errors.New("the provisioner was told to stop at once") }

// New makes a daemon that does nothing yet.
func New(c Config) (*Daemon, error) {
	if c.Dial == nil || len(c.Engines) == 0 {
		return nil, errors.New("a provisioner needs a server to dial and an engine")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Log = c.Log.With("provisioner", c.Name) // not "name": that is of the room
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

// Start begins to dial and returns at once.
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

// Stop takes no more jobs and waits for the current one; when ctx ends it is
// canceled.
func (d *Daemon) Stop(ctx context.Context) error {
	d.drain()
	select {
	case <-d.closed:
		return nil
	case <-ctx.Done():
	}
	d.Log.Info("ending the current job now")
	d.kill()
	<-d.closed
	return nil
}

// Refused gives the error of the server when it refused the very first
// connection for good, as for a wrong key, and the daemon goes on trying unless
// the caller stops it; or when the server let it in once and does not any more,
// as for a key that was deleted, and the daemon has ended.
func (d *Daemon) Refused() <-chan error { return d.refused }

func (d *Daemon) refuse(err error) {
	select {
	case d.refused <- err:
	default:
	}
}

// take runs one job after the other until taking ends.
func (d *Daemon) take(taking, alive context.Context) {
	wait := backoff{}
	d.leftovers = true
	for taking.Err() == nil {
		if d.leftovers {
			d.leftovers = false
			d.recover(taking)
		}
		client, err := d.link.getUnless(taking, sentAwayFor)
		if err != nil {
			if taking.Err() == nil {
				d.Log.Warn("the server does not let this provisioner in any more, so it ends", "error", err)
				d.gone = err
			}
			return
		}
		job, err := acquire(taking, alive, client)
		if err != nil {
			if taking.Err() == nil {
				d.Log.Warn("cannot ask for a job, trying again", "error", err)
				wait.sleep(taking)
			}
			continue
		}
		wait.reset()
		if job.GetJobId() == "" {
			continue
		}
		d.run(alive, job)
	}
}

// sentAwayFor says whether the server, which had let the daemon in before, does
// not any more: its key was deleted or expired, its session ended.
func sentAwayFor(err error) bool { return coder.Is(err, coder.CodeUnauthenticated) }

// acquire waits for a job. When taking ends it takes the request back; a job
// that was on its way then is still given.
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

// goodbye is how long the server has to take a request for a job back.
const goodbye = 5 * time.Second

// lostError ends a job that this daemon no longer holds.
type lostError struct{ why string }

func (e lostError) Error() string { return e.why }

// call makes a call about a job and makes it again over new connections until
// the server has answered, ctx ends, or the answer is final.
func (d *Daemon) call(ctx context.Context, do func(context.Context, provisionerd.DRPCProvisionerDaemonClient) error) error {
	return d.callUnless(ctx, nil, do)
}

// callUnless is call that also ends with what getUnless ends with.
func (d *Daemon) callUnless(ctx context.Context, final func(error) bool, do func(context.Context, provisionerd.DRPCProvisionerDaemonClient) error) error {
	wait := backoff{}
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
			return lostError{"the server gave the job up: " + err.Error()}
		case ctx.Err() != nil:
			return ctx.Err()
		case code != 0:
			return err
		}
		select {
		case <-client.DRPCConn().Closed(): // not the server's word
		default:
			if failures++; failures == maxFailures {
				return err
			}
		}
		d.Log.Debug("a call to the server failed, trying again", "error", err)
		wait.sleep(ctx)
	}
}

// maxFailures is how often the server may fail at one call, apart from
// connections that break.
const maxFailures = 5
