package mirror_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/mirror"
	"github.com/seed-2a7f8fe7/coder/internal/mirror/registrytest"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/registry"
)

// TestOpenTofuIsNeededWithItsRegistry lists OpenTofu instead of Terraform for provisioners with OpenTofu.
func TestOpenTofuIsNeededWithItsRegistry(t *testing.T) {
	s := service(t, mirror.Config{
		Store: postgrestest.New(t), Upstreams: []string{providermirror.TerraformReleases, providermirror.TofuReleases}, Terraform: "1.16.0", OpenTofu: "1.12.6",
		Platform: providermirror.Platform{OS: "linux", Arch: "amd64"},
	})
	for fallback, want := range map[string]string{"": "terraform 1.16.0", providermirror.OpenTofuRegistry: "opentofu 1.12.6"} {
		got, err := s.Needs(t.Context(), access.System(), fallback, nil)
		if err != nil || len(got) != 1 || got[0].Type+" "+got[0].Version != want {
			t.Errorf("%q: %v, %v", fallback, got, err)
		}
	}
}

func release(version string) providermirror.Target {
	return providermirror.Target{Address: providermirror.Terraform().Address, Version: version, Platform: providermirror.Platform{OS: "linux", Arch: "amd64"}}
}

// TestTerraformIsCarried lists Terraform among the needs, and carries it with its signed checksums to a server
// that reaches no registry.
func TestTerraformIsCarried(t *testing.T) {
	r := registrytest.New(t)
	want := r.Add(t, release("1.16.0"), "program", 1<<20)
	config := mirror.Config{
		Store: postgrestest.New(t), Registry: registry.New(r.Transport(), time.Now), Upstreams: []string{providermirror.TerraformReleases}, Terraform: "1.16.0",
	}
	open := service(t, config)
	if got, _ := needs(t, open); len(got) != 1 || got[0] != `terraform 1.16.0 stored=false locked=true ""  ` {
		t.Fatalf("got %q", got)
	}
	if _, err := open.Pull(t.Context(), access.System(), providermirror.PullRequest{Target: release("1.16.0")}); err != nil {
		t.Fatal(err)
	}
	if got, _ := needs(t, open); len(got) != 1 || !strings.Contains(got[0], "stored=true") {
		t.Errorf("got %q", got)
	}
	stated, err := open.Release(t.Context(), providermirror.Terraform(), "1.16.0")
	if err != nil {
		t.Fatal(err)
	}
	config.Store, config.Upstreams = postgrestest.New(t), []string{providermirror.TerraformRegistry}
	if got, _ := needs(t, service(t, config)); len(got) > 0 {
		t.Errorf("a mirror of providers alone needs %q", got)
	}
	var export bytes.Buffer
	if err := open.Export(t.Context(), access.System(), &export); err != nil {
		t.Fatal(err)
	}

	config.Upstreams = nil
	closed := service(t, config)
	if _, err := closed.Release(t.Context(), providermirror.Terraform(), "1.16.0"); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("before the import: %v", err)
	}
	if _, err := closed.Import(t.Context(), access.System(), bytes.NewReader(export.Bytes())); err != nil {
		t.Fatal(err)
	}
	got, err := closed.Release(t.Context(), providermirror.Terraform(), "1.16.0")
	if err != nil || !bytes.Equal(got.Checksums, stated.Checksums) || !bytes.Equal(got.Signature, stated.Signature) || len(got.Signature) == 0 {
		t.Errorf("%v: %q, want %q", err, got, stated)
	}
	if !bytes.Equal(read(t, closed, release("1.16.0")), want) {
		t.Error("the archive is another one")
	}
}

// TestTerraformWithoutItsChecksumsIsRefused imports archives whose manifest does not have what proves them.
func TestTerraformWithoutItsChecksumsIsRefused(t *testing.T) {
	r := registrytest.New(t)
	r.Add(t, release("1.16.0"), "program", 0)
	config := mirror.Config{Store: postgrestest.New(t), Registry: registry.New(r.Transport(), time.Now), Upstreams: []string{providermirror.TerraformReleases}}
	read(t, service(t, config), release("1.16.0"))
	for change, problem := range map[string]string{
		`checksums = ''`: "its release states", `signature = ''`: "are not signed", `checksums = 'zz'`: "its release states",
	} {
		store := config.Store
		if _, err := store.Pool().Exec(t.Context(), "CREATE TABLE kept AS SELECT checksums, signature FROM mirror_packages"); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Pool().Exec(t.Context(), "UPDATE mirror_packages SET "+change); err != nil {
			t.Fatal(err)
		}
		var export bytes.Buffer
		if err := service(t, config).Export(t.Context(), access.System(), &export); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Pool().Exec(t.Context(), "UPDATE mirror_packages p SET checksums = k.checksums, signature = k.signature FROM kept k; DROP TABLE kept"); err != nil {
			t.Fatal(err)
		}
		closed := service(t, mirror.Config{Store: postgrestest.New(t), Registry: config.Registry})
		if _, err := closed.Import(t.Context(), access.System(), &export); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", change, err)
		}
	}
}
