package terraform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/terraform/cage"
)

// command is one run of Terraform in a session's group.
type command struct {
	args   []string
	env    []string
	stdout func(line []byte) // nil collects the whole output
	stderr func(line []byte)
	cage   *cage.Cage
	// started reports whether the command may have created something; nil if it
	// never does.
	started func() bool
}

const (
	// look is how long the output of a stopped Terraform is awaited.
	look = 100 * time.Millisecond
	// insist is the delay of a second interrupt, which ends a command that
	// creates nothing at once.
	insist = time.Second
)

// maxLine bounds one line of output, in bytes; the rest is dropped.
const maxLine = 1 << 20

// maxOutput bounds the collected output of a command, such as a plan as JSON.
const maxOutput = 256 << 20

// exitError reports that Terraform ran and failed, or was ended.
type exitError struct {
	status   int
	canceled bool
}

func (e *exitError) Error() string {
	if e.canceled {
		return "terraform was canceled"
	}
	return fmt.Sprintf("terraform exited with status %d", e.status)
}

// run runs a command to its end. When ctx ends, the group is interrupted and,
// after the grace period, killed. The callbacks are never called concurrently.
// The error is an *exitError if Terraform failed, or another one if it could
// not run.
func run(ctx context.Context, binary, dir string, leader int, grace time.Duration, c command) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, &exitError{canceled: true}
	}
	var mu sync.Mutex
	collected := &bounded{limit: maxOutput}
	cmd := exec.Command(binary, c.args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, c.env, c.cage.Hold(inGroup(leader))
	// A process that a template leaves behind may keep the pipes open.
	cmd.WaitDelay = 2 * time.Second
	stderr := &lines{mu: &mu, each: c.stderr}
	stdout := &lines{mu: &mu, each: c.stdout}
	cmd.Stderr = stderr
	if cmd.Stdout = stdout; c.stdout == nil {
		cmd.Stdout = collected
	}
	done, started := make(chan error, 1), make(chan error, 1)
	go func() {
		// The kernel ties the death signal to the thread that started the
		// child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			done <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", binary, err)
	}
	p := process{done: done, leader: leader, cmd: cmd}
	err := p.wait(ctx, grace, c.started)
	stdout.flush()
	stderr.flush()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return collected.Bytes(), &exitError{status: exit.ExitCode(), canceled: ctx.Err() != nil}
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return nil, fmt.Errorf("run %s: %w", binary, err)
	}
	return collected.Bytes(), nil
}

// process is a command that runs in the group of a leader.
type process struct {
	done   <-chan error
	leader int
	cmd    *exec.Cmd
}

// wait waits for the process. If ctx ends first, it interrupts the group and
// kills it after the grace period.
//
// An interrupt that arrives before Terraform starts to apply is lost: Terraform
// reports that it stops, and continues. So Terraform is first stopped with
// SIGSTOP. If it has not started to create anything, it is killed without loss.
// Otherwise it continues, is interrupted, and stores what was created. A second
// interrupt would end it without storing, so there is only one, except for
// commands that create nothing.
func (p process) wait(ctx context.Context, grace time.Duration, started func() bool) error {
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
	}
	if started != nil && !started() && freeze(p.cmd.Process.Pid) {
		if ended, err := p.within(look); ended {
			return err
		}
		if !started() {
			p.kill()
			return <-p.done
		}
		thaw(p.cmd.Process.Pid)
	}
	interruptGroup(p.leader, p.cmd.Process.Pid)
	if started == nil {
		if ended, err := p.within(min(insist, grace)); ended {
			return err
		}
		interruptGroup(p.leader, p.cmd.Process.Pid)
	}
	if ended, err := p.within(grace); ended {
		return err
	}
	p.kill()
	return <-p.done
}

// within waits for the end of the process for at most d.
func (p process) within(d time.Duration) (ended bool, err error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case err := <-p.done:
		return true, err
	case <-timer.C:
		return false, nil
	}
}

func (p process) kill() {
	killGroup(p.leader, p.cmd.Process.Pid)
	_ = p.cmd.Process.Kill()
}

// lines is a writer that passes on whole lines. Its buffer is bounded: of a
// longer line the beginning is kept.
type lines struct {
	mu   *sync.Mutex
	each func(line []byte)
	buf  []byte
}

func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte{'\n'})
		if room := maxLine - len(l.buf); len(line) > room {
			line = line[:room]
		}
		l.buf = append(l.buf, line...)
		if ended {
			l.flush()
		}
		p = rest
	}
	return n, nil
}

func (l *lines) flush() {
	if line := bytes.TrimRight(l.buf, "\r"); len(line) > 0 && l.each != nil {
		l.mu.Lock()
		l.each(line)
		l.mu.Unlock()
	}
	l.buf = l.buf[:0]
}

// bounded collects output up to a limit and fails beyond it.
type bounded struct {
	bytes.Buffer
	limit int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, fmt.Errorf("the output is larger than %d MiB", b.limit>>20)
	}
	return b.Buffer.Write(p)
}
