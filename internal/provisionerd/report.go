package provisionerd

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"storj.io/drpc/drpcerr"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
)

// How log lines travel. (PRV-22)
const (
	flushEvery = 250 * time.Millisecond
	flushLines = 100
	maxLine    = 64 << 10
	maxError   = 64 << 10
	maxLogs    = 2 << 20 // of one job; the server keeps the half of it
)

// How long things may take.
const (
	leasedUpdate   = time.Second
	upstreamUpdate = 5 * time.Second
	silent         = 4 * time.Minute // then the job is given up here too; a server does so much sooner
	endTimeout     = 2 * time.Minute // to report the end of a job
	lastAnswer     = 5 * time.Second // for the answer to an update under way when the job ends
	inlineModules  = 1 << 20         // module files up to this size go with the result
)

// refusal is a final answer that is not an error of the call.
type refusal struct{ why string }

func (e refusal) Error() string { return e.why }

func (refusal) Code() uint64 { return provisionerd.CodeRefused }

// reporter tells the server about one job: log lines in batches, and at the
// least that it is still being run, and the states that a build reaches. It
// ends the job when the server says that it is canceled or lost. While the
// server cannot be reached the job goes on: a server that was away itself gives
// its daemons a lease to come back, and one that gave the job up says so at the
// first word. But a build, which another daemon may take up, is let go when
// half of the lease has passed: what it makes meanwhile nobody else knows of.
type reporter struct {
	d     *Daemon
	job   *provisionerd.AcquiredJob
	end   context.CancelCauseFunc
	every time.Duration
	kick  chan struct{}
	// urgent is signalled when there is something that is not to wait for more.
	urgent chan struct{}
	silent time.Duration // how long the server may be out of reach

	mu        sync.Mutex
	now       string // stage
	pending   []*provisionerd.Log
	size      int    // of all lines so far
	snapshot  []byte // the state to send, packed
	resumable bool   // all that was made is told

	sending sync.Mutex // lines keep their order
	heard   time.Time  // of the server; guarded by sending
}

func newReporter(d *Daemon, job *provisionerd.AcquiredJob, end context.CancelCauseFunc) *reporter {
	r := &reporter{
		d: d, job: job, end: end, every: leasedUpdate, heard: time.Now(), kick: make(chan struct{}, 1),
		urgent: make(chan struct{}, 1), silent: silent, resumable: job.Fence != 0,
	}
	if job.LeaseMilliseconds <= 0 {
		r.every = upstreamUpdate
	}
	if lease := time.Duration(job.LeaseMilliseconds) * time.Millisecond; lease > 0 && job.GetWorkspaceBuild() != nil {
		r.silent = lease / 2 // the rest is for the tool to stop, before another daemon begins
	}
	if d.UpdateInterval > 0 {
		r.every = d.UpdateInterval
	}
	return r
}

// stage begins a stage and says so with an empty line.
func (r *reporter) stage(name string) {
	r.mu.Lock()
	r.now = name
	r.mu.Unlock()
	r.add(provisionerd.LogSource_PROVISIONER_DAEMON, provisioner.LogLevel_INFO, "")
}

// line takes a line of the engine.
func (r *reporter) line(l *provisioner.Log) {
	r.add(provisionerd.LogSource_PROVISIONER, l.GetLevel(), l.GetOutput())
}

func (r *reporter) add(source provisionerd.LogSource, level provisioner.LogLevel, output string) {
	output = text(output, maxLine)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size > maxLogs {
		return
	}
	if r.size += len(output) + 16; r.size > maxLogs {
		level, output = provisioner.LogLevel_WARN, "The job has logged too much; what follows is not sent."
	}
	r.pending = append(r.pending, &provisionerd.Log{
		Source: source, Level: level, CreatedAt: time.Now().UnixMilli(), Stage: r.now, Output: output,
	})
	if len(r.pending) >= flushLines || len(r.pending) == 1 {
		select {
		case r.kick <- struct{}{}:
		default:
		}
	}
}

