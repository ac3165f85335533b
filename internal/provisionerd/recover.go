package provisionerd

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"storj.io/drpc/drpcerr"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
)

// claim is what is kept beside the state of a job, to know it again.
type claim struct {
	Job   string `json:"job"`
	Fence int64  `json:"fence"`
}

// letGoError ends a job that another daemon may go on with.
type letGoError struct{ why string }

func (e letGoError) Error() string { return e.why }

// What makes a daemon let go of a job.
const (
	outOfReach = "the server could not be reached for as long as it leaves a build with a silent provisioner"
	sentAway   = "the server sent this provisioner away, and wants the job back"
)

// watch lets the server know the state while it changes, where both the engine
// and the server can do so, and asks for a last time whether the job is still
// held. It is called right before the apply.
func (r *runner) watch(ctx context.Context, s provisioner.Session) error {
	w, ok := s.(provisioner.Snapshotter)
	if r.job.Fence == 0 {
		return nil
	}
	if ok {
		c, err := json.Marshal(claim{r.job.JobId, r.job.Fence})
		if err != nil {
			return err
		}
		w.Watch(string(c), r.report.state)
	} else {
		r.report.opaque()
	}
	_, err := r.report.update(ctx, &provisionerd.UpdateJobRequest{})
	if ended := (lostError{}); errors.As(err, &ended) || errors.As(err, &letGoError{}) {
		r.report.end(err)
	}
	return err
}

// interruptions ends the job as soon as the server says that it is canceled or
// lost, until ctx ends. Without it the next update would learn of it.
func (r *runner) interruptions(ctx context.Context) {
	wait := backoff{}
	for ctx.Err() == nil {
		client, err := r.d.link.get(ctx)
		if err != nil {
			return
		}
		ext := provisionerd.NewDRPCExtensionsClient(client.DRPCConn())
		why, err := ext.AwaitInterruption(ctx, &provisionerd.JobClaim{JobId: r.job.JobId, Fence: r.job.Fence})
		switch code := drpcerr.Code(err); {
		case code == drpcerr.Unimplemented || code == provisionerd.CodeRefused:
			return
		case err != nil:
			wait.sleep(ctx)
		case why.Lost && ctx.Err() == nil:
			r.report.end(lostError{"the server gave the job to another provisioner or ended it"})
			return
		case why.Canceled:
			r.report.end(errCanceled)
			return
		case why.HandBack:
			r.report.end(letGoError{sentAway})
			return
		}
	}
}

// handBack gives the state of a job that was let go to the server, which puts
// the job back among those that wait.
func (r *runner) handBack(ctx context.Context, failed *provisionerd.FailedJob) error {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	return r.d.handOver(ctx, claim{r.job.JobId, r.job.Fence}, failed.GetWorkspaceBuild().GetState())
}

// recover hands over what jobs left behind that died with an earlier process.
func (d *Daemon) recover(ctx context.Context) {
	for _, name := range slices.Sorted(maps.Keys(d.Engines)) {
		engine, ok := d.Engines[name].(provisioner.Recoverer)
		if !ok {
			continue
		}
		err := engine.Leftovers(func(text string, state []byte) error {
			var c claim
			if err := json.Unmarshal([]byte(text), &c); err != nil {
				return fmt.Errorf("read whose state was left: %w", err)
			}
			if err := d.handOver(ctx, c, state); err != nil {
				return fmt.Errorf("the state that job %s left: %w", c.Job, err)
			}
			d.Log.Info("the state of a job that died was handed to the server", "job", c.Job)
			return nil
		})
		if err != nil && ctx.Err() == nil {
			d.Log.Warn("states that jobs left behind are kept for a day; the server did not take them", "error", err)
		}
	}
}

func (d *Daemon) handOver(ctx context.Context, c claim, state []byte) error {
	req := &provisionerd.Leftover{JobId: c.Job, Fence: c.Fence}
	if len(state) > 0 {
		var err error
		if req.State, err = pack(state); err != nil {
			return err
		}
	}
	return d.callUnless(ctx, sentAwayFor, func(ctx context.Context, client provisionerd.DRPCProvisionerDaemonClient) error {
		taken, err := provisionerd.NewDRPCExtensionsClient(client.DRPCConn()).Recover(ctx, req)
		if err == nil && taken.Stale {
			err = lostError{"the workspace went on without it; what it names beyond the workspace's state may have leaked"}
		}
		return err
	})
}

// pack compresses a state for the wire.
func pack(state []byte) ([]byte, error) {
	if len(state) > provisionerd.MaxState {
		return nil, fmt.Errorf("the state is larger than %d MiB", provisionerd.MaxState>>20)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(state)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

// state takes a state that a build reached. The newest goes at once; those
// that it overtakes are not sent.
func (r *reporter) state(state []byte) {
	packed, err := pack(state)
	if err != nil {
		r.d.Log.Warn("the state of a build cannot be told while it runs", "job", r.job.JobId, "error", err)
		r.opaque()
		return
	}
	r.mu.Lock()
	r.snapshot = packed
	r.mu.Unlock()
	select {
	case r.urgent <- struct{}{}:
	default:
	}
}

// opaque says that what the job makes from now on is not told.
func (r *reporter) opaque() {
	r.mu.Lock()
	r.resumable = false
	r.mu.Unlock()
}
