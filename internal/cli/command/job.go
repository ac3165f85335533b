package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// Watch is a job that a command waits for: the path of its log, and a function
// that returns its state.
type Watch struct {
	Client *codersdk.Client
	Logs   string // API path of the log
	Job    func(context.Context) (codersdk.ProvisionerJob, error)
	GoesOn string // printed when the user stops watching
	// Warning is the server's warning when it queued the job, or "". The server
	// warns when no provisioner matches the job.
	Warning string
}

// Follow prints the log of a job, stage by stage, until the job is finished. It
// returns an error when the job failed or was canceled.
func (a *Run) Follow(ctx context.Context, w Watch) error {
	v := &jobView{app: a, spinner: a.Spin("Waiting for a provisioner")}
	queue, stop := context.WithCancel(ctx)
	waiting := make(chan struct{})
	go func() {
		defer close(waiting)
		v.showQueue(queue, w)
	}()
	job, err := a.followUntilDone(ctx, w, v, stop)
	stop()
	<-waiting
	if err != nil {
		v.spinner.Done(false)
		if ctx.Err() != nil && w.GoesOn != "" {
			fmt.Fprintln(a.Stderr, w.GoesOn)
		}
		return err
	}
	if job.CompletedAt != nil {
		v.endStage(job.Status == codersdk.ProvisionerJobStatusSucceeded, *job.CompletedAt)
	}
	return JobError(job)
}

// followUntilDone streams the log until the job is finished. After a lost
// connection it resumes behind the last line that it received.
func (a *Run) followUntilDone(ctx context.Context, w Watch, v *jobView, begun func()) (codersdk.ProvisionerJob, error) {
	var failures int
	for {
		q := url.Values{"follow": {"true"}, "after": {strconv.FormatInt(v.last, 10)}}
		err := codersdk.Follow(ctx, w.Client, w.Logs, q, func(raw json.RawMessage) error {
			lines, err := decodeLines[codersdk.ProvisionerJobLog](raw)
			if err != nil {
				return err
			}
			begun()
			for _, l := range lines {
				v.line(l)
			}
			return nil
		})
		if ctx.Err() != nil {
			return codersdk.ProvisionerJob{}, ctx.Err()
		}
		var answered *codersdk.Error
		if failures++; err != nil && (errors.As(err, &answered) || failures > 10) {
			return codersdk.ProvisionerJob{}, err
		}
		job, jerr := w.Job(ctx)
		if jerr == nil && Finished(job.Status) {
			return job, nil
		}
		if err := Pause(ctx, time.Second); err != nil {
			return codersdk.ProvisionerJob{}, err
		}
	}
}

// decodeLines decodes one log line or an array of them.
func decodeLines[T any](raw json.RawMessage) ([]T, error) {
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		var lines []T
		return lines, json.Unmarshal(raw, &lines)
	}
	var one T
	err := json.Unmarshal(raw, &one)
	return []T{one}, err
}

// Finished reports whether a job has ended, successfully or not.
func Finished(s codersdk.ProvisionerJobStatus) bool {
	switch s {
	case codersdk.ProvisionerJobStatusSucceeded, codersdk.ProvisionerJobStatusFailed, codersdk.ProvisionerJobStatusCanceled:
		return true
	}
	return false
}

// JobError returns the reason why a finished job did not succeed, or nil.
func JobError(job codersdk.ProvisionerJob) error {
	switch job.Status {
	case codersdk.ProvisionerJobStatusSucceeded:
		return nil
	case codersdk.ProvisionerJobStatusCanceled:
		return codersdk.Errorf(codersdk.CodePrecondition, "the job was canceled")
	}
	e := codersdk.Errorf(codersdk.CodePrecondition, "the job failed")
	e.Detail = job.Error
	return e
}

// Pause waits for d, or returns the error of ctx when ctx ends first.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// jobView prints the lines of a job's log below their stages.
type jobView struct {
	app     *Run
	spinner *terminal.Spinner
	stage   string
	begun   time.Time // start of the stage, by the server's clock
	last    int64
}

// endStage marks the end of the current stage.
func (v *jobView) endStage(ok bool, at time.Time) {
	if v.stage == "" {
		v.spinner.Done(ok)
		return
	}
	v.spinner.DoneIn(ok, max(0, at.Sub(v.begun)))
}

func (v *jobView) line(l codersdk.ProvisionerJobLog) {
	if l.ID <= v.last && l.ID != 0 {
		return
	}
	v.last = l.ID
	if l.Stage != v.stage && l.Stage != "" {
		v.endStage(true, l.CreatedAt)
		v.stage, v.begun = l.Stage, l.CreatedAt
		v.spinner.Begin(l.Stage)
	}
	if l.Output == "" {
		return
	}
	text, p := l.Output, v.spinner.Painter
	switch l.LogLevel {
	case codersdk.LogLevelError:
		text = p.Red(text)
	case codersdk.LogLevelWarn:
		text = p.Yellow(text)
	case codersdk.LogLevelInfo:
		text = p.Dim(text)
	case codersdk.LogLevelDebug, codersdk.LogLevelTrace:
		if !v.app.Verbose {
			return
		}
		text = p.Dim(text)
	}
	v.spinner.Print("    " + text)
}