// loop sends what is to be sent until ctx ends. What is under way then may still
// be answered: if it were given up, its lines would be sent again, and be in the
// log twice.
func (r *reporter) loop(ctx context.Context) {
	sending, give := context.WithCancel(context.WithoutCancel(ctx))
	defer give()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastAnswer, give) })()
	idle := time.NewTimer(r.every)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-idle.C:
		case <-r.urgent:
		case <-r.kick:
			r.gather(ctx)
		}
		r.sendAndSee(sending)
		idle.Reset(r.every)
	}
}

// gather waits for more lines to go along with the first.
func (r *reporter) gather(ctx context.Context) {
	t := time.NewTimer(flushEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			return
		case <-r.urgent:
			return
		case <-r.kick:
			r.mu.Lock()
			full := len(r.pending) >= flushLines
			r.mu.Unlock()
			if full {
				return
			}
		}
	}
}

// sendAndSee sends the lines that wait and does what the server says.
func (r *reporter) sendAndSee(ctx context.Context) {
	_, err := r.update(ctx, &provisionerd.UpdateJobRequest{})
	if lost := (lostError{}); errors.As(err, &lost) || errors.As(err, &letGoError{}) {
		r.end(err)
		return
	}
	if err != nil && ctx.Err() == nil {
		r.d.Log.Warn("the server does not take an update of the job", "job", r.job.JobId, "error", err)
	}
}

// update sends a request with the lines that wait, again and again until the
// server answers; a job of which it cannot be told for too long is lost.
func (r *reporter) update(ctx context.Context, req *provisionerd.UpdateJobRequest) (*provisionerd.UpdateJobResponse, error) {
	r.sending.Lock()
	defer r.sending.Unlock()
	bounded, cancel := context.WithDeadline(ctx, r.heard.Add(r.silent))
	defer cancel()
	resp, err := r.send(bounded, req)
	switch late := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil; {
	case late && r.silent != silent:
		return nil, letGoError{outOfReach}
	case late:
		return nil, lostError{fmt.Sprintf("the server could not be reached for %s", silent)}
	}
	return resp, err
}

// send is update for who holds sending, for as long as ctx lets it. What did not
// reach the server waits on.
func (r *reporter) send(ctx context.Context, req *provisionerd.UpdateJobRequest) (*provisionerd.UpdateJobResponse, error) {
	r.mu.Lock()
	req.JobId, req.Fence, req.Logs = r.job.JobId, r.job.Fence, r.pending
	req.State, req.Resumable = r.snapshot, r.resumable
	r.pending, r.snapshot = nil, nil
	r.mu.Unlock()
	began := time.Now()
	var resp *provisionerd.UpdateJobResponse
	err := r.d.call(ctx, func(ctx context.Context, c provisionerd.DRPCProvisionerDaemonClient) (err error) {
		resp, err = c.UpdateJob(ctx, req)
		return err
	})
	if err != nil {
		r.mu.Lock()
		r.pending = append(req.Logs, r.pending...)
		if refused := drpcerr.Code(err) == provisionerd.CodeRefused; refused && req.State != nil {
			r.resumable = false // the server will not have it
		} else if r.snapshot == nil {
			r.snapshot = req.State
		}
		r.mu.Unlock()
		return nil, err
	}
	r.heard = began // the lease runs from when the server took it at the earliest
	if resp.Lost {
		return nil, lostError{"the server gave the job to another provisioner or ended it"}
	}
	if resp.Canceled {
		r.end(errCanceled)
	}
	return resp, nil
}

// waiting says whether there are lines that were not sent.
func (r *reporter) waiting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending) > 0
}

// learned sends what an import learned, and gives the answer.
func (r *reporter) learned(ctx context.Context, req *provisionerd.UpdateJobRequest) (*provisionerd.UpdateJobResponse, error) {
	return r.update(ctx, req)
}

