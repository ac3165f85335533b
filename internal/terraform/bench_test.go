package terraform

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
)

// BenchmarkBuild compares a warm build by the engine with the same template
// through `terraform init`, `plan -out` and `apply` by hand, where the provider
// is this same executable in a filesystem mirror. The two take turns.
func BenchmarkBuild(b *testing.B) {
	binary := needTerraform(b)
	e := newEngine(b)
	own, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	mirror := filepath.Join(dir, "mirror")
	place := filepath.Join(mirror, "registry.terraform.io/coder/coder/2.19.0", runtime.GOOS+"_"+runtime.GOARCH)
	config := filepath.Join(dir, "terraformrc")
	for _, err := range []error{
		os.MkdirAll(place, 0o700),
		os.Symlink(own, filepath.Join(place, "terraform-provider-coder_v2.19.0")),
		os.WriteFile(config, fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\ndisable_checkpoint = true\n", mirror), 0o600),
	} {
		if err != nil {
			b.Fatal(err)
		}
	}
	source := pack(b, map[string]string{"main.tf": simple})
	byHand := func() time.Duration {
		work := b.TempDir()
		if err := os.WriteFile(filepath.Join(work, "main.tf"), []byte(simple), 0o600); err != nil {
			b.Fatal(err)
		}
		begin := time.Now()
		for _, args := range [][]string{{"init", "-input=false"}, {"plan", "-input=false", "-out=p"}, {"apply", "-input=false", "p"}} {
			cmd := exec.Command(binary, args...)
			cmd.Dir, cmd.Env = work, append(os.Environ(), "TF_CLI_CONFIG_FILE="+config, "CODER_AGENT_URL=http://127.0.0.1:3000")
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %v\n%s", args, err, out)
			}
		}
		return time.Since(begin)
	}
	byEngine := func() time.Duration {
		begin := time.Now()
		s, err := e.Open(b.Context(), &provisioner.Config{}, func(*provisioner.Log) {})
		if err != nil {
			b.Fatal(err)
		}
		m := metadata(provisioner.WorkspaceTransition_START)
		ok[*provisioner.InitComplete](b)(s.Init(b.Context(), &provisioner.InitRequest{TemplateSourceArchive: source}))
		ok[*provisioner.PlanComplete](b)(s.Plan(b.Context(), &provisioner.PlanRequest{Metadata: m}))
		ok[*provisioner.ApplyComplete](b)(s.Apply(b.Context(), &provisioner.ApplyRequest{Metadata: m}))
		ok[*provisioner.GraphComplete](b)(s.Graph(b.Context(), &provisioner.GraphRequest{Metadata: m, Source: provisioner.GraphSource_SOURCE_STATE}))
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		return time.Since(begin)
	}
	byHand()
	byEngine()
	var hand, engine []time.Duration
	for b.Loop() {
		hand = append(hand, byHand())
		engine = append(engine, byEngine())
	}
	slices.Sort(hand)
	slices.Sort(engine)
	h, g := hand[len(hand)/2], engine[len(engine)/2]
	ratio, verdict := float64(g)/float64(h), "ok"
	if ratio > 1 {
		verdict = "short"
	}
	b.ReportMetric(ratio, "ratio")
	fmt.Printf("terraform_build_over_by_hand %.2f 1.0 %s (%d ms against %d ms)\n", ratio, verdict, g.Milliseconds(), h.Milliseconds())
}
