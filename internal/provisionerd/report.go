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
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// Bounds of log batches. (PRV-22)
const (
	flushEvery = 250 * time.Millisecond
	flushLines = 100
	maxLine    = 64 << 10
	maxError   = 64 << 10
	maxLogs    = 2 << 20 // per job; the server stores half of it
)

// Timeouts.
const (
	leasedUpdate   = time.Second
	upstreamUpdate = 5 * time.Second
	silent         = 4 * time.Minute // then the daemon abandons the job too; a server does so much earlier
	endTimeout     = 2 * time.Minute // to report the end of a job
	lastAnswer     = 5 * time.Second // for the answer to an update in progress when the job ends
	inlineModules  = 1 << 20         // module archives up to this size are part of the result
)

// refusal is a final answer of the server that is not an error of the call.
type refusal struct{ why string }

func (e refusal) Error() string { return e.why }

func (refusal) Code() uint64 { return provisionerd.CodeRefused }

// reporter reports one job to the server: log lines in batches, heartbeats, and
// the states of a build. It ends the job when the server reports it as canceled
// or lost. While the server is unreachable the job continues: a restarted
// server extends the leases of its daemons, and one that abandoned the job
// reports that in its first answer. A build that another daemon may continue is
// released when half of the lease has passed, because nobody else knows its new
// resources.
type reporter struct {
	d     *Daemon
	job   *provisionerd.AcquiredJob
	end   context.CancelCauseFunc
	every time.Duration
	kick  chan struct{}
	// urgent is signaled when there is something to send immediately.
	urgent chan struct{}
	silent time.Duration // maximum time without an answer of the server

	mu        sync.Mutex
	now       string // current stage
	pending   []*provisionerd.Log
	size      int    // total bytes of lines
	snapshot  []byte // the state to send, compressed
	resumable bool   // the server knows all resources

	sending sync.Mutex // keeps the order of lines
	heard   time.Time  // last answer of the server; guarded by sending
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
		r.silent = lease / 2 // the rest is for the tool to stop before another daemon starts
	}
	if d.UpdateInterval > 0 {
		r.every = d.UpdateInterval
	}
	return r
}

// stage starts a stage, reported by an empty line.
func (r *reporter) stage(name string) {
	r.mu.Lock()
	r.now = name
	r.mu.Unlock()
	r.add(provisionerd.LogSource_PROVISIONER_DAEMON, provisioner.LogLevel_INFO, "")
}

// line receives a log line of the engine.
func (r *reporter) line(l *provisioner.Log) {
	r.add(provisionerd.LogSource_PROVISIONER, l.GetLevel(), l.GetOutput())
}

func (r *reporter) add(source provisionerd.LogSource, level provisioner.LogLevel, output string) {
	output = wireText(output, maxLine)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size > maxLogs {
		return
	}
	if r.size += len(output) + 16; r.size > maxLogs {
		level, output = provisioner.LogLevel_WARN, "The log limit of the job is reached; further lines are dropped."
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

// loop sends pending data until ctx ends. An update in progress may still be
// answered; otherwise its lines would be sent twice.
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

// gather waits for more lines to batch.
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

// sendAndSee sends the pending lines and applies the server's answer.
func (r *reporter) sendAndSee(ctx context.Context) {
	_, err := r.update(ctx, &provisionerd.UpdateJobRequest{})
	if lost := (lostError{}); errors.As(err, &lost) || errors.As(err, &letGoError{}) {
		r.end(err)
		return
	}
	if err != nil && ctx.Err() == nil {
		r.d.Log.Warn("the server rejected an update of the job", "job", r.job.JobId, "error", err)
	}
}

// update sends a request with the pending lines, and repeats it until the
// server answers. A job that cannot be reported for too long is lost.
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
		return nil, lostError{fmt.Sprintf("the server was unreachable for %s", silent)}
	}
	return resp, err
}

// send is update for a caller that holds sending, bounded by ctx. Unsent lines
// remain pending.
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
			r.resumable = false // the server does not accept it
		} else if r.snapshot == nil {
			r.snapshot = req.State
		}
		r.mu.Unlock()
		return nil, err
	}
	r.heard = began // the server extended the lease after began
	if resp.Lost {
		return nil, lostError{"the server assigned the job to another provisioner or ended it"}
	}
	if resp.Canceled {
		r.end(errCanceled)
	}
	return resp, nil
}

// waiting reports whether there are unsent lines.
func (r *reporter) waiting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending) > 0
}

// sendFindings sends the findings of an import and returns the answer.
func (r *reporter) sendFindings(ctx context.Context, req *provisionerd.UpdateJobRequest) (*provisionerd.UpdateJobResponse, error) {
	return r.update(ctx, req)
}

// finish sends the rest of the log and then the result of the job. It retries
// even after a long outage, because nothing is left to release.
func (r *reporter) finish(ctx context.Context, done *provisionerd.CompletedJob, failed *provisionerd.FailedJob) error {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	if r.waiting() {
		r.sending.Lock()
		_, err := r.send(ctx, &provisionerd.UpdateJobRequest{})
		r.sending.Unlock()
		if err != nil {
			if lost := (lostError{}); errors.As(err, &lost) {
				return err
			}
			r.d.Log.Warn("cannot send the last log lines of a job", "job", r.job.JobId, "error", err)
		}
	}
	// The result may be large and the connection slow, so the lease is renewed
	// meanwhile.
	sending, sent := context.WithCancel(ctx)
	defer sent()
	go r.renewLease(sending)
	return r.d.call(ctx, func(ctx context.Context, c provisionerd.DRPCProvisionerDaemonClient) (err error) {
		if failed != nil {
			_, err = c.FailJob(ctx, failed)
			return err
		}
		_, err = c.CompleteJob(ctx, done)
		return err
	})
}

// renewLease renews the lease until ctx ends. It ignores the answers, because the
// result is being sent.
func (r *reporter) renewLease(ctx context.Context) {
	lifecycle.Every(ctx, r.every, func(ctx context.Context) {
		if client, err := r.d.link.get(ctx); err == nil {
			r.mu.Lock()
			resumable := r.resumable
			r.mu.Unlock()
			client.UpdateJob(ctx, &provisionerd.UpdateJobRequest{JobId: r.job.JobId, Fence: r.job.Fence, Resumable: resumable}) //nolint:errcheck // as above
		}
	})
}

// moduleFiles adds a template's module archive to the result, or uploads it if
// it is large and adds its hash.
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
		// The server associates the files with the job of this connection.
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
		return end // the server's reason is more useful than the error of the upload
	}
	return errors.Join(err, end)
}

// wireText returns a string for the wire: valid UTF-8 without NUL, at most limit
// bytes.
func wireText(s string, limit int) string {
	cut := ""
	if len(s) > limit {
		cut = fmt.Sprintf(" … (%d bytes cut)", len(s)-limit)
		s = s[:limit]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD") + cut
}