// finish sends what is left of the log and then the end of the job, however long
// the server was out of reach before: there is nothing left to let go of.
func (r *reporter) finish(done *provisionerd.CompletedJob, failed *provisionerd.FailedJob) error {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	if r.waiting() {
		r.sending.Lock()
		_, err := r.send(ctx, &provisionerd.UpdateJobRequest{})
		r.sending.Unlock()
		if err != nil {
			if lost := (lostError{}); errors.As(err, &lost) {
				return err
			}
			r.d.Log.Warn("the last lines of a job's log could not be sent", "job", r.job.JobId, "error", err)
		}
	}
	// The result may be large and the line slow: the lease is kept up meanwhile.
	sending, sent := context.WithCancel(ctx)
	defer sent()
	go r.alive(sending)
	return r.d.call(ctx, func(ctx context.Context, c provisionerd.DRPCProvisionerDaemonClient) (err error) {
		if failed != nil {
			_, err = c.FailJob(ctx, failed)
			return err
		}
		_, err = c.CompleteJob(ctx, done)
		return err
	})
}

// alive says that the job is still held until ctx ends. What the server
// answers is of no use: the result is on its way.
func (r *reporter) alive(ctx context.Context) {
	t := time.NewTicker(r.every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if client, err := r.d.link.get(ctx); err == nil {
			r.mu.Lock()
			resumable := r.resumable
			r.mu.Unlock()
			client.UpdateJob(ctx, &provisionerd.UpdateJobRequest{JobId: r.job.JobId, Fence: r.job.Fence, Resumable: resumable}) //nolint:errcheck // as above
		}
	}
}

// moduleFiles puts a template's modules into the result, or uploads them when
// they are large and puts their hash there.
func (r *reporter) moduleFiles(ctx context.Context, init *provisioner.InitComplete, out *provisionerd.CompletedJob_TemplateImport) error {
	data := init.GetModuleFiles()
	if len(data) == 0 {
		return nil
	}
	sum := sha256.Sum256(data)
	out.ModuleFilesHash = sum[:]
	if len(data) <= inlineModules {
		out.ModuleFiles = data
		return nil
	}
	return r.d.call(ctx, func(ctx context.Context, c provisionerd.DRPCProvisionerDaemonClient) error {
		// The server learns over this connection whose files they are.
		if _, err := c.UpdateJob(ctx, &provisionerd.UpdateJobRequest{JobId: r.job.JobId, Fence: r.job.Fence}); err != nil {
			return err
		}
		return upload(ctx, c, data, sum[:])
	})
}

func upload(ctx context.Context, c provisionerd.DRPCProvisionerDaemonClient, data, sum []byte) error {
	stream, err := c.UploadFile(ctx)
	if err != nil {
		return err
	}
	chunks := (len(data) + provisionerd.Chunk - 1) / provisionerd.Chunk
	err = stream.Send(&provisioner.FileUpload{Type: &provisioner.FileUpload_DataUpload{DataUpload: &provisioner.DataUpload{
		UploadType: provisioner.DataUploadType_UPLOAD_TYPE_MODULE_FILES, DataHash: sum, FileSize: int64(len(data)), Chunks: int32(chunks),
	}}})
	for i := 0; i < chunks && err == nil; i++ {
		err = stream.Send(&provisioner.FileUpload{Type: &provisioner.FileUpload_ChunkPiece{ChunkPiece: &provisioner.ChunkPiece{
			Data: data[i*provisionerd.Chunk : min(len(data), (i+1)*provisionerd.Chunk)], FullDataHash: sum, PieceIndex: int32(i),
		}}})
	}
	_, end := stream.CloseAndRecv()
	if drpcerr.Code(end) != 0 {
		return end // the server's reason, not that a piece could not be sent
	}
	return errors.Join(err, end)
}

// text makes a string that the wire takes: valid UTF-8 without NUL, not too long.
func text(s string, limit int) string {
	cut := ""
	if len(s) > limit {
		cut = fmt.Sprintf(" … (%d bytes cut)", len(s)-limit)
		s = s[:limit]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD") + cut
}
