package sshd

import (
	"context"
	"errors"
	"io"
	"sync"

	"golang.org/x/crypto/ssh"
)

// TerminalOptions say what a Terminal is to be.
type TerminalOptions struct {
	Command       string // for the user's shell; "" for a login shell
	Term          string // the value of TERM
	Columns, Rows int
	NoWait        bool // the gate does not hold it
	// Output gets what the terminal shows, piece by piece, from one goroutine
	// at a time. It should return soon: what runs in the terminal waits for it.
	Output io.Writer
}

// Terminal is a shell or command on a pseudo-terminal of its own for who speaks
// no SSH: with the environment, gate and message of the day of any session,
// and not counted as one. It is safe for concurrent use.
type Terminal struct {
	s    *session
	ch   *localChannel
	done chan struct{}
}

// OpenTerminal opens a terminal, which ends with its process, with Close or
// with ctx. What keeps its process from beginning is told in the terminal.
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

// Write types b, once there is a process to read it. It fails when the terminal has
// ended.
func (t *Terminal) Write(b []byte) (int, error) {
	select {
	case <-t.ch.open:
	case <-t.ch.closed:
		return 0, io.ErrClosedPipe
	}
	n, err := t.ch.in.Write(b)
	if err != nil { // the process is gone, and the terminal soon
		<-t.ch.closed
		return n, io.ErrClosedPipe
	}
	return n, nil
}

// Resize sets the size.
func (t *Terminal) Resize(columns, rows int) {
	t.s.resize(ssh.Marshal(struct{ C, R, W, H uint32 }{uint32(columns), uint32(rows), 0, 0}))
}

// Close hangs up: what runs in the terminal is told to end, and killed when it
// does not. It returns at once.
func (t *Terminal) Close() { t.s.cancel() }

// Done is closed when the terminal has ended.
func (t *Terminal) Done() <-chan struct{} { return t.done }

// localChannel is the channel of a session whose client is in this process: what is
// typed goes straight to where the session wants it.
type localChannel struct {
	open   chan struct{} // closed when in is set
	in     io.Writer
	end    sync.Once
	closed chan struct{}

	mu  sync.Mutex
	out io.Writer
}

// WriteTo has what is typed go to w until the end.
func (c *localChannel) WriteTo(w io.Writer) (int64, error) {
	c.in = w
	close(c.open)
	<-c.closed
	return 0, io.ErrClosedPipe
}

// Read is there for WriteTo, which is what io.Copy uses.
func (c *localChannel) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// Write shows b.
func (c *localChannel) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Write(b)
}

// Close ends what is typed.
func (c *localChannel) Close() error {
	c.end.Do(func() { close(c.closed) })
	return nil
}

// CloseWrite does nothing: Done tells of the end.
func (c *localChannel) CloseWrite() error { return nil }

// SendRequest does nothing: nobody asks how the process ended.
func (c *localChannel) SendRequest(string, bool, []byte) (bool, error) { return false, nil }

// Stderr is shown as everything is.
func (c *localChannel) Stderr() io.ReadWriter { return c }
