package agent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent/environ"
)

// Priority of session and script processes relative to the agent: a higher nice
// value, and a higher OOM score. Otherwise a build that uses all resources
// would also block access to the workspace.
const (
	niceMore   = 5
	niceMost   = 19
	oomBefore  = 998
	oomHighest = 1000
)

// prioritize returns a function that lowers the priority of a command relative
// to this process, or nil when env does not request it. (AG-29)
func prioritize(env []string) (func(*exec.Cmd), error) {
	on, err := environ.Boolean(env, "CODER_PROC_PRIO_MGMT", false)
	if err != nil || !on {
		return nil, err
	}
	own, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return nil, fmt.Errorf("read the priority of this process: %w", err)
	}
	nice, err := score(env, "CODER_PROC_NICE_SCORE", -20, niceMost, min(20-own+niceMore, niceMost)) // the kernel returns 20 - nice
	if err != nil {
		return nil, err
	}
	oom, err := score(env, "CODER_PROC_OOM_SCORE", -oomHighest, oomHighest, defaultOOM())
	if err != nil {
		return nil, err
	}
	return func(cmd *exec.Cmd) {
		if cmd.Err != nil {
			return // Start reports the missing program
		}
		cmd.Args = append([]string{"coder", ExecCommand, cmd.Path, strconv.Itoa(nice), strconv.Itoa(oom)}, cmd.Args...)
		cmd.Path = "/proc/self/exe" // refers to this program even if its file was replaced
	}, nil
}

// defaultOOM returns the default OOM score of sessions and scripts, based on
// that of this process.
func defaultOOM() int {
	b, err := os.ReadFile("/proc/self/oom_score_adj")
	own, err2 := strconv.Atoi(strings.TrimSpace(string(b)))
	switch {
	case errors.Join(err, err2) != nil:
		return oomBefore
	case own < 0: // only this process is protected
		return 0
	case own >= oomBefore:
		return oomHighest
	}
	return oomBefore
}

// score parses an integer variable of the environment.
func score(env []string, name string, low, high, initial int) (int, error) {
	v := environ.Variable(env, name)
	if v == "" {
		return initial, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < low || n > high {
		return 0, codersdk.Invalid(name, "%q is not an integer from %d to %d", v, low, high)
	}
	return n, nil
}

// Exec replaces this process by another program, with a nice value and an OOM
// score where permitted. args are the program's file, these two values, and the
// program's arguments, starting with its own name. Exec returns only on error.
func Exec(args []string, env []string) error {
	if len(args) < 4 {
		return errors.New("only the agent can run this command")
	}
	nice, err := strconv.Atoi(args[1])
	oom, err2 := strconv.Atoi(args[2])
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	runtime.LockOSThread() // the nice value belongs to the thread that calls exec
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, nice)
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(oom)), 0)
	if err := syscall.Exec(args[0], args[3:], env); err != nil {
		return fmt.Errorf("run %s: %w", args[0], err)
	}
	return nil
}
