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
	stdout func(line []byte) // nil to collect the output whole
	stderr func(line []byte)
	cage   *cage.Cage
}

// maxLine bounds what is kept of one line of output; the rest is dropped.
const maxLine = 1 << 20

// maxOutput bounds what is collected of a command's output, a plan as JSON above all.
const maxOutput = 256 << 20

// exitError says that Terraform ran and failed, or was ended.
type exitError struct {
	status   int
	canceled bool
}

func (e *exitError) Error() string {
	if e.canceled {
		return "terraform was canceled"
	}
	return fmt.Sprintf("terraform ended with status %d", e.status)
}

// run runs a command to its end. When ctx ends, the group is interrupted and,
// after grace, killed. Both callbacks come from one goroutine at a time. The
// result is an *exitError when Terraform failed, or another when it could not run.
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
		// The kernel ties the death signal to the thread that started the child.
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
	err := waitOrEnd(ctx, done, leader, grace, cmd)
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

// waitOrEnd waits for a process; when ctx ends first it interrupts the group
// and, if that does not help, kills it.
func waitOrEnd(ctx context.Context, done <-chan error, leader int, grace time.Duration, cmd *exec.Cmd) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	interruptGroup(leader, cmd.Process.Pid)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
	}
	killGroup(leader, cmd.Process.Pid)
	_ = cmd.Process.Kill()
	return <-done
}

// lines is a writer that hands out whole lines. The buffer is bounded: of a
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

// bounded collects up to a limit and fails beyond.
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
