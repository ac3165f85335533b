package provisionapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"storj.io/drpc/drpcerr"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/fairshare"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
)

// oldPoll is how long AcquireJob waits before it replies without a job.
const oldPoll = 5 * time.Second

// keepEvery is the interval at which the lease of a job is renewed while it is
// sent.
const keepEvery = 3 * time.Second

// conn serves the calls of one daemon's connection.
type conn struct {
	provisionerd.DRPCProvisionerDaemonUnimplementedServer
	provisionerd.DRPCExtensionsUnimplementedServer
	queue  *queue.Service
	worker queue.Worker    // for a daemon without a seat
	seat   *fairshare.Seat // nil for a daemon of one organization
	log    *slog.Logger
	leases bool // the daemon supports fences and leases

	parting *parting
	calls   atomic.Int32 // calls in progress

	patience time.Duration
	tracer   *tracing.Tracer
	nonsense sync.Once // logs the first invalid call only

	mu     sync.Mutex
	fences map[string]int64 // fence by job, for daemons that do not send it
	last   string           // the job mentioned last
	told   map[string]bool  // jobs whose daemon was asked to hand them back
	alien  map[string]bool  // jobs that the daemon mentioned but does not hold
}

// maxAlien bounds the logged jobs that a daemon mentions but does not hold.
const maxAlien = 100

// strange reports whether the daemon mentions a job that it does not hold for
// the first time, up to maxAlien jobs.
func (c *conn) strange(job string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.alien[job] || len(c.alien) == maxAlien {
		return false
	}
	if c.alien == nil {
		c.alien = map[string]bool{}
	}
	c.alien[job] = true
	return true
}

// acquire waits for a job.
func (c *conn) acquire(ctx context.Context) (*provisionerd.AcquiredJob, error) {
	if c.seat != nil {
		return c.seat.Acquire(ctx)
	}
	return c.queue.Acquire(ctx, c.worker)
}

// holder returns the worker as which the daemon holds a job.
func (c *conn) holder(ctx context.Context, job string) (queue.Worker, error) {
	if c.seat != nil {
		return c.seat.Holder(ctx, job)
	}
	return c.worker, nil
}

// AcquireJob is the older call: it replies within seconds, with an empty job if
// none is pending.
func (c *conn) AcquireJob(ctx context.Context, _ *provisionerd.Empty) (*provisionerd.AcquiredJob, error) {
	accepting, done := until(ctx, c.parting.ended())
	defer done()
	wait, cancel := context.WithTimeout(accepting, oldPoll)
	defer cancel()
	job, err := c.acquire(wait)
	if err != nil {
		if c.parting.begun() {
			return nil, c.explain("acquire", "", c.parting.why())
		}
		if wait.Err() != nil && ctx.Err() == nil {
			return &provisionerd.AcquiredJob{}, nil
		}
		return nil, c.explain("acquire", "", err)
	}
	c.hold(job.JobId, job.Fence)
	return job, nil
}

// AcquireJobWithCancel waits for a job. If the daemon sends CancelAcquire, it
// replies with an empty job.
func (c *conn) AcquireJobWithCancel(stream provisionerd.DRPCProvisionerDaemon_AcquireJobWithCancelStream) error {
	ctx, cancel := until(stream.Context(), c.parting.ended())
	defer cancel()
	go func() {
		// The daemon either cancels or disconnects; both end the wait.
		stream.Recv() //nolint:errcheck // either way
		cancel()
	}()
	job, err := c.acquire(ctx)
	switch {
	case err == nil:
	case c.parting.begun():
		return c.explain("acquire", "", c.parting.why())
	case ctx.Err() != nil:
		return stream.Send(&provisionerd.AcquiredJob{})
	default:
		return c.explain("acquire", "", err)
	}
	c.hold(job.JobId, job.Fence)
	return c.send(stream, job)
}

// send sends the daemon its job. A large archive on a slow connection takes
// longer than a lease, so the lease is renewed meanwhile. If the daemon does
// not read the job, it cannot have started, and the job returns to the queue.
func (c *conn) send(stream provisionerd.DRPCProvisionerDaemon_AcquireJobWithCancelStream, job *provisionerd.AcquiredJob) error {
	id, err := uuid.Parse(job.JobId)
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(stream.Context())
	w, err := c.holder(ctx, job.JobId)
	if err != nil {
		return err
	}
	if stream.Context().Err() != nil {
		c.queue.Release(ctx, w, id, job.Fence)
		return stream.Context().Err()
	}
	sent := make(chan error, 1)
	go func() { sent <- stream.Send(job) }()
	keep := time.NewTicker(keepEvery)
	defer keep.Stop()
	enough := time.NewTimer(c.patience + time.Duration(proto.Size(job)/(64<<10))*time.Second)
	defer enough.Stop()
	for {
		select {
		case err := <-sent:
			// After a failed write the daemon may have received the job and
			// disconnected at once. Otherwise the lease expires.
			return err
		case <-enough.C:
			c.log.Warn("provisioner requested a job and did not read it; the job returns to the queue", "job", job.JobId)
			c.queue.Release(ctx, w, id, job.Fence)
			c.drop(job.JobId)
			return drpcerr.WithCode(errors.New("the provisioner did not read the job in time"), provisionerd.CodeRefused)
		case <-keep.C:
			if err := c.queue.Keep(ctx, w, id, job.Fence); err != nil {
				c.log.Warn("renewing the lease of a job during its transfer failed", "job", job.JobId, "error", err)
			}
		}
	}
}

