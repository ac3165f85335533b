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

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent/environ"
	"github.com/seed-2a7f8fe7/coder/internal/agent/report"
)

// pipesLeftOpenAfter bounds the wait for output after a script has ended.
const pipesLeftOpenAfter = 2 * time.Second

// output receives a script's output line by line. Once enough returns true, the
// rest is copied unchanged. The two streams of a script use it concurrently.
type output struct {
	say    func(codersdk.LogLevel, string)
	enough func() bool
	rest   io.Writer
}

// runText runs the text of a script and returns its exit code and status.
// Output of processes that it leaves running also goes to o. The process group
// is stopped when ctx ends.
func (l *life) runText(ctx context.Context, text string, env []string, o output) (code int, status string) {
	cmd, cleanUp, err := l.command(text, env)
	if err != nil {
		o.say(codersdk.LogLevelError, "Cannot run the script: "+err.Error())
		return -1, statusExitFailure
	}
	defer cleanUp()
	out, err := cmd.StdoutPipe()
	errs, err2 := cmd.StderrPipe()
	if err = errors.Join(err, err2); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		o.say(codersdk.LogLevelError, "Cannot run the script: "+err.Error())
		return -1, statusExitFailure
	}
	var read sync.WaitGroup
	closed := make(chan struct{})
	read.Go(func() { o.take(out, codersdk.LogLevelInfo) })
	read.Go(func() { o.take(errs, codersdk.LogLevelError) })
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

// maxArgument bounds the size of a script that is passed as an argument, in
// bytes.
const maxArgument = 100 << 10

// command returns the command that runs a script's text: with the interpreter
// of its #! line, or else with bash or sh as a login shell, which reads
// profiles. The text goes through a file. If no file can be written, the shell
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
		args = inLoginShell(`. "$0"`, filepath.Join(dir, "script"))
	case args == nil && len(text) <= maxArgument:
		args = inLoginShell(text, "script")
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

// interpreter returns the words of a #! line, or nil without one.
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

// restorePath adds what environ.Environment has in PATH again after the profiles, which may set PATH.
const restorePath = `PATH="${CODER_SCRIPT_BIN_DIR:+$CODER_SCRIPT_BIN_DIR:}$PATH${1:+:$1}"; export PATH; shift` + "\n"

// inLoginShell returns the words that run commands in a login shell, in which $0 is name.
func inLoginShell(commands, name string) []string {
	shell := "/bin/sh"
	for _, s := range []string{"bash", "sh"} {
		if path, err := exec.LookPath(s); err == nil {
			shell = path
			break
		}
	}
	own := ""
	if exe, err := os.Executable(); err == nil {
		own = filepath.Dir(exe)
	}
	return []string{shell, "-l", "-c", restorePath + commands, name, own}
}

// workDir returns the working directory of scripts.
func (l *life) workDir() string {
	for _, d := range []string{l.dir, environ.Home(l.env)} {
		if fi, err := os.Stat(d); d != "" && err == nil && fi.IsDir() {
			return d
		}
	}
	return string(filepath.Separator)
}

// take reads one stream of a script: lines as valid UTF-8 without line breaks,
// split at report.LineLimit bytes. It closes r.
func (o output) take(r io.ReadCloser, level codersdk.LogLevel) {
	defer r.Close()
	b := bufio.NewReaderSize(r, report.LineLimit)
	for !o.enough() {
		part, err := b.ReadSlice('\n')
		if len(part) > 0 {
			o.say(level, strings.ToValidUTF8(strings.TrimRight(string(part), "\r\n"), "\uFFFD"))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
	_, _ = io.Copy(o.rest, b) // the script must not block on unread output
}
