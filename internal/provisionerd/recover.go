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
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// claim identifies the job of a stored state.
type claim struct {
	Job   string `json:"job"`
	Fence int64  `json:"fence"`
}

// letGoError ends a job that another daemon may continue.
type letGoError struct{ why string }

func (e letGoError) Error() string { return e.why }

// Reasons to release a job.
const (
	outOfReach = "the server was unreachable for as long as it waits for a silent provisioner"
	sentAway   = "the server revoked this provisioner's access and reclaimed the job"
)

// watch reports the state while it changes, where the engine and the server
// support that, and verifies a last time that the job is still held. It is
// called right before the apply.
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

// interruptions ends the job as soon as the server reports it as canceled or
// lost, until ctx ends. Otherwise only the next update would find out.
func (r *runner) interruptions(ctx context.Context) {
	wait := lifecycle.Backoff{First: retryFirst}
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
			wait.Sleep(ctx)
		case why.Lost && ctx.Err() == nil:
			r.report.end(lostError{"the server assigned the job to another provisioner or ended it"})
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

// returnState sends the state of a released job to the server, which queues the
// job again.
func (r *runner) returnState(ctx context.Context, failed *provisionerd.FailedJob) error {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	err := r.d.handOver(ctx, claim{r.job.JobId, r.job.Fence}, failed.GetWorkspaceBuild().GetState())
	if errors.Is(err, provisioner.ErrStale) {
		return lostError{err.Error()}
	}
	return err
}

// recover reports the states of jobs that died with an earlier process.
func (d *Daemon) recover(ctx context.Context) {
	for _, name := range slices.Sorted(maps.Keys(d.Engines)) {
		engine, ok := d.Engines[name].(provisioner.Recoverer)
		if !ok {
			continue
		}
		err := engine.Leftovers(func(text string, state []byte) error {
			var c claim
			if err := json.Unmarshal([]byte(text), &c); err != nil {
				return fmt.Errorf("read the job of a stored state: %w", err)
			}
			if err := d.handOver(ctx, c, state); err != nil {
				return fmt.Errorf("the stored state of job %s: %w", c.Job, err)
			}
			d.Log.Info("reported the state of a dead job to the server", "job", c.Job)
			return nil
		})
		if err != nil && ctx.Err() == nil {
			d.Log.Warn("the server did not accept states of dead jobs; they are kept for a day", "error", err)
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
	var taken *provisionerd.LeftoverTaken
	err := d.callUnless(ctx, sentAwayFor, func(ctx context.Context, client provisionerd.DRPCProvisionerDaemonClient) (err error) {
		taken, err = provisionerd.NewDRPCExtensionsClient(client.DRPCConn()).Recover(ctx, req)
		return err
	})
	if err == nil && taken.GetStale() {
		return fmt.Errorf("%w; resources that exist only in this state may have leaked", provisioner.ErrStale)
	}
	return err
}

// pack compresses a state for the wire.
func pack(state []byte) ([]byte, error) {
	if len(state) > provisionerd.MaxState {
		return nil, fmt.Errorf("the state exceeds the limit of %d MiB", provisionerd.MaxState>>20)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(state)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

// state receives a state of a running build. The newest is sent immediately;
// superseded ones are dropped.
func (r *reporter) state(state []byte) {
	packed, err := pack(state)
	if err != nil {
		r.d.Log.Warn("cannot report the state of a running build", "job", r.job.JobId, "error", err)
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

// opaque records that later changes of the state are not reported.
func (r *reporter) opaque() {
	r.mu.Lock()
	r.resumable = false
	r.mu.Unlock()
}
