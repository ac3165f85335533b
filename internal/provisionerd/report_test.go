package provisionerd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"storj.io/drpc"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// deskConn is a server that takes what it is told of a job, or never answers.
type deskConn struct {
	hangs  bool
	answer chan struct{} // not nil: what it has taken it answers only then
	said   []string      // the methods called
	lines  []string
	closed chan struct{}
}

func (d *deskConn) Invoke(ctx context.Context, rpc string, _ drpc.Encoding, in, _ drpc.Message) error {
	if d.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	d.said = append(d.said, rpc[strings.LastIndex(rpc, "/")+1:])
	if u, ok := in.(*provisionerd.UpdateJobRequest); ok {
		for _, l := range u.Logs {
			d.lines = append(d.lines, l.Output)
		}
		if d.answer != nil {
			select {
			case d.answer <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

func (d *deskConn) NewStream(context.Context, string, drpc.Encoding) (drpc.Stream, error) {
	return nil, errors.New("no streams")
}
func (d *deskConn) Close() error            { return nil }
func (d *deskConn) Closed() <-chan struct{} { return d.closed }

// A job that ends when its server was slow for half of the lease still tells its
// last lines, also those of an update that had no answer.
func TestLastLinesOfASlowServer(t *testing.T) {
	desk := &deskConn{hangs: true, closed: make(chan struct{})}
	d, err := New(Config{Dial: func(context.Context) (drpc.Conn, error) { return desk, nil }, Engines: map[string]provisioner.Engine{"echo": nil}})
	if err != nil {
		t.Fatal(err)
	}
	job := &provisionerd.AcquiredJob{
		JobId: "job", Fence: 1, LeaseMilliseconds: 20, Type: &provisionerd.AcquiredJob_WorkspaceBuild_{WorkspaceBuild: &provisionerd.AcquiredJob_WorkspaceBuild{}},
	}
	r := newReporter(d, job, func(error) {})
	r.line(&provisioner.Log{Output: "one"})
	if _, err := r.update(t.Context(), &provisionerd.UpdateJobRequest{}); !errors.As(err, &letGoError{}) {
		t.Fatalf("the job is not let go: %v", err)
	}
	r.line(&provisioner.Log{Output: "two"})
	desk.hangs = false
	r.every = time.Hour // nothing of its own beside the end
	if err := r.finish(t.Context(), &provisionerd.CompletedJob{JobId: "job"}, nil); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(desk.said, " "); got != "UpdateJob CompleteJob" {
		t.Errorf("it said %s", got)
	}
	if got := strings.Join(desk.lines, " "); got != "one two" {
		t.Errorf("the lines are %q", got)
	}
}

// Lines that are under way when the job ends are not sent twice.
func TestLinesUnderWayAtTheEnd(t *testing.T) {
	desk := &deskConn{answer: make(chan struct{}), closed: make(chan struct{})}
	d, err := New(Config{Dial: func(context.Context) (drpc.Conn, error) { return desk, nil }, Engines: map[string]provisioner.Engine{"echo": nil}})
	if err != nil {
		t.Fatal(err)
	}
	r := newReporter(d, &provisionerd.AcquiredJob{JobId: "job", Fence: 1, LeaseMilliseconds: 60_000}, func(error) {})
	r.every = time.Hour
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan struct{})
	go func() { defer close(ended); r.loop(ctx) }()
	for range flushLines { // which go at once
		r.line(&provisioner.Log{Output: "one"})
	}
	testwait.Until(t, "the lines are on their way", func() bool { return !r.waiting() })
	stop()
	select {
	case <-desk.answer:
	case <-ended: // it was given up
	}
	<-ended
	desk.answer = nil
	r.line(&provisioner.Log{Output: "two"})
	if err := r.finish(t.Context(), &provisionerd.CompletedJob{JobId: "job"}, nil); err != nil {
		t.Fatal(err)
	}
	if n := len(desk.lines); n != flushLines+1 {
		t.Errorf("%d lines were told, of %d", n, flushLines+1)
	}
}
