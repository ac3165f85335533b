package agent

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder"
)

// pipesLeftOpenAfter is how long output is awaited once a script has ended.
const pipesLeftOpenAfter = 2 * time.Second

// output is where a script's output goes: line by line, until enough says that
// lines are not wanted any more, and then as it comes. Both streams of a script
// use it at once.
type output struct {
	say    func(coder.LogLevel, string)
	enough func() bool
	rest   io.Writer
}

// runText runs the text of a script and gives its exit code and how it ended.
// Also the output of what it leaves running goes to o. The process group is
// stopped when ctx ends.
func (l *life) runText(ctx context.Context, text string, env []string, o output) (code int, status string) {
	cmd, cleanUp, err := l.command(text, env)
	if err != nil {
		o.say(coder.LogLevelError, "The script could not be run: "+err.Error())
		return -1, statusExitFailure
	}
	defer cleanUp()
	out, err := cmd.StdoutPipe()
	errs, err2 := cmd.StderrPipe()
	if err = errors.Join(err, err2); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		o.say(coder.LogLevelError, "The script could not be run: "+err.Error())
		return -1, statusExitFailure
	}
	var read sync.WaitGroup
	closed := make(chan struct{})
	read.Go(func() { o.take(out, coder.LogLevelInfo) })
	read.Go(func() { o.take(errs, coder.LogLevelError) })
	go func() { read.Wait(); close(closed) }()

	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { stopGroup(cmd.Process, ended) })
	st, werr := cmd.Process.Wait()
	close(ended)
	stopped := !stop()
	if werr != nil {
		return -1, statusExitFailure
	}
	select {
	case <-closed:
	case <-time.After(pipesLeftOpenAfter):
		status = statusPipesLeftOpen
	}
	code = st.ExitCode()
	switch {
	case stopped && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return code, statusTimedOut
	case code != 0:
		return code, statusExitFailure
	case status == "":
		return code, statusOK
	}
	return code, status
}

// ExecCommand is the subcommand of coder that calls Exec.
const ExecCommand = "agent-exec"

// maxArgument is how long a script may be that is given as an argument.
const maxArgument = 100 << 10

// command makes a command of a script's text: run by the interpreter that its
// first line names, or else by bash or sh as a login shell, so that profiles
// are read. It goes through a file; where there is no room for one, the shell
// gets it as an argument.
func (l *life) command(text string, env []string) (cmd *exec.Cmd, cleanUp func(), err error) {
	args, cleanUp := interpreter(text), func() {}
	dir, err := os.MkdirTemp("", "coder-script-")
	if err == nil {
		cleanUp = func() { os.RemoveAll(dir) }
		err = os.WriteFile(filepath.Join(dir, "script"), []byte(text), 0o700)
	}
	switch {
	case err == nil && args != nil:
		args = append(args, filepath.Join(dir, "script"))
	case err == nil:
		args = append(loginShell(), filepath.Join(dir, "script"))
	case args == nil && len(text) <= maxArgument:
		args = append(loginShell(), "-c", text)
	default:
		cleanUp()
		return nil, nil, err
	}
	cmd = exec.Command(args[0], args[1:]...)
	cmd.Env = env
	cmd.Dir = l.workDir()
	if l.c.Prioritize != nil {
		l.c.Prioritize(cmd)
	}
	ownGroup(cmd)
	return cmd, cleanUp, nil
}

// interpreter gives the words of a #! line, nil when there is none.
func interpreter(text string) []string {
	first, ok := strings.CutPrefix(text, "#!")
	if !ok {
		return nil
	}
	first, _, _ = strings.Cut(first, "\n")
	words := strings.Fields(first)
	if len(words) == 0 {
		return nil
	}
	return words
}

// loginShell gives the words that run a file as a login shell.
func loginShell() []string {
	for _, name := range []string{"bash", "sh"} {
		if path, err := exec.LookPath(name); err == nil {
			return []string{path, "-l"}
		}
	}
	return []string{"/bin/sh", "-l"}
}

// workDir gives where scripts begin.
func (l *life) workDir() string {
	for _, d := range []string{l.dir, home(l.env)} {
		if fi, err := os.Stat(d); d != "" && err == nil && fi.IsDir() {
			return d
		}
	}
	return string(filepath.Separator)
}

// take takes one stream of a script: lines as valid text and without their end,
// those of more than lineLimit bytes in parts. It closes r.
func (o output) take(r io.ReadCloser, level coder.LogLevel) {
	defer r.Close()
	b := bufio.NewReaderSize(r, lineLimit)
	for !o.enough() {
		part, err := b.ReadSlice('\n')
		if len(part) > 0 {
			o.say(level, strings.ToValidUTF8(strings.TrimRight(string(part), "\r\n"), "\uFFFD"))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
	_, _ = io.Copy(o.rest, b) // the script may go on without end, and must not wait
}
