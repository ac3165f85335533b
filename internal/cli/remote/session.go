package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/term"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
)

// sessionRequest describes the remote shell or command.
type sessionRequest struct {
	command      string // "" means a login shell
	variables    map[string]string
	forwards     []remoteForward
	forwardAgent bool
	agentSocket  string
}

// runSession runs a shell or a command and returns its exit status.
func runSession(ctx context.Context, a *command.Run, conn *connection, client *ssh.Client, r sessionRequest) error {
	for _, f := range r.forwards {
		if err := f.start(client, a.Stderr); err != nil {
			return err
		}
	}
	s, err := client.NewSession()
	if err != nil {
		return conn.lost(err)
	}
	defer s.Close() //nolint:errcheck // Wait returned how it ended
	for k, v := range r.variables {
		if err := s.Setenv(k, v); err != nil {
			return fmt.Errorf("set environment variable %s in the workspace: %w", k, err)
		}
	}
	if r.forwardAgent {
		if err := forwardAgent(client, s, r.agentSocket); err != nil {
			return err
		}
	}
	raw, restore, err := requestTerminal(ctx, a, s)
	if err != nil {
		return err
	}
	defer restore()
	out, in, err := connectStreams(a, s, raw)
	if err != nil {
		return err
	}
	if r.command == "" {
		err = s.Shell()
	} else {
		err = s.Start(r.command)
	}
	if err != nil {
		return conn.lost(err)
	}
	forwardSignals, stop := context.WithCancel(ctx)
	defer stop()
	givenUp := make(chan struct{})
	quit := sync.OnceFunc(func() {
		close(givenUp)
		client.Close() //nolint:errcheck // which ends the waiting
	})
	go passSignals(forwardSignals, s, conn.Interrupted, quit)
	go in(conn, quit)
	err = s.Wait()
	out.Wait()
	restore()
	select {
	case <-givenUp:
		fmt.Fprintf(a.Stderr, "\nLeft the session on %s.\n", conn.workspace.Name)
		return command.ExitStatus(255)
	default:
	}
	var ended *ssh.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ended) && ended.Signal() != "":
		fmt.Fprintf(a.Stderr, "The command was terminated by signal %s.\n", ended.Signal())
		return command.ExitStatus(max(ended.ExitStatus(), 128))
	case errors.As(err, &ended):
		return command.ExitStatus(ended.ExitStatus())
	}
	a.Explain(conn.lost(err))
	return command.ExitStatus(255)
}

// connectStreams connects the streams of the session. out is done when all output has
// arrived. in copies the input; no goroutine waits for it, because a read from a
// terminal cannot be canceled.
func connectStreams(a *command.Run, s *ssh.Session, raw bool) (out *sync.WaitGroup, in func(*connection, func()), err error) {
	stdin, err1 := s.StdinPipe()
	stdout, err2 := s.StdoutPipe()
	stderr, err3 := s.StderrPipe()
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, nil, err
	}
	out = &sync.WaitGroup{}
	out.Go(func() { io.Copy(a.Raw, stdout) })    //nolint:errcheck // Wait returns the error of a lost connection
	out.Go(func() { io.Copy(a.RawErr, stderr) }) //nolint:errcheck // likewise
	return out, func(conn *connection, quit func()) {
		from := input(a)
		if raw {
			from = &escapes{in: from, interrupted: conn.Interrupted, quit: quit, told: func() {
				fmt.Fprintf(a.Stderr, "\nThe connection to %s is interrupted and resumes automatically. Press Ctrl-C or ~. to leave.\n", conn.workspace.Name)
			}}
		}
		io.Copy(stdin, from) //nolint:errcheck // likewise
		stdin.Close()        //nolint:errcheck // likewise
	}, nil
}

// requestTerminal requests a remote terminal if there is a local one, and sets
// the local terminal to raw mode. restore undoes that and may be called more
// than once.
func requestTerminal(ctx context.Context, a *command.Run, s *ssh.Session) (raw bool, restore func(), err error) {
	in, ok1 := command.TerminalOf(a.Stdin)
	out, ok2 := command.TerminalOf(a.Stdout)
	if !ok1 || !ok2 {
		return false, func() {}, nil
	}
	width, height, err := term.GetSize(int(out.Fd()))
	if err != nil {
		width, height = 80, 24
	}
	name := a.Env["TERM"]
	if name == "" {
		name = "xterm-256color"
	}
	if err := s.RequestPty(name, height, width, ssh.TerminalModes{ssh.ECHO: 1, ssh.TTY_OP_ISPEED: 14400, ssh.TTY_OP_OSPEED: 14400}); err != nil {
		return false, nil, fmt.Errorf("request a terminal in the workspace: %w", err)
	}
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return false, nil, err
	}
	watching, stop := context.WithCancel(ctx)
	go watchSize(watching, out, func(w, h int) { s.WindowChange(h, w) }) //nolint:errcheck // a lost connection shows elsewhere
	return true, sync.OnceFunc(func() {
		stop()
		term.Restore(int(in.Fd()), state) //nolint:errcheck // nothing better can be done
	}), nil
}

// passSignals forwards SIGINT, SIGTERM and SIGHUP to the command until ctx
// ends. While the connection is interrupted the signals end the session
// instead.
func passSignals(ctx context.Context, s *ssh.Session, interrupted func() bool, quit func()) {
	names := map[os.Signal]ssh.Signal{os.Interrupt: ssh.SIGINT, syscall.SIGTERM: ssh.SIGTERM, syscall.SIGHUP: ssh.SIGHUP}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	for {
		select {
		case <-ctx.Done():
			return
		case sig := <-signals:
			if interrupted() {
				quit()
				return
			}
			if s.Signal(names[sig]) != nil {
				return
			}
			if sig == syscall.SIGHUP { // the terminal is gone, so end the session
				s.Close() //nolint:errcheck // Wait returns how it ended
			}
		}
	}
}

// forwardAgent lets the session use the keys of the SSH agent at socket.
func forwardAgent(client *ssh.Client, s *ssh.Session, socket string) error {
	if socket == "" {
		return command.Failure("no SSH agent to forward: $SSH_AUTH_SOCK is not set")
	}
	probe, err := net.Dial("unix", socket)
	if err != nil {
		return command.Failure("cannot connect to the SSH agent at %s: %s", socket, command.RootCause(err))
	}
	probe.Close() //nolint:errcheck // it has answered
	if err := agent.ForwardToRemote(client, socket); err != nil {
		return err
	}
	if err := agent.RequestAgentForwarding(s); err != nil {
		return fmt.Errorf("forward your SSH agent to the workspace: %w", err)
	}
	return nil
}
