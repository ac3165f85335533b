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

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/share"
)

// oldPoll is how long AcquireJob waits before it answers that there is none.
const oldPoll = 5 * time.Second

// keepEvery is how often the lease of a job that is being sent is renewed.
const keepEvery = 3 * time.Second

// conn is one daemon's connection: the calls of the provisioner wire.
type conn struct {
	provisionerd.DRPCProvisionerDaemonUnimplementedServer
	provisionerd.DRPCExtensionsUnimplementedServer
	queue  *queue.Service
	worker queue.Worker // of a daemon without a seat
	seat   *share.Seat  // nil for one that serves one organization
	log    *slog.Logger
	leases bool // the daemon knows of fences and leases

	parting *parting
	calls   atomic.Int32 // that are being answered

	patience time.Duration
	nonsense sync.Once // what is no call is told once

	mu     sync.Mutex
	fences map[string]int64 // job -> claim, for daemons that do not send it
	last   string           // the job spoken of last
	told   map[string]bool  // jobs that were to be handed back
	alien  map[string]bool  // jobs that it spoke of and does not hold
}

// maxAlien is of how many jobs that a daemon does not hold it is told that it
// spoke of them.
const maxAlien = 100

// strange says whether a daemon speaks for the first time of a job that it does
// not hold, and is not known to speak of many.
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

// holder gives what the daemon is to a job.
func (c *conn) holder(ctx context.Context, job string) (queue.Worker, error) {
	if c.seat != nil {
		return c.seat.Holder(ctx, job)
	}
	return c.worker, nil
}

// AcquireJob is the older call: it answers within seconds, with an empty job
// when there is none.
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

// AcquireJobWithCancel waits until there is a job, or until the daemon sends a
// CancelAcquire, which is answered with an empty job.
func (c *conn) AcquireJobWithCancel(stream provisionerd.DRPCProvisionerDaemon_AcquireJobWithCancelStream) error {
	ctx, cancel := until(stream.Context(), c.parting.ended())
	defer cancel()
	go func() {
		// The daemon either cancels or goes away; both end the wait.
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

// send gives the daemon its job. A large archive on a slow line takes longer
// than a lease, so the lease is kept up meanwhile; but not for a daemon that
// does not read: it cannot have begun, so the job is put back.
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
			// When it failed the daemon may have got the job all the same, and
			// hung up at once. If not, the lease runs out.
			return err
		case <-enough.C:
			c.log.Warn("a provisioner asked for a job and does not read it, so another gets it", "job", job.JobId)
			c.queue.Release(ctx, w, id, job.Fence)
			c.drop(job.JobId)
			return drpcerr.WithCode(errors.New("the job was not read in time"), provisionerd.CodeRefused)
		case <-keep.C:
			if err := c.queue.Keep(ctx, w, id, job.Fence); err != nil {
				c.log.Warn("cannot keep up the lease of a job that is on its way", "job", job.JobId, "error", err)
			}
		}
	}
}

func (c *conn) hold(job string, fence int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fences[job], c.last = fence, job
}

// fence gives the claim that a word about a job is under: what the daemon
// says, or what this connection handed out.
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

// UpdateJob takes logs and what an import learns.
func (c *conn) UpdateJob(ctx context.Context, req *provisionerd.UpdateJobRequest) (*provisionerd.UpdateJobResponse, error) {
	w, err := c.holder(ctx, req.JobId)
	if err != nil {
		return nil, c.explain("update", req.JobId, err)
	}
	fence := c.fence(req.JobId, req.Fence)
	resp, err := c.queue.Update(ctx, w, fence, req)
	if err == nil {
		c.hold(req.JobId, fence) // it may have come here from another connection
	}
	if queue.Lost(err) && req.Fence != 0 {
		return &provisionerd.UpdateJobResponse{Lost: true}, nil
	}
	if err == nil && !c.leases && c.parting.urgent() {
		resp.Canceled = true // all that it understands: it stops and gives the state back
	}
	return resp, c.explain("update", req.JobId, err)
}

// FailJob takes what remains of a failed job.
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

// CompleteJob takes the result of a job.
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

// AwaitInterruption answers when the job is canceled or lost, so that nobody
// has to wait for the daemon's next word.
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

// handBack tells the daemon once to give a job back; one that asks again did
// not understand, and is not answered.
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

// Recover takes the state of a job whose daemon died or let go.
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

// explain makes of an error what the daemon may know of it, with a code that
// tells whether to try again. What is ours is logged here.
func (c *conn) explain(call, job string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if queue.Lost(err) {
		if c.strange(job) {
			c.log.Warn("a provisioner spoke of a job that it does not hold; further words about it are not told", "call", call, "job", job, "reason", err.Error())
		}
		return drpcerr.WithCode(err, provisionerd.CodeLost)
	}
	if e, ok := errors.AsType[*coder.Error](err); ok && e.Code != coder.CodeInternal && e.Code != coder.CodeUnavailable {
		return drpcerr.WithCode(fmt.Errorf("%s", e.Message), provisionerd.CodeRefused)
	}
	c.log.Error("a call of a provisioner failed", "call", call, "job", job, "error", err)
	return errors.New("the server failed to do this; its log says why")
}
