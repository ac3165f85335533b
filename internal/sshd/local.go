package sshd

import (
	"context"
	"errors"
	"io"
	"sync"

	"golang.org/x/crypto/ssh"
)

// TerminalOptions configures a Terminal.
type TerminalOptions struct {
	Command       string // run by the user's shell; "" means a login shell
	Term          string // value of TERM
	Columns, Rows int
	NoWait        bool // skip the gate
	// Output receives the terminal's output from one goroutine at a time. It
	// should return quickly: the process in the terminal waits for it.
	Output io.Writer
}

// Terminal is a shell or command on a pseudo-terminal, for clients that do not
// use SSH. It has the environment, gate and message of the day of a session,
// but is not counted as one. It is safe for concurrent use.
type Terminal struct {
	s    *session
	ch   *localChannel
	done chan struct{}
}

// OpenTerminal opens a terminal, which ends with its process, with Close or
// with ctx. Errors that prevent the start of the process are written to the
// terminal.
func (s *Server) OpenTerminal(ctx context.Context, o TerminalOptions) *Terminal {
	local := &localChannel{out: o.Output, open: make(chan struct{}), closed: make(chan struct{})}
	x := &session{
		connection: &connection{Server: s, Options: Options{NoWait: o.NoWait}, log: s.c.Log}, ch: local, started: true,
		term: &terminal{name: o.Term, size: winsize(uint32(max(1, o.Columns)), uint32(max(1, o.Rows)), 0, 0)},
	}
	x.ctx, x.cancel = context.WithCancel(ctx)
	t := &Terminal{s: x, ch: local, done: make(chan struct{})}
	stop := context.AfterFunc(x.ctx, func() {
		local.Close()
		x.hangUp()
	})
	go func() {
		defer close(t.done)
		if x.pass(true) {
			x.shell(o.Command)
		}
		x.cancel()
		stop()
		local.Close()
		x.run.Wait()
	}()
	return t
}

// Write types b as soon as there is a process to read it. It fails when the
// terminal has ended.
func (t *Terminal) Write(b []byte) (int, error) {
	select {
	case <-t.ch.open:
	case <-t.ch.closed:
		return 0, io.ErrClosedPipe
	}
	n, err := t.ch.in.Write(b)
	if err != nil { // the process has exited, and the terminal ends soon
		<-t.ch.closed
		return n, io.ErrClosedPipe
	}
	return n, nil
}

// Resize sets the size of the terminal.
func (t *Terminal) Resize(columns, rows int) {
	t.s.resize(ssh.Marshal(struct{ C, R, W, H uint32 }{uint32(columns), uint32(rows), 0, 0}))
}

// Close hangs up: it terminates the processes in the terminal, and kills them
// if they do not exit. It returns immediately.
func (t *Terminal) Close() { t.s.cancel() }

// Done returns a channel that is closed when the terminal has ended.
func (t *Terminal) Done() <-chan struct{} { return t.done }

// localChannel is the channel of a session whose client is in this process.
// Typed input goes directly to the session's writer.
type localChannel struct {
	open   chan struct{} // closed when in is set
	in     io.Writer
	end    sync.Once
	closed chan struct{}

	mu  sync.Mutex
	out io.Writer
}

// WriteTo sends typed input to w until the end.
func (c *localChannel) WriteTo(w io.Writer) (int64, error) {
	c.in = w
	close(c.open)
	<-c.closed
	return 0, io.ErrClosedPipe
}

// Read is not supported, because io.Copy uses WriteTo.
func (c *localChannel) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// Write writes b to the output.
func (c *localChannel) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Write(b)
}

// Close ends the input.
func (c *localChannel) Close() error {
	c.end.Do(func() { close(c.closed) })
	return nil
}

// CloseWrite does nothing; Done reports the end.
func (c *localChannel) CloseWrite() error { return nil }

// SendRequest does nothing, because the exit status is not used.
func (c *localChannel) SendRequest(string, bool, []byte) (bool, error) { return false, nil }

// Stderr goes to the output.
func (c *localChannel) Stderr() io.ReadWriter { return c }
