package provisionapi

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/keyring"
)

// How a connection ends whose key ended. It takes no new job from that moment.
// When the key expired, the job that runs is finished. When the key was
// deleted, the job is handed back: a daemon that knows how gives its state and
// another goes on, one of the original protocol is told that the job is
// canceled and fails it with its state, and what has no effect outside is run
// again elsewhere. Then the connection is closed.
const (
	// partingTime is how long a daemon whose key was deleted may take to hand
	// its jobs back; then they are taken from it.
	partingTime = 30 * time.Second
	// partingLook is how often it is seen whether its jobs are over; their
	// ends over this very connection are seen at once.
	partingLook = 2 * time.Second
)

// parting is the end of a connection that is sent away.
type parting struct {
	ended, now func() context.Context // what ends when it takes no more jobs, and when those it runs are to be handed back
	end, hurry context.CancelCauseFunc
	freed      chan struct{} // signalled when a job left the connection, or a call ended
}

func newParting() *parting {
	ended, end := context.WithCancelCause(context.Background())
	now, hurry := context.WithCancelCause(context.Background())
	return &parting{
		ended: func() context.Context { return ended }, now: func() context.Context { return now },
		end: end, hurry: hurry, freed: make(chan struct{}, 1),
	}
}

// begin is called once, when the connection's key ended.
func (p *parting) begin(e keyring.End) {
	why := coder.Errorf(coder.CodeUnauthenticated, "This provisioner is sent away: %s", e.Why)
	if e.Revoked {
		p.hurry(why)
	}
	p.end(why)
}

func (p *parting) begun() bool { return p.ended().Err() != nil }

func (p *parting) urgent() bool { return p.now().Err() != nil }

// why is what a connection that is sent away says to requests for jobs.
func (p *parting) why() error { return context.Cause(p.ended()) }

func (p *parting) moved() {
	select {
	case p.freed <- struct{}{}:
	default:
	}
}

// part is called when the connection's key ended, and returns when its jobs
// have ended too and every call was answered, or when ctx ends.
func (c *conn) part(ctx context.Context) {
	c.log.Warn("a provisioner is sent away", "reason", c.parting.why())
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
		case <-last.C: // it asks for more
			return
		case <-c.parting.freed:
		}
	}
}

// working says whether the daemon still has a job of this connection, and
// forgets those that it lost.
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

// takeAway takes the jobs of this connection from the daemon: all, or those
// that are no builds and of which nothing remains.
func (c *conn) takeAway(ctx context.Context, all bool) {
	if !c.parting.urgent() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, partingTime)
	defer cancel()
	for job, fence := range c.jobs() {
		holds, build, err := c.queue.Holds(ctx, c.worker, job, fence)
		if err == nil && holds && (all || !build) {
			err = c.queue.TakeAway(ctx, c.worker, job, fence, fmt.Sprintf("The provisioner %q was sent away: its key was deleted.", c.worker.Name))
		}
		if err != nil {
			c.log.Warn("cannot take a job from a provisioner that was sent away; its lease will run out", "job", job, "error", err)
		}
	}
}

// jobs gives the jobs that went over this connection and did not end over it.
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

// until gives a context that ends with ctx, or with the other.
func until(ctx, other context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(other, cancel)
	return ctx, func() { stop(); cancel() }
}
