package servertest_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// TestToolsOfBuiltInProvisioners: the record of a built-in provisioner names the
// Terraform or OpenTofu on PATH, and nothing while none is installed.
func TestToolsOfBuiltInProvisioners(t *testing.T) {
	for program, want := range map[string][]string{"terraform": {"terraform/1.15.2"}, "tofu": {"tofu/1.15.2"}, "other": {}} {
		t.Run(program, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\necho '{\"terraform_version\":\"1.15.2\"}'\n"), 0o700))
			t.Setenv("PATH", dir)
			s := servertest.Start(t, func(c *server.Config) { c.Provisioning.Engines = []string{"terraform"} })
			again := time.NewTicker(50 * time.Millisecond)
			defer again.Stop()
			for {
				daemons, err := s.Client.ProvisionerDaemons(t.Context(), "default", nil)
				must(t, err)
				if len(daemons) == 1 {
					if got := daemons[0].Tools; !slices.Equal(got, want) {
						t.Errorf("tools %q, want %q", got, want)
					}
					return
				}
				select {
				case <-again.C:
				case <-t.Context().Done():
					t.Fatal("no provisioner connects")
				}
			}
		})
	}
}