func (c *conn) hold(job string, fence int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fences[job], c.last = fence, job
}

// fence returns the claim under which the daemon reports on a job: the one that
// the daemon sent, or the one that this connection handed out.
func (c *conn) fence(job string, said int64) int64 {
	if said != 0 {
		return said
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fences[job]
}

func (c *conn) drop(job string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.fences, job)
	c.parting.moved()
}

// UpdateJob stores logs and the results of an import so far.
func (c *conn) UpdateJob(ctx context.Context, req *provisionerd.UpdateJobRequest) (*provisionerd.UpdateJobResponse, error) {
	w, err := c.holder(ctx, req.JobId)
	if err != nil {
		return nil, c.explain("update", req.JobId, err)
	}
	fence := c.fence(req.JobId, req.Fence)
	resp, err := c.queue.Update(ctx, w, fence, req)
	if err == nil {
		c.hold(req.JobId, fence) // the daemon may have moved the job here from another connection
	}
	if queue.Lost(err) && req.Fence != 0 {
		return &provisionerd.UpdateJobResponse{Lost: true}, nil
	}
	if err == nil && !c.leases && c.parting.urgent() {
		resp.Canceled = true // older daemons understand only this: they stop and return the state
	}
	return resp, c.explain("update", req.JobId, err)
}

// FailJob stores the state of a failed job.
func (c *conn) FailJob(ctx context.Context, req *provisionerd.FailedJob) (*provisionerd.Empty, error) {
	w, err := c.holder(ctx, req.JobId)
	if err == nil {
		err = c.queue.Fail(ctx, w, c.fence(req.JobId, req.Fence), req)
	}
	if err == nil {
		c.drop(req.JobId)
	}
	return &provisionerd.Empty{}, c.explain("fail", req.JobId, err)
}

// CompleteJob stores the result of a job.
func (c *conn) CompleteJob(ctx context.Context, req *provisionerd.CompletedJob) (*provisionerd.Empty, error) {
	w, err := c.holder(ctx, req.JobId)
	if err == nil {
		err = c.queue.Complete(ctx, w, c.fence(req.JobId, req.Fence), req)
	}
	if err == nil {
		c.drop(req.JobId)
	}
	return &provisionerd.Empty{}, c.explain("complete", req.JobId, err)
}

// AwaitInterruption replies when the job is canceled or lost, so that the
// server need not wait for the daemon's next update.
func (c *conn) AwaitInterruption(ctx context.Context, req *provisionerd.JobClaim) (*provisionerd.Interruption, error) {
	wait, cancel := until(ctx, c.parting.now())
	defer cancel()
	w, err := c.holder(ctx, req.JobId)
	if err != nil {
		return nil, c.explain("await", req.JobId, err)
	}
	canceled, err := c.queue.AwaitInterruption(wait, w, req.JobId, req.Fence)
	if err != nil && ctx.Err() == nil && wait.Err() != nil {
		return c.handBack(ctx, req.JobId)
	}
	if queue.Lost(err) {
		return &provisionerd.Interruption{Lost: true}, nil
	}
	return &provisionerd.Interruption{Canceled: canceled}, c.explain("await", req.JobId, err)
}

// handBack asks the daemon once to hand back a job. A daemon that calls again
// did not understand, and receives no reply.
func (c *conn) handBack(ctx context.Context, job string) (*provisionerd.Interruption, error) {
	c.mu.Lock()
	told := c.told[job]
	c.told[job] = true
	c.mu.Unlock()
	if told {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &provisionerd.Interruption{HandBack: true}, nil
}

// Recover stores the state of a job whose daemon died or gave it up.
func (c *conn) Recover(ctx context.Context, req *provisionerd.Leftover) (*provisionerd.LeftoverTaken, error) {
	w, err := c.holder(ctx, req.JobId)
	if err != nil {
		return nil, c.explain("recover", req.JobId, err)
	}
	stale, err := c.queue.Recover(ctx, w, req)
	if err == nil {
		c.drop(req.JobId)
	}
	return &provisionerd.LeftoverTaken{Stale: stale}, c.explain("recover", req.JobId, err)
}

// explain returns the part of an error that the daemon may see, with a code
// that shows whether a retry can help. Internal errors are logged here.
func (c *conn) explain(call, job string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if queue.Lost(err) {
		if c.strange(job) {
			c.log.Warn("provisioner reported on a job that it does not hold; further reports on it are not logged", "call", call,
				"job", job, "reason", err.Error())
		}
		return drpcerr.WithCode(err, provisionerd.CodeLost)
	}
	if e, ok := errors.AsType[*codersdk.Error](err); ok && e.Code != codersdk.CodeInternal && e.Code != codersdk.CodeUnavailable {
		return drpcerr.WithCode(fmt.Errorf("%s", e.Message), provisionerd.CodeRefused)
	}
	c.log.Error("provisioner call failed", "call", call, "job", job, "error", err)
	return errors.New("internal server error; the server's log has the cause")
}
