package bench

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/bench/bare"
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
	w, hand, err := s.pair(ctx, "bench")
	if err != nil {
		return nil, err
	}
	var ours, floor []time.Duration
	var ratios []float64
	for range runs {
		if err := hand.Build(ctx, "stop"); err != nil {
			return nil, err
		}
		start := time.Now()
		if err := hand.Build(ctx, "start"); err != nil {
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

// pair returns a workspace of Template and the same template run by hand, both started.
func (s *server) pair(ctx context.Context, name string) (w codersdk.Workspace, hand *bare.Bare, err error) {
	dir := filepath.Join(s.dir, name)
	if err = os.MkdirAll(dir, 0o755); err != nil {
		return w, nil, err
	}
	if err = os.WriteFile(filepath.Join(dir, "main.tf"), []byte(Template), 0o644); err != nil {
		return w, nil, err
	}
	t, err := s.push(ctx, name, dir)
	if err != nil {
		return w, nil, err
	}
	if w, err = s.create(ctx, name, t); err != nil {
		return w, nil, err
	}
	if hand, err = bare.New(ctx, filepath.Join(s.dir, "bare"+name), dir); err != nil {
		return w, nil, err
	}
	return w, hand, hand.Build(ctx, "start")
}
