package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/bench/process"
)

// Config configures the measurements.
type Config struct {
	Coder string    // the binary
	Root  string    // the repository, for the starter template
	Runs  int       // of each pair; 0 means 9
	Out   io.Writer // the rows
	// Progress receives the name of the current measurement.
	Progress io.Writer
	Only     string // name of one measurement; "" means all
	// Commit is the time that each durable commit takes longer, as on a slower disk, at most 100 ms. Rows of jobs and of
	// waits for jobs use it.
	Commit time.Duration
}

// Run measures all rows and prints each when it is known.
func Run(ctx context.Context, c Config) error {
	if c.Runs == 0 {
		c.Runs = 9
	}
	bin, err := filepath.Abs(c.Coder)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "coder-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	st, err := os.Stat(bin)
	if err != nil {
		return err
	}
	atMost("binary_size", float64(st.Size())/1e6, 120, "MB").Print(c.Out)

	s, err := newServer(ctx, bin, dir, "--provisioner-types", "terraform,echo")
	if err != nil {
		return err
	}
	defer func() { s.stop() }()
	for _, measure := range []func() ([]row, error){
		func() ([]row, error) { return tracesOff(ctx, s) },
		func() ([]row, error) { return restart(ctx, s, 5) },
		func() ([]row, error) { return pickup(ctx, s, 100) },
		func() ([]row, error) { return buildOverhead(ctx, s, c.Runs) },
		func() ([]row, error) { return sshOverhead(ctx, s, c.Root, 2*c.Runs) },
		func() ([]row, error) { return signIn(ctx, s) },
		func() ([]row, error) { return buildAhead(ctx, s, c.Runs) },
	} {
		rows, err := measure()
		if err != nil {
			return err
		}
		for _, r := range rows {
			r.Print(c.Out)
		}
	}
	return nil
}

// restart measures the time from the start of the process to /healthz on
// existing data, and the memory of an idle server.
func restart(ctx context.Context, s *server, runs int) ([]row, error) {
	var all []time.Duration
	for range runs {
		s.stop()
		start := time.Now()
		if err := s.start(ctx, "--provisioner-types", "terraform,echo"); err != nil {
			return nil, err
		}
		all = append(all, time.Since(start))
	}
	rss, err := process.Resident(s.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	return []row{
		atMost("start_to_healthz_p50", ms(quantile(all, 0.5)), 1500, "ms"),
		atMost("server_resident", float64(rss)/1e6, 150, "MB"),
	}, nil
}

// pickup measures the time from a build request to the provisioner's first log
// line, with the echo engine.
func pickup(ctx context.Context, s *server, runs int) ([]row, error) {
	w, err := echoWorkspace(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("make an echo workspace: %w", err)
	}
	var first []time.Duration
	for range runs {
		f, _, err := s.build(ctx, w, "start")
		if err != nil {
			return nil, err
		}
		first = append(first, f)
	}
	return []row{
		atMost("pickup_p50", ms(quantile(first, 0.5)), 50, "ms"),
		atMost("pickup_p99", ms(quantile(first, 0.99)), 200, "ms"),
	}, nil
}
