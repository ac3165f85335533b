package scale

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
	"github.com/seed-2a7f8fe7/coder/internal/bench/process"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// Components whose processor time and memory are measured.
const (
	server       = "server"
	database     = "postgresql"
	provisioners = "provisioners"
	agents       = "agents"
	generator    = "load_generator"
)

// snapshot is the use of each component.
type snapshot map[string]process.Usage

// components are the processes of a deployment.
type components struct {
	d            *deployment
	provisioners []*exec.Cmd
	agents       int // PID of the agents' process; 0 for none
}

func (c *components) snapshot() (snapshot, error) {
	s := snapshot{}
	var err error
	if s[server], s[database], err = c.d.ServerUsage(); err != nil {
		return nil, err
	}
	for _, p := range c.provisioners {
		u, err := process.Tree(p.Process.Pid)
		if err != nil {
			return nil, err
		}
		u.Add(s[provisioners])
		s[provisioners] = u
	}
	if c.agents != 0 {
		if s[agents], err = process.Tree(c.agents); err != nil {
			return nil, err
		}
	}
	s[generator], err = process.Alone(os.Getpid())
	return s, err
}

// used returns the processor time of each component since another snapshot.
func (s snapshot) used(since snapshot) map[string]time.Duration {
	out := map[string]time.Duration{}
	for name, u := range s {
		out[name] = u.CPU - since[name].CPU
	}
	return out
}

// during returns the rows of the components while the load is steady. Its connections start during ramp, and each
// lasts for a duration: it is steady between the two.
func (c *components) during(ctx context.Context, prefix string, ramp, lasts time.Duration) ([]figure.Row, error) {
	steady, ends := time.After(min(ramp, lasts)), time.After(max(ramp, lasts))
	select {
	case <-steady:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	w, err := c.watch(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case <-ends:
	case <-ctx.Done():
	}
	return w.rows(prefix)
}

// watch measures the use of components while it runs.
type watch struct {
	c        *components
	began    time.Time
	first    snapshot
	busy     time.Duration // of the machine
	mu       sync.Mutex
	most     snapshot // peaks of memory
	sampling sync.WaitGroup
	stop     context.CancelFunc
}

// sampleEvery is the interval at which memory is read.
const sampleEvery = 10 * time.Second

func (c *components) watch(ctx context.Context) (*watch, error) {
	first, err := c.snapshot()
	if err != nil {
		return nil, err
	}
	busy, err := process.Busy()
	if err != nil {
		return nil, err
	}
	w := &watch{c: c, began: time.Now(), first: first, busy: busy, most: maps.Clone(first)}
	ctx, w.stop = context.WithCancel(ctx)
	w.sampling.Go(func() {
		lifecycle.Every(ctx, sampleEvery, func(context.Context) {
			if s, err := c.snapshot(); err == nil { // else a process has just ended
				w.peak(s)
			}
		})
	})
	return w, nil
}

func (w *watch) peak(s snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, u := range s {
		if u.Memory > w.most[name].Memory {
			w.most[name] = u
		}
	}
}

// rows ends the watch and returns rows of each component: cores and the peak of memory. The others are all programs
// that do not belong to the measurement.
func (w *watch) rows(prefix string) ([]figure.Row, error) {
	w.stop()
	w.sampling.Wait()
	last, err := w.c.snapshot()
	if err != nil {
		return nil, err
	}
	busy, err := process.Busy()
	if err != nil {
		return nil, err
	}
	w.peak(last)
	took := time.Since(w.began).Seconds()
	used := last.used(w.first)
	var rows []figure.Row
	total := 0.0
	for _, name := range slices.Sorted(maps.Keys(used)) {
		cores := used[name].Seconds() / took
		total += cores
		rows = append(rows, figure.Plain(prefix+name+"_cpu", cores, "cores"),
			figure.Plain(prefix+name+"_memory", float64(w.most[name].Memory)/1e6, "MB"))
	}
	others := (busy-w.busy).Seconds()/took - total
	return append(rows, figure.Plain(prefix+"all_cpu", total, "cores"), figure.Plain(prefix+"others_cpu", max(0, others), "cores")), nil
}
