package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/bench/openssh"
	"github.com/seed-2a7f8fe7/coder/internal/bench/process"
)

// sshOverhead measures `coder ssh workspace true` against OpenSSH's `ssh host
// true` to a real sshd on loopback, and the agent's memory at rest.
func sshOverhead(ctx context.Context, s *server, root string, runs int) ([]row, error) {
	t, err := s.push(ctx, "local", filepath.Join(root, "examples", "templates", "local"))
	if err != nil {
		return nil, err
	}
	if _, err := s.create(ctx, "shell", t); err != nil {
		return nil, err
	}
	defer s.run(context.WithoutCancel(ctx), "delete", "shell", "--yes") //nolint:errcheck // best effort
	if err := s.run(ctx, "ssh", "shell", "true"); err != nil {
		return nil, err
	}
	d, err := openssh.Start(ctx, loopback, filepath.Join(s.dir, "sshd"))
	if err != nil {
		return nil, err
	}
	defer d.Stop()
	var ratios []float64
	var ours []time.Duration
	for range runs {
		start := time.Now()
		if err := d.Run(ctx, "true"); err != nil {
			return nil, err
		}
		floor := time.Since(start)
		start = time.Now()
		if err := s.run(ctx, "ssh", "shell", "true"); err != nil {
			return nil, err
		}
		o := time.Since(start)
		ours = append(ours, o)
		ratios = append(ratios, float64(o)/float64(floor))
	}
	slices.Sort(ratios)
	rows := []row{
		atMost("ssh_over_openssh", ratios[len(ratios)/2], 1.5, "x"),
		atMost("ssh_p50", ms(quantile(ours, 0.5)), 400, "ms"),
	}
	pid, err := agentPID(s.dir)
	if err != nil {
		return nil, err
	}
	rss, err := process.Resident(pid)
	if err != nil {
		return nil, err
	}
	return append(rows, atMost("agent_resident", float64(rss)/1e6, 60, "MB")), nil
}

// agentPID returns the process of this server's agent: `coder agent` with the
// server's directory in its environment.
func agentPID(dir string) (int, error) {
	procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, err
	}
	for _, p := range procs {
		b, err := os.ReadFile(p)
		if err != nil {
			continue
		}
		args := strings.Split(string(b), "\x00")
		if len(args) < 2 || args[1] != "agent" || !strings.Contains(args[0], "coder") {
			continue
		}
		env, err := os.ReadFile(filepath.Join(filepath.Dir(p), "environ"))
		if err == nil && strings.Contains(string(env), dir) {
			return strconv.Atoi(filepath.Base(filepath.Dir(p)))
		}
	}
	return 0, fmt.Errorf("no agent of %s runs", dir)
}
