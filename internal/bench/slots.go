package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/seed-2a7f8fe7/coder"
)

// withModule is the template with a module of its own, so that it cannot do
// without an init.
const withModule = template + `
module "inner" {
  source = "./inner"
  name   = data.coder_workspace.me.name
}
`

const innerModule = `variable "name" {}
resource "terraform_data" "inner" {
  input = var.name
}
`

const slots = 4

// Slots measures one daemon with four slots, outside of the server, on
// workspaces whose template needs an init: a warm build against init, plan and
// apply by hand, and how many builds a minute four slots make against four
// shells that run Terraform in a loop. Of the second row more is better.
func Slots(ctx context.Context, c Config) error {
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
	s, err := newServer(ctx, bin, dir, "--provisioner-daemons", "0")
	if err != nil {
		return err
	}
	defer s.stop()
	d := exec.Command(bin, "provisioner", "start", "--concurrency", strconv.Itoa(slots), "--name", "bench")
	d.Env = s.env
	if err := d.Start(); err != nil {
		return err
	}
	defer func() {
		d.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may be gone
		d.Wait()                          //nolint:errcheck // stopped on purpose
	}()
	b, err := newSlotBench(ctx, s, dir)
	if err != nil {
		return err
	}
	if err := b.warm(ctx, c.Out, c.Runs); err != nil {
		return err
	}
	return b.throughput(ctx, c.Out, c.Runs)
}

// slotBench is the same template on both sides, once for each slot or shell.
type slotBench struct {
	s          *server
	workspaces []coder.Workspace
	shells     []*bare
}

func newSlotBench(ctx context.Context, s *server, dir string) (*slotBench, error) {
	source := filepath.Join(dir, "template")
	if err := errors.Join(
		os.MkdirAll(filepath.Join(source, "inner"), 0o755),
		os.WriteFile(filepath.Join(source, "main.tf"), []byte(withModule), 0o644),
		os.WriteFile(filepath.Join(source, "inner", "main.tf"), []byte(innerModule), 0o644),
	); err != nil {
		return nil, err
	}
	t, err := s.push(ctx, "bench", source)
	if err != nil {
		return nil, err
	}
	first, err := newBare(ctx, filepath.Join(dir, "bare"), source)
	if err != nil {
		return nil, err
	}
	b := &slotBench{s: s}
	for n := range slots {
		w, err := s.create(ctx, fmt.Sprint("bench", n), t)
		if err != nil {
			return nil, err
		}
		shell := &bare{dir: filepath.Join(dir, fmt.Sprint("shell", n)), env: first.env}
		if err := os.CopyFS(shell.dir, os.DirFS(source)); err != nil {
			return nil, err
		}
		if err := shell.build(ctx, "start"); err != nil {
			return nil, err
		}
		b.workspaces, b.shells = append(b.workspaces, w), append(b.shells, shell)
	}
	return b, nil
}

// warm compares one start with one by hand, which begins as a new clone of the
// template does, without .terraform.
func (b *slotBench) warm(ctx context.Context, out io.Writer, runs int) error {
	w, shell := b.workspaces[0], b.shells[0]
	var ratios []float64
	for range runs {
		if err := shell.build(ctx, "stop"); err != nil {
			return err
		}
		if _, _, err := b.s.build(ctx, w, coder.WorkspaceTransitionStop); err != nil {
			return err
		}
		if err := os.RemoveAll(filepath.Join(shell.dir, ".terraform")); err != nil {
			return err
		}
		start := time.Now()
		if err := shell.build(ctx, "start"); err != nil {
			return err
		}
		floor := time.Since(start)
		_, ours, err := b.s.build(ctx, w, coder.WorkspaceTransitionStart)
		if err != nil {
			return err
		}
		ratios = append(ratios, float64(ours)/float64(floor))
	}
	slices.Sort(ratios)
	row{"warm_build_over_bare", ratios[len(ratios)/2], 0.6, "x"}.print(out)
	return nil
}

// throughput lets all slots and then all shells stop and start, in turns.
func (b *slotBench) throughput(ctx context.Context, out io.Writer, runs int) error {
	both := []string{"stop", "start"}
	var ours, floor time.Duration
	for range (runs + 2) / 3 {
		took, err := together(func(n int) error {
			for _, transition := range both {
				if _, _, err := b.s.build(ctx, b.workspaces[n], coder.WorkspaceTransition(transition)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		ours += took
		took, err = together(func(n int) error {
			for _, transition := range both {
				if err := b.shells[n].build(ctx, transition); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		floor += took
	}
	for _, w := range b.workspaces {
		w, err := b.s.c.Workspace(ctx, w.ID, nil)
		if err != nil {
			return err
		}
		if w.LatestBuild.Job.Status != coder.ProvisionerJobStatusSucceeded {
			return fmt.Errorf("the last build of %s is %s: %s", w.Name, w.LatestBuild.Job.Status, w.LatestBuild.Job.Error)
		}
	}
	ratio, verdict := float64(floor)/float64(ours), "ok"
	if ratio < 1.5 {
		verdict = "short"
	}
	count := float64(slots * len(both) * ((runs + 2) / 3))
	fmt.Fprintf(out, "%-32s %10.2f%-3s %10.2f%-3s %s (%.0f builds/min against %.0f)\n", "slot_builds_over_shells", ratio, "x", 1.5, "x", verdict,
		count/ours.Minutes(), count/floor.Minutes())
	return nil
}

// together runs f for each slot at once and gives how long all took.
func together(f func(n int) error) (time.Duration, error) {
	errs := make([]error, slots)
	start := time.Now()
	var all sync.WaitGroup
	for n := range slots {
		all.Go(func() { errs[n] = f(n) })
	}
	all.Wait()
	return time.Since(start), errors.Join(errs...)
}
