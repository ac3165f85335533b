package machine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
)

// Result is the outcome of a command.
type Result struct {
	ExitCode int    // of the command; -1 if TimedOut
	Output   string // standard output and error, in the order in which the command wrote them
	TimedOut bool   // the context ended before the command
}

// commandVariable is the environment variable in which mergeOutput finds the command.
const commandVariable = "CODER_MCP_COMMAND"

// mergeOutput runs the command of commandVariable in the user's shell with one
// stream for both outputs. SSH carries the two outputs in streams that have no
// order between them. Every shell of a POSIX system understands this line.
const mergeOutput = `exec sh -c 'command=$` + commandVariable + `; unset ` + commandVariable + `; exec "$SHELL" -c "$command" 2>&1'`

// Run runs a command in the user's shell until it exits or ctx ends. Of the output it
// keeps the first and the last bytes, together at most max. On Windows the order of the
// two outputs is that of arrival.
func (m *Machine) Run(ctx context.Context, command string, max int) (Result, error) {
	session, err := m.client.NewSession()
	if err != nil {
		return Result{}, fmt.Errorf("open a session in the workspace: %w", err)
	}
	defer session.Close() //nolint:errcheck // the result is known
	out := &clipped{half: max / 2}
	session.Stdout, session.Stderr = out, out
	done := make(chan error, 1)
	if !m.windows {
		if err := session.Setenv(commandVariable, command); err != nil {
			return Result{}, fmt.Errorf("send the command to the workspace: %w", err)
		}
		command = mergeOutput
	}
	if err := session.Start(command); err != nil {
		return Result{}, fmt.Errorf("start the command in the workspace: %w", err)
	}
	go func() { done <- session.Wait() }()
	select {
	case err = <-done:
	case <-ctx.Done():
		_ = session.Signal(ssh.SIGTERM) // the command may be gone
		return Result{ExitCode: -1, Output: out.String(), TimedOut: true}, nil
	}
	var ended *ssh.ExitError
	switch {
	case err == nil:
		return Result{Output: out.String()}, nil
	case errors.As(err, &ended):
		return Result{ExitCode: ended.ExitStatus(), Output: out.String()}, nil
	}
	return Result{}, fmt.Errorf("the connection to the workspace was lost: %w", err)
}

// clipped keeps the first and the last bytes of a stream.
type clipped struct {
	half int // bytes kept at each end

	mu         sync.Mutex
	head, tail []byte
	dropped    int
}

// Write keeps the bytes, or drops older ones behind the head.
func (c *clipped) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(b)
	if free := c.half - len(c.head); free > 0 {
		k := min(free, len(b))
		c.head, b = append(c.head, b[:k]...), b[k:]
	}
	c.tail = append(c.tail, b...)
	if over := len(c.tail) - c.half; over > 0 {
		c.tail = append(c.tail[:0], c.tail[over:]...)
		c.dropped += over
	}
	return n, nil
}

// String returns the kept bytes as valid UTF-8, with a mark for the dropped ones.
func (c *clipped) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dropped == 0 {
		return strings.ToValidUTF8(string(c.head)+string(c.tail), "�")
	}
	return strings.ToValidUTF8(fmt.Sprintf("%s\n[%d bytes omitted]\n%s", c.head, c.dropped, c.tail), "�")
}
