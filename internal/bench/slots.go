package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/bench/bare"
)

// withModule is the template with a module, which requires an init.
const withModule = Template + `
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

// slotRows measures one daemon with four slots, outside the server, on
// workspaces whose template requires an init: a warm build against init, plan
// and apply by hand, and builds per minute of four slots against four shells
// that run Terraform in a loop.
func slotRows(ctx context.Context, bin string, runs int) ([]row, error) {
	dir, err := os.MkdirTemp("", "coder-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s, err := newServer(ctx, bin, dir, "--provisioner-daemons", "0")
	if err != nil {
		return nil, err
	}
	defer s.stop()
	d, err := s.spawn("provisioner", "start", "--concurrency", strconv.Itoa(slots), "--name", "bench")
	if err != nil {
		return nil, err
	}
	defer terminate(d)
	b, err := newSlotBench(ctx, s, dir)
	if err != nil {
		return nil, err
	}
	warm, err := b.warm(ctx, runs)
	if err != nil {
		return nil, err
	}
	many, err := b.throughput(ctx, (runs+2)/3)
	return []row{warm, many}, err
}

// slotBench is the same template on both sides, once for each slot or shell.
type slotBench struct {
	s          *server
	workspaces []codersdk.Workspace
	shells     []*bare.Bare
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
	first, err := bare.New(ctx, filepath.Join(dir, "bare"), source)
	if err != nil {
		return nil, err
	}
	b := &slotBench{s: s}
	for n := range slots {
		w, err := s.create(ctx, fmt.Sprint("bench", n), t)
		if err != nil {
			return nil, err
		}
		shell := first.In(filepath.Join(dir, fmt.Sprint("shell", n)))
		if err := os.CopyFS(shell.Dir, os.DirFS(source)); err != nil {
			return nil, err
		}
		if err := shell.Build(ctx, "start"); err != nil {
			return nil, err
		}
		b.workspaces, b.shells = append(b.workspaces, w), append(b.shells, shell)
	}
	return b, nil
}

// warm compares one start with one by hand, which starts without .terraform, as
// a new clone of the template does.
func (b *slotBench) warm(ctx context.Context, runs int) (row, error) {
	w, shell := b.workspaces[0], b.shells[0]
	var ratios []float64
	for range runs {
		if err := shell.Build(ctx, "stop"); err != nil {
			return row{}, err
		}
		if _, _, err := b.s.build(ctx, w, codersdk.WorkspaceTransitionStop); err != nil {
			return row{}, err
		}
		if err := os.RemoveAll(filepath.Join(shell.Dir, ".terraform")); err != nil {
			return row{}, err
		}
		start := time.Now()
		if err := shell.Build(ctx, "start"); err != nil {
			return row{}, err
		}
		floor := time.Since(start)
		_, ours, err := b.s.build(ctx, w, codersdk.WorkspaceTransitionStart)
		if err != nil {
			return row{}, err
		}
		ratios = append(ratios, float64(ours)/float64(floor))
	}
	return atMost("warm_build_over_bare", median(ratios), 0.6, "x"), nil
}

// throughput lets all slots, then all shells, stop and start, in turns.
func (b *slotBench) throughput(ctx context.Context, rounds int) (row, error) {
	both := []string{"stop", "start"}
	var ours, floor time.Duration
	for range rounds {
		took, err := together(func(n int) error {
			for _, transition := range both {
				if _, _, err := b.s.build(ctx, b.workspaces[n], codersdk.WorkspaceTransition(transition)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return row{}, err
		}
		ours += took
		took, err = together(func(n int) error {
			for _, transition := range both {
				if err := b.shells[n].Build(ctx, transition); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return row{}, err
		}
		floor += took
	}
	for _, w := range b.workspaces {
		w, err := b.s.c.Workspace(ctx, w.ID, nil)
		if err != nil {
			return row{}, err
		}
		if w.LatestBuild.Job.Status != codersdk.ProvisionerJobStatusSucceeded {
			return row{}, fmt.Errorf("the last build of %s is %s: %s", w.Name, w.LatestBuild.Job.Status, w.LatestBuild.Job.Error)
		}
	}
	return atLeast("slot_builds_over_shells", float64(floor)/float64(ours), 1.5, "x"), nil
}

// together runs f for each slot concurrently and returns the total time.
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
