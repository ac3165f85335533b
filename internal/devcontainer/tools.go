package devcontainer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The external programs.
const (
	docker          = "docker"
	devcontainerCLI = "devcontainer"
	git             = "git"
)

// Bounds of external programs.
const (
	questionTimeout = 10 * time.Second // of a query of Docker
	removeTimeout   = 45 * time.Second // of the removal of containers
	configTimeout   = 2 * time.Minute  // of reading a configuration
	putTimeout      = 5 * time.Minute  // of copying the agent program
	outputLimit     = 16 << 20         // bytes of output
	tailLimit       = 4 << 10          // bytes of error output
	lineLimit       = 64 << 10
	// leave is the time between the interrupt and the kill of a program.
	leave = 10 * time.Second
)

// missing returns instructions for a program that is not installed.
func missing(program string) string {
	if program == docker {
		return "Dev containers require Docker, but there is no docker on the PATH of the agent; install it, or remove the dev containers from the template"
	}
	return "Dev containers require the Dev Container CLI, but there is no devcontainer on the PATH of the " +
		"agent; install it with 'npm install -g @devcontainers/cli'"
}

// tools runs programs with an environment.
type tools struct{ env []string }

// variable returns the last value of a variable.
func (t tools) variable(name string) string {
	for _, kv := range slices.Backward(t.env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// find returns the path of a program on the PATH of the environment, or "".
func (t tools) find(program string) string {
	for _, dir := range filepath.SplitList(t.variable("PATH")) {
		if filepath.IsAbs(dir) {
			if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
				return path
			}
		}
	}
	return ""
}

// command returns a command that ends with ctx and with this process.
func (t tools) command(ctx context.Context, program string, args ...string) (*exec.Cmd, error) {
	path := t.find(program)
	if path == "" {
		return nil, errors.New(missing(program))
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = slices.Clone(t.env)
	cmd.WaitDelay = leave
	bind(cmd)
	return cmd, nil
}

// run runs a program and returns its output. The error contains the end of its
// error output.
func (t tools) run(ctx context.Context, limit time.Duration, in io.Reader, program string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd, err := t.command(ctx, program, args...)
	if err != nil {
		return nil, err
	}
	out, complaint := &capped{limit: outputLimit}, &tail{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, complaint
	err = cmd.Run()
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		return out.b.Bytes(), fmt.Errorf("%s %s did not end within %s", program, args[0], limit)
	case err != nil:
		return out.b.Bytes(), fmt.Errorf("%s %s failed: %s", program, args[0], complaint.or(err))
	case out.over:
		return nil, fmt.Errorf("%s %s returned more than %d bytes", program, args[0], outputLimit)
	}
	return out.b.Bytes(), nil
}

// capped keeps the first bytes that are written.
type capped struct {
	b     bytes.Buffer
	limit int
	over  bool
}

// Write implements io.Writer.
func (c *capped) Write(p []byte) (int, error) {
	n := min(len(p), c.limit-c.b.Len())
	c.b.Write(p[:n])
	c.over = c.over || n < len(p)
	return len(p), nil
}

// tail keeps the last bytes that are written.
type tail struct{ b []byte }

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - tailLimit; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

// or returns the last lines as text, or err when there are none.
func (t *tail) or(err error) string {
	text := strings.TrimSpace(plain(strings.ToValidUTF8(string(t.b), "")))
	if text == "" {
		return err.Error()
	}
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// plain removes terminal control sequences from text.
func plain(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == 0x1b && i+1 < len(s) && s[i+1] == '[':
			for i += 2; i < len(s) && (s[i] < '@' || s[i] > '~'); i++ {
			}
		case c == 0x1b:
			i++
		case c < ' ' && c != '\n' && c != '\t':
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// lines calls each with the lines of r, without line breaks; lines that are too
// long are split.
func lines(r io.Reader, each func(string)) {
	b := bufio.NewReaderSize(r, lineLimit)
	for {
		part, err := b.ReadSlice('\n')
		if len(part) > 0 {
			each(strings.TrimRight(string(part), "\r\n"))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}
