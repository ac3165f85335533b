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

	"github.com/seed-2a7f8fe7/coder"
)

// What the processes of sessions and scripts are, beside the agent: a little
// less urgent, and the first to go when memory runs short. Otherwise a build
// that takes everything would take the way into the workspace with it.
const (
	niceMore   = 5
	niceMost   = 19
	oomBefore  = 998
	oomHighest = 1000
)

// prioritize gives what makes a command of a session or script yield to this
// process, or nil when env does not ask for it. (AG-29)
func prioritize(env []string) (func(*exec.Cmd), error) {
	on, err := boolean(env, "CODER_PROC_PRIO_MGMT", false)
	if err != nil || !on {
		return nil, err
	}
	own, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return nil, fmt.Errorf("how urgent this process is: %w", err)
	}
	nice, err := score(env, "CODER_PROC_NICE_SCORE", -20, niceMost, min(20-own+niceMore, niceMost)) // the kernel says 20 - nice
	if err != nil {
		return nil, err
	}
	oom, err := score(env, "CODER_PROC_OOM_SCORE", -oomHighest, oomHighest, defaultOOM())
	if err != nil {
		return nil, err
	}
	return func(cmd *exec.Cmd) {
		if cmd.Err != nil {
			return // there is no such program; Start says so
		}
		cmd.Args = append([]string{"coder", ExecCommand, cmd.Path, strconv.Itoa(nice), strconv.Itoa(oom)}, cmd.Args...)
		cmd.Path = "/proc/self/exe" // of the new process this is still us, whatever became of the file
	}, nil
}

// defaultOOM is the score of sessions and scripts beside ours.
func defaultOOM() int {
	b, err := os.ReadFile("/proc/self/oom_score_adj")
	own, err2 := strconv.Atoi(strings.TrimSpace(string(b)))
	switch {
	case errors.Join(err, err2) != nil:
		return oomBefore
	case own < 0: // ours alone is not to be killed
		return 0
	case own >= oomBefore:
		return oomHighest
	}
	return oomBefore
}

// score reads a whole number of the environment.
func score(env []string, name string, low, high, initial int) (int, error) {
	v := variable(env, name)
	if v == "" {
		return initial, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < low || n > high {
		return 0, coder.Invalid(name, "%q is no whole number from %d to %d", v, low, high)
	}
	return n, nil
}

// Exec becomes another program, with a nice value and a score for when memory
// runs short, where that is permitted: args are the program's file, these two,
// and its arguments, beginning with its own name. It returns only with an error.
func Exec(args []string, env []string) error {
	if len(args) < 4 {
		return errors.New("this is for the agent alone")
	}
	nice, err := strconv.Atoi(args[1])
	oom, err2 := strconv.Atoi(args[2])
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	runtime.LockOSThread() // a thread has its own nice value, and is what becomes the program
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, nice)
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(oom)), 0)
	if err := syscall.Exec(args[0], args[3:], env); err != nil {
		return fmt.Errorf("run %s: %w", args[0], err)
	}
	return nil
}
