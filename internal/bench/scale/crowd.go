package scale

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/bench/crowd"
	"github.com/seed-2a7f8fe7/coder/internal/bench/seed"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// AgentsRole is the argument of this program's -measure with which it runs Agents.
const AgentsRole = "scale-agents"

// joinEvery is the pause between the connections of two agents.
const joinEvery = 5 * time.Millisecond

// patience ends a wait for something that does not happen.
const patience = 3 * time.Minute

// Agents runs simulated agents, which serve SSH with real processes, until its input ends. The first line of the
// input is the server's URL, the second is the home of the processes, the others up to an empty line are tokens. It prints a line when all are connected.
func Agents(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Scan()
	at, err := url.Parse(lines.Text())
	if err != nil {
		return err
	}
	lines.Scan()
	home := lines.Text()
	ctx, cancel := context.WithCancel(context.Background())
	c := &crowd.Crowd{At: at, Home: home}
	defer c.Wait()
	defer cancel()
	n := int64(0)
	for ; lines.Scan() && lines.Text() != ""; n++ {
		token, err := uuid.Parse(lines.Text())
		if err != nil {
			return err
		}
		if err := c.Join(ctx, token); err != nil {
			return err
		}
		time.Sleep(joinEvery)
	}
	wait, stop := context.WithTimeout(ctx, patience)
	defer stop()
	err = lifecycle.Poll(wait, 20*time.Millisecond, nil, func(context.Context) (bool, error) { return c.Connected.Load() == n, nil })
	if err != nil {
		if why := c.Failed.Load(); why != nil {
			err = errors.Join(err, *why)
		}
		return fmt.Errorf("%d of %d agents are connected: %w", c.Connected.Load(), n, err)
	}
	fmt.Fprintln(out, "connected")
	for lines.Scan() {
	}
	return lines.Err()
}

// startAgents runs Agents for the copies in a process of its own, and waits until all are connected. stop ends it.
func startAgents(ctx context.Context, d *deployment, copies []seed.Clone) (pid int, stop func(), err error) {
	cmd := exec.CommandContext(ctx, os.Args[0], "-measure", AgentsRole)
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return 0, nil, err
	}
	if err := cmd.Start(); err != nil {
		return 0, nil, err
	}
	stop = func() { in.Close(); cmd.Wait() } //nolint:errcheck // it has nothing to report
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", d.Client.URL, d.Dir)
	for _, c := range copies {
		fmt.Fprintln(&b, c.Token)
	}
	fmt.Fprintln(&b)
	if _, err = io.WriteString(in, b.String()); err == nil {
		_, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		stop()
		return 0, nil, fmt.Errorf("connect the agents: %w", err)
	}
	return cmd.Process.Pid, stop, nil
}
