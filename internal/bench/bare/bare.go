// Package bare runs Terraform by hand, with the provider in a filesystem mirror, as the floor of
// measurements of builds.
package bare

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Bare runs builds by hand.
type Bare struct {
	Dir string // work directory
	env []string
}

// New prepares builds in a directory of the template in source.
func New(ctx context.Context, dir, source string) (*Bare, error) {
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
	return &Bare{Dir: work, env: append(os.Environ(), "TF_CLI_CONFIG_FILE="+rc, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1",
		"CODER_WORKSPACE_ID=7d1c3a1e-0000-4000-8000-000000000001", "CODER_WORKSPACE_NAME=bench", "CODER_WORKSPACE_OWNER=admin",
		"CODER_WORKSPACE_OWNER_ID=7d1c3a1e-0000-4000-8000-000000000002", "CODER_AGENT_URL=http://127.0.0.1:3000")}, nil
}

// In returns builds with the same environment in another directory.
func (b *Bare) In(dir string) *Bare { return &Bare{Dir: dir, env: b.env} }

// Build runs init, plan and apply.
func (b *Bare) Build(ctx context.Context, transition string) error {
	for _, args := range []string{"init -input=false", "plan -input=false -out=plan", "apply -input=false plan"} {
		cmd := exec.CommandContext(ctx, "terraform", strings.Fields(args)...)
		cmd.Dir = b.Dir
		cmd.Env = append(b.env, "CODER_WORKSPACE_TRANSITION="+transition)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("terraform %s: %w\n%s", args, err, out)
		}
	}
	return nil
}
