package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// endless is a template whose build reports its process and waits forever.
const endless = `terraform {
  required_providers {
    coder = { source = "coder/coder" }
  }
}
data "coder_workspace" "me" {}
resource "terraform_data" "wait" {
  count = data.coder_workspace.me.start_count
  provisioner "local-exec" {
    command = "echo $$ > %s/$NAME.tmp && mv %s/$NAME.tmp %s/$NAME && exec sleep 600"
    environment = { NAME = data.coder_workspace.me.name }
  }
}
`

// endRows measures with real daemons and Terraform how soon a daemon that was
// killed with its children is noticed (the worst of three), and how soon after
// a cancel Terraform's processes are gone (the median of three).
func endRows(ctx context.Context, bin string) ([]row, error) {
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
	e := &endBench{server: s, marks: filepath.Join(dir, "marks")}
	source := filepath.Join(dir, "template")
	if err := errors.Join(os.MkdirAll(e.marks, 0o755), os.MkdirAll(source, 0o755),
		os.WriteFile(filepath.Join(source, "main.tf"), fmt.Appendf(nil, endless, e.marks, e.marks, e.marks), 0o644)); err != nil {
		return nil, err
	}
	first, err := e.daemon(0)
	if err != nil {
		return nil, err
	}
	defer func() { destroy(first) }()
	t, err := e.push(ctx, "endless", source)
	if err != nil {
		return nil, err
	}
	canceled, err := e.cancels(ctx, t, 3)
	if err != nil {
		return nil, err
	}
	noticed, err := e.deaths(ctx, t, first, 3)
	if err != nil {
		return nil, err
	}
	return []row{
		atMost("queue_dead_daemon_noticed", noticed.Seconds(), 15, "s"),
		atMost("queue_cancel_to_interrupt", canceled.Seconds(), 0.5, "s"),
	}, nil
}

type endBench struct {
	*server
	marks string
}

func (e *endBench) daemon(n int) (*exec.Cmd, error) {
	name := fmt.Sprint("bench", n)
	cmd := exec.Command(e.bin, "provisioner", "start", "--name", name)
	cmd.Env = append(e.env, "CODER_CACHE_DIRECTORY="+filepath.Join(e.dir, name))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, cmd.Start()
}

// destroy kills a daemon with kill -9; its children die with it.
func destroy(cmd *exec.Cmd) {
	cmd.Process.Kill() //nolint:errcheck // it may be gone
	cmd.Wait()         //nolint:errcheck // killed
}

// begin starts a workspace build and waits for the process that Terraform runs.
func (e *endBench) begin(ctx context.Context, t codersdk.Template, name string) (build uuid.UUID, pid int, err error) {
	w, err := e.c.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: name, TemplateID: t.ID})
	if err != nil {
		return uuid.Nil, 0, err
	}
	err = until(ctx, 5*time.Millisecond, "Terraform runs", func() (bool, error) {
		b, err := os.ReadFile(filepath.Join(e.marks, name))
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		if err == nil {
			pid, err = strconv.Atoi(strings.TrimSpace(string(b)))
		}
		return true, err
	})
	return w.LatestBuild.ID, pid, err
}

func (e *endBench) cancels(ctx context.Context, t codersdk.Template, n int) (time.Duration, error) {
	var took []time.Duration
	for i := range n {
		build, pid, err := e.begin(ctx, t, fmt.Sprint("cancel", i))
		if err != nil {
			return 0, err
		}
		start := time.Now()
		if err := e.c.CancelWorkspaceBuild(ctx, build, nil); err != nil {
			return 0, err
		}
		err = until(ctx, 5*time.Millisecond, "Terraform is interrupted", func() (bool, error) {
			return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH), nil
		})
		if err != nil {
			return 0, err
		}
		took = append(took, time.Since(start))
		if err := e.over(ctx, build); err != nil {
			return 0, err
		}
	}
	return quantile(took, 0.5), nil
}

func (e *endBench) over(ctx context.Context, build uuid.UUID) error {
	return until(ctx, asked, "the build is over", func() (bool, error) {
		b, err := e.c.WorkspaceBuild(ctx, build)
		return err == nil && b.Job.CompletedAt != nil, err
	})
}

// deaths kills n daemons at once, whose jobs started at different times, and
// returns when the last job is no longer held.
func (e *endBench) deaths(ctx context.Context, t codersdk.Template, first *exec.Cmd, n int) (time.Duration, error) {
	daemons := []*exec.Cmd{first}
	var builds []uuid.UUID
	for i := range n {
		if i > 0 {
			d, err := e.daemon(i)
			if err != nil {
				return 0, err
			}
			defer destroy(d)
			daemons = append(daemons, d)
		}
		build, _, err := e.begin(ctx, t, fmt.Sprint("dead", i))
		if err != nil {
			return 0, err
		}
		builds = append(builds, build)
	}
	start := time.Now()
	for _, d := range daemons {
		d.Process.Kill() //nolint:errcheck // its jobs show whether it ended
	}
	var last time.Duration
	for _, id := range builds {
		err := until(ctx, asked, "the loss is noticed", func() (bool, error) {
			b, err := e.c.WorkspaceBuild(ctx, id)
			return err == nil && b.Job.Status != codersdk.ProvisionerJobStatusRunning, err
		})
		if err != nil {
			return 0, err
		}
		last = time.Since(start)
	}
	return last, nil
}

// asked is the interval of requests for values that the server rate-limits.
const asked = 200 * time.Millisecond

// until polls a condition for a minute.
func until(ctx context.Context, every time.Duration, what string, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if ok, err := so(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within a minute: %s", what)
		case <-tick.C:
		}
	}
}
