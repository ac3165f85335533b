package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/mirror/registrytest"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/server/mirror"
)

// withMirror returns a server with a mirror.
func withMirror(t *testing.T, r *registrytest.Registry) *house {
	t.Helper()
	return newHouse(t, func(c *server.Config) {
		c.Mirror = mirror.Config{Enable: true, MaxBytes: 1 << 30, Transport: r.Transport(), Upstreams: []string{providermirror.TerraformRegistry}}
	})
}

// TestMirrorCommands pulls what a template needs at one server and carries it to another.
func TestMirrorCommands(t *testing.T) {
	t.Parallel()
	r := registrytest.New(t)
	for _, name := range []string{"one", "two"} {
		r.Add(t, providermirror.Target{
			Address: providermirror.Address{Hostname: providermirror.TerraformRegistry, Namespace: "acme", Type: name},
			Version: "1.2.3", Platform: providermirror.Platform{OS: "linux", Arch: "arm64"},
		}, "program", 2<<20)
	}
	here := withMirror(t, r)
	here.commands(`
		mirror list => No template needs a provider or a module.
		mirror pull
		! mirror export none.tar => The mirror stores nothing; run 'coder mirror pull' first
	`)
	source := `terraform {
  required_providers {
    one  = { source = "acme/one" }
    two  = { source = "acme/two", version = "~> 1.0" }
    more = { source = "acme/more" }
  }
}
`
	here.template("dev", map[string]string{"main.tf": source})
	store, err := postgres.Open(t.Context(), postgres.Config{URL: here.PostgresURL})
	here.must(err)
	defer store.Close()
	// The template was imported by another engine than Terraform.
	_, err = store.Pool().Exec(t.Context(), "UPDATE templates SET provisioner = 'terraform'")
	here.must(err)

	file := filepath.Join(t.TempDir(), "providers.tar")
	here.commands(`
		mirror list --platform linux_arm64 => registry.terraform.io/acme/two
		mirror list --platform linux_arm64 --column package,version,stored,problem => 1.2.3
		! mirror list --platform linux => "linux" is not a platform
		! mirror pull --platform linux_arm64 => 1 of 3 archives were not stored
		mirror list --platform linux_arm64 --output json => "stored": true
		mirror export ` + file + ` => Wrote
	`)
	r.SetDown(true)
	there := withMirror(t, r)
	there.commands(`
		mirror import ` + file + ` => Stored 2 archives; the mirror already had 0.
		mirror import ` + file + ` => Stored 0 archives; the mirror already had 2.
	`)
	data, err := os.ReadFile(file)
	here.must(err)
	data[len(data)/2] ^= 1
	here.must(os.WriteFile(file, data, 0o600))
	there.commands("! mirror import " + file + " => is refused: its SHA-256 is")
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".mirror-*")); len(left) > 0 {
		t.Errorf("left %s", strings.Join(left, ", "))
	}
}

func TestMirrorCommandsWithoutAMirror(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.commands(`
		! mirror list => start it with --mirror
		! mirror pull => start it with --mirror
		! mirror export none.tar => The mirror stores nothing
		! mirror import go.mod => no such file
	`)
}

// TestPublishedModules publishes a module and carries it to another server.
func TestPublishedModules(t *testing.T) {
	t.Parallel()
	r := registrytest.New(t)
	here, there := withMirror(t, r), withMirror(t, r)
	dir, empty, file := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "mirror.tar")
	here.must(os.WriteFile(filepath.Join(dir, "main.tf"), []byte("# one"), 0o600))
	here.must(os.WriteFile(filepath.Join(empty, "README.md"), []byte("# one"), 0o600))
	const address = "coder.example.com/platform/home/docker"
	here.commands(`
		! mirror publish home 1.0.0 => use hostname/namespace/name/system
		! mirror publish ` + address + ` one => "one" is not a version
		! mirror publish ` + address + ` 1.0.0 --directory ` + empty + ` => has no .tf file
		! mirror publish ` + address + ` 1.0.0 --directory ` + filepath.Join(empty, "none") + ` => does not exist
		mirror publish ` + address + ` 1.0.0 --directory ` + dir + ` => Published ` + address + ` 1.0.0
		mirror publish ` + address + ` 1.0.0 -d ` + dir + ` => Published ` + address + ` 1.0.0
	`)
	here.must(os.WriteFile(filepath.Join(dir, "main.tf"), []byte("# two"), 0o600))
	here.commands(`
		! mirror publish ` + address + ` 1.0.0 --directory ` + dir + ` => publish another version
		mirror publish ` + address + ` 1.1.0 --directory ` + dir + ` => Published ` + address + ` 1.1.0
		mirror export ` + file + ` => Wrote
		mirror remove ` + address + ` 1.0.0 => Removed ` + address + ` 1.0.0.
		! mirror remove ` + address + ` 1.0.0 => The mirror does not have
	`)
	there.commands("mirror import " + file + " => Stored 2 archives")
}
