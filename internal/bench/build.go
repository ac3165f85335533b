package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Template is the template of both sides: a parameter, an agent, an app, and a
// resource that starts and stops with the workspace.
const Template = `terraform {
  required_providers {
    coder = { source = "coder/coder" }
  }
}
data "coder_workspace" "me" {}
data "coder_workspace_owner" "me" {}
data "coder_parameter" "size" {
  name    = "size"
  type    = "number"
  default = 2
}
resource "coder_agent" "main" {
  os   = "linux"
  arch = "amd64"
}
resource "coder_app" "web" {
  agent_id = coder_agent.main.id
  slug     = "web"
  url      = "http://localhost:8080"
}
resource "terraform_data" "host" {
  count = data.coder_workspace.me.start_count
  input = "${data.coder_workspace.me.name}-${data.coder_parameter.size.value}-${coder_agent.main.id}"
  provisioner "local-exec" {
    command = "true"
  }
}
`

// buildOverhead measures a warm start of a workspace against the same template
// run by hand: init, plan -out, apply. Both alternate with a stop that is not
// counted.
func buildOverhead(ctx context.Context, s *server, runs int) ([]row, error) {
	dir := filepath.Join(s.dir, "template")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(Template), 0o644); err != nil {
		return nil, err
	}
	t, err := s.push(ctx, "bench", dir)
	if err != nil {
		return nil, err
	}
	w, err := s.create(ctx, "bench", t)
	if err != nil {
		return nil, err
	}
	bare, err := newBare(ctx, filepath.Join(s.dir, "bare"), dir)
	if err != nil {
		return nil, err
	}
	if err := bare.build(ctx, "start"); err != nil {
		return nil, err
	}
	var ours, floor []time.Duration
	var ratios []float64
	for range runs {
		if err := bare.build(ctx, "stop"); err != nil {
			return nil, err
		}
		start := time.Now()
		if err := bare.build(ctx, "start"); err != nil {
			return nil, err
		}
		f := time.Since(start)
		if _, _, err := s.build(ctx, w, codersdk.WorkspaceTransitionStop); err != nil {
			return nil, err
		}
		_, o, err := s.build(ctx, w, codersdk.WorkspaceTransitionStart)
		if err != nil {
			return nil, err
		}
		ours, floor = append(ours, o), append(floor, f)
		ratios = append(ratios, float64(o)/float64(f))
	}
	slices.Sort(ratios)
	return []row{
		atMost("build_over_bare_terraform", ratios[len(ratios)/2], 1, "x"),
		atMost("build_warm_p50", ms(quantile(ours, 0.5)), ms(quantile(floor, 0.5)), "ms"),
	}, nil
}

// bare runs Terraform by hand, with the provider in a filesystem mirror.
type bare struct {
	dir string
	env []string
}

func newBare(ctx context.Context, dir, source string) (*bare, error) {
	mirror := filepath.Join(dir, "mirror", "registry.terraform.io", "coder", "coder", "2.19.0", "linux_amd64")
	work := filepath.Join(dir, "work")
	for _, d := range []string{mirror, work} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o",
		filepath.Join(mirror, "terraform-provider-coder_v2.19.0"), "github.com/coder/terraform-provider-coder/v2")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the provider for the floor: %w\n%s", err, out)
	}
	rc := filepath.Join(dir, "terraformrc")
	if err := os.WriteFile(rc,
		[]byte("provider_installation {\n  filesystem_mirror {\n    path = \""+filepath.Join(dir, "mirror")+"\"\n  }\n}\n"), 0o644); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(source, "main.tf"))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(work, "main.tf"), b, 0o644); err != nil {
		return nil, err
	}
	return &bare{dir: work, env: append(os.Environ(), "TF_CLI_CONFIG_FILE="+rc, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1",
		"CODER_WORKSPACE_ID=7d1c3a1e-0000-4000-8000-000000000001", "CODER_WORKSPACE_NAME=bench", "CODER_WORKSPACE_OWNER=admin",
		"CODER_WORKSPACE_OWNER_ID=7d1c3a1e-0000-4000-8000-000000000002", "CODER_AGENT_URL=http://127.0.0.1:3000")}, nil
}

func (b *bare) build(ctx context.Context, transition string) error {
	for _, args := range []string{"init -input=false", "plan -input=false -out=plan", "apply -input=false plan"} {
		cmd := exec.CommandContext(ctx, "terraform", strings.Fields(args)...)
		cmd.Dir = b.dir
		cmd.Env = append(b.env, "CODER_WORKSPACE_TRANSITION="+transition)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("terraform %s: %w\n%s", args, err, out)
		}
	}
	return nil
}
