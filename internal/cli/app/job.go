package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// Watch is a job that a command waits for: where its log is, and how to ask
// for its state.
type Watch struct {
	Client *client.Client
	Logs   string // API path of the log
	Job    func(context.Context) (coder.ProvisionerJob, error)
	GoesOn string // said when the user stops watching
	// Warning is what the server said when it took the job, or "": that no
	// provisioner would take it.
	Warning string
}

// Follow shows the log of a job as it grows, stage by stage, until the job is
// finished. A job that failed or was canceled is an error.
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
		v.endStage(job.Status == coder.ProvisionerJobStatusSucceeded, *job.CompletedAt)
	}
	return JobError(job)
}

// followUntilDone reads the log, again from where it broke off when the
// connection is lost, until the job is finished.
func (a *Run) followUntilDone(ctx context.Context, w Watch, v *jobView, begun func()) (coder.ProvisionerJob, error) {
	var failures int
	for {
		q := url.Values{"follow": {"true"}, "after": {strconv.FormatInt(v.last, 10)}}
		err := client.Follow(ctx, w.Client, w.Logs, q, func(raw json.RawMessage) error {
			lines, err := decodeLines[coder.ProvisionerJobLog](raw)
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
			return coder.ProvisionerJob{}, ctx.Err()
		}
		var answered *coder.Error
		if failures++; err != nil && (errors.As(err, &answered) || failures > 10) {
			return coder.ProvisionerJob{}, err
		}
		job, jerr := w.Job(ctx)
		if jerr == nil && Finished(job.Status) {
			return job, nil
		}
		if err := Pause(ctx, time.Second); err != nil {
			return coder.ProvisionerJob{}, err
		}
	}
}

// decodeLines reads one line or a list of lines.
func decodeLines[T any](raw json.RawMessage) ([]T, error) {
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		var lines []T
		return lines, json.Unmarshal(raw, &lines)
	}
	var one T
	err := json.Unmarshal(raw, &one)
	return []T{one}, err
}

// Finished says that a job has ended, well or not.
func Finished(s coder.ProvisionerJobStatus) bool {
	switch s {
	case coder.ProvisionerJobStatusSucceeded, coder.ProvisionerJobStatusFailed, coder.ProvisionerJobStatusCanceled:
		return true
	}
	return false
}

// JobError says why a finished job did not succeed.
func JobError(job coder.ProvisionerJob) error {
	switch job.Status {
	case coder.ProvisionerJobStatusSucceeded:
		return nil
	case coder.ProvisionerJobStatusCanceled:
		return coder.Errorf(coder.CodePrecondition, "the job was canceled")
	}
	e := coder.Errorf(coder.CodePrecondition, "the job failed")
	e.Detail = job.Error
	return e
}

// Pause waits, unless ctx ends first.
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

// jobView prints the lines of a job's log under their stages.
type jobView struct {
	app     *Run
	spinner *terminal.Spinner
	stage   string
	begun   time.Time // of the stage, by the clock of the server
	last    int64
}

// endStage marks the end of the stage that is shown.
func (v *jobView) endStage(ok bool, at time.Time) {
	if v.stage == "" {
		v.spinner.Done(ok)
		return
	}
	v.spinner.DoneIn(ok, max(0, at.Sub(v.begun)))
}

func (v *jobView) line(l coder.ProvisionerJobLog) {
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
	case coder.LogLevelError:
		text = p.Red(text)
	case coder.LogLevelWarn:
		text = p.Yellow(text)
	case coder.LogLevelInfo:
		text = p.Dim(text)
	case coder.LogLevelDebug, coder.LogLevelTrace:
		if !v.app.Verbose {
			return
		}
		text = p.Dim(text)
	}
	v.spinner.Print("    " + text)
}
