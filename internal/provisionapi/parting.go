package provisionapi

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/keyring"
)

// A connection whose key expired or was deleted is drained. It receives no new
// job from that moment. With an expired key, the running job is finished. With
// a deleted key, the job is handed back: a daemon that supports it returns its
// state and another daemon continues; a daemon of the original protocol is told
// that the job is canceled and fails it with its state; jobs without outside
// again elsewhere. Then the connection is closed.
const (
	// partingTime is the time that a daemon with a deleted key has to hand back
	// its jobs. After it, they are taken from the daemon.
	partingTime = 30 * time.Second
	// partingLook is the interval of checks whether the jobs have ended. Ends
	// that arrive over this connection are noticed at once.
	partingLook = 2 * time.Second
)

// parting drains a connection.
type parting struct {
	ended, now func() context.Context // ended once no more jobs are handed out; now ends once running jobs must be handed back
	end, hurry context.CancelCauseFunc
	freed      chan struct{} // signaled when a job left the connection or a call ended
}

func newParting() *parting {
	ended, end := context.WithCancelCause(context.Background())
	now, hurry := context.WithCancelCause(context.Background())
	return &parting{
		ended: func() context.Context { return ended }, now: func() context.Context { return now },
		end: end, hurry: hurry, freed: make(chan struct{}, 1),
	}
}

// begin starts to drain. It is called once, when the connection's key ended.
func (p *parting) begin(e keyring.End) {
	why := codersdk.Errorf(codersdk.CodeUnauthenticated, "This provisioner is being disconnected: %s", e.Why)
	if e.Revoked {
		p.hurry(why)
	}
	p.end(why)
}

func (p *parting) begun() bool { return p.ended().Err() != nil }

func (p *parting) urgent() bool { return p.now().Err() != nil }

// why returns the error with which requests for jobs are refused while
// draining.
func (p *parting) why() error { return context.Cause(p.ended()) }

func (p *parting) moved() {
	select {
	case p.freed <- struct{}{}:
	default:
	}
}

// part drains the connection. It returns after all jobs have ended and every
// call was served, or when ctx ends.
func (c *conn) part(ctx context.Context) {
	c.log.Warn("disconnecting a provisioner", "reason", c.parting.why())
	if c.parting.urgent() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, partingTime)
		defer cancel()
		c.takeAway(ctx, false)
	}
	look := time.NewTicker(partingLook)
	defer look.Stop()
	for c.working(ctx) {
		select {
		case <-ctx.Done():
			c.takeAway(context.WithoutCancel(ctx), true)
			return
		case <-c.parting.freed:
		case <-look.C:
		}
	}
	last := time.NewTimer(partingLook)
	defer last.Stop()
	for c.calls.Load() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-last.C: // the daemon asks for another job
			return
		case <-c.parting.freed:
		}
	}
}

// working reports whether the daemon still holds a job of this connection, and
// forgets the jobs that it lost.
func (c *conn) working(ctx context.Context) bool {
	for job, fence := range c.jobs() {
		holds, _, err := c.queue.Holds(ctx, c.worker, job, fence)
		if err != nil || holds {
			return true
		}
		c.drop(job.String())
	}
	return false
}

// takeAway takes jobs of this connection from the daemon: all of them, or only
// those that have no outside effect.
func (c *conn) takeAway(ctx context.Context, all bool) {
	if !c.parting.urgent() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, partingTime)
	defer cancel()
	for job, fence := range c.jobs() {
		holds, build, err := c.queue.Holds(ctx, c.worker, job, fence)
		if err == nil && holds && (all || !build) {
			err = c.queue.TakeAway(ctx, c.worker, job, fence, fmt.Sprintf("The provisioner %q was disconnected because its key was deleted.", c.worker.Name))
		}
		if err != nil {
			c.log.Warn("taking a job from a disconnected provisioner failed; its lease will expire", "job", job, "error", err)
		}
	}
}

// jobs returns the jobs of this connection that have not ended over it.
func (c *conn) jobs() map[uuid.UUID]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[uuid.UUID]int64, len(c.fences))
	for job, fence := range c.fences {
		if id, err := uuid.Parse(job); err == nil {
			out[id] = fence
		}
	}
	return out
}

// until returns a context that ends with ctx or with other.
func until(ctx, other context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(other, cancel)
	return ctx, func() { stop(); cancel() }
}
