//go:build unix

package remote

import (
	"bufio"
	"net"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// streamEnd is a stream without data that reports when it is closed.
type streamEnd struct {
	net.Conn
	closed chan struct{}
}

func (s streamEnd) Read([]byte) (int, error)    { <-s.closed; return 0, net.ErrClosed }
func (s streamEnd) Write(b []byte) (int, error) { return len(b), nil }
func (s streamEnd) CloseWrite() error           { return nil }
func (s streamEnd) Close() error                { close(s.closed); return nil }

// waitingInput reports that it is read, and has no data.
type waitingInput struct{ read, end chan struct{} }

func (w waitingInput) Read([]byte) (int, error) { close(w.read); <-w.end; return 0, net.ErrClosed }

// OpenSSH sends SIGHUP to its ProxyCommand when the session has ended.
func TestHangupClosesThePipe(t *testing.T) {
	own := make(chan os.Signal, 1) // or the signal ends the test
	signal.Notify(own, syscall.SIGHUP)
	defer signal.Stop(own)
	in := waitingInput{make(chan struct{}), make(chan struct{})}
	defer close(in.end)
	stream, ended := streamEnd{closed: make(chan struct{})}, make(chan error, 1)
	go func() {
		ended <- pipe(t.Context(), &command.Run{Stdin: in, Lines: bufio.NewReader(in), Raw: t.Output()}, stream)
	}()
	testwait.Receive(t, "the pipe reads its input", in.read)
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := testwait.Receive(t, "the pipe ends at SIGHUP", ended); err != nil {
		t.Errorf("the end of the session is an error: %v", err)
	}
}
