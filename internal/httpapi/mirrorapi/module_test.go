package mirrorapi_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/testtar"
)

// publishModule publishes version 1.0.0 of a module of acme with a module inside, in a repository on GitHub.
func (h *house) publishModule(t *testing.T, name string) providermirror.Target {
	t.Helper()
	target := providermirror.Target{
		Address: providermirror.Module(providermirror.TerraformRegistry, "Acme", name, "any"), Version: "1.0.0",
	}
	repository := "github.com/acme/terraform-any-" + name
	h.registry.AddModule(t, target, "git::https://"+repository+"?ref=v1.0.0", "https://"+repository+"/archive/v1.0.0.tar.gz", map[string]string{
		"terraform-any-" + name + "-1.0.0/main.tf":            "module \"inner\" {\n  source = \"./modules/inner\"\n}\noutput \"text\" {\n  value = module.inner.text\n}\n",
		"terraform-any-" + name + "-1.0.0/modules/inner/a.tf": "output \"text\" {\n  value = \"from " + name + "\"\n}\n",
	})
	return target
}

// callsOf returns a configuration that calls modules of acme, and their inner modules.
func callsOf(names ...string) string {
	var source strings.Builder
	for _, name := range names {
		fmt.Fprintf(&source, `module %[1]q {
  source  = "Acme/%[1]s/any"
  version = "~> 1.0"
}
module "%[1]s-inner" {
  source  = "registry.terraform.io/Acme/%[1]s/any//modules/inner"
  version = "1.0.0"
}
resource "terraform_data" "%[1]s-modules" {
  input = [module.%[1]s.text, module.%[1]s-inner.text, %[2]q]
}
`, name, runtime.GOOS)
	}
	return source.String()
}

func TestBuildsInstallModulesFromTheMirror(t *testing.T) {
	h := newHouse(t)
	names := []string{"one", "two"}
	for _, name := range names {
		h.publishModule(t, name)
	}
	source := packed(t, callsOf(names...))
	if problem := build(t, newEngine(t, h.builtIn), source); problem != "" {
		t.Fatal(problem)
	}
	if n := h.registry.Archives.Load(); n != int64(len(names)) {
		t.Errorf("the server downloaded %d archives", n)
	}
	h.registry.SetDown(true)
	if problem := build(t, h.engine(t, key), source); problem != "" {
		t.Errorf("without a way to the registry: %s", problem)
	}
	if h.bytes.Load() == 0 {
		t.Error("the server sent nothing")
	}
	problem := build(t, h.engine(t, key), packed(t, callsOf("three")))
	if !strings.Contains(problem, "registry.terraform.io/Acme/three/any") || !strings.Contains(problem, "coder mirror import") {
		t.Errorf("a module that the mirror lacks: %s", problem)
	}
}

// TestBuildsFetchOtherModulesThemselves has a module whose source is no archive.
func TestBuildsFetchOtherModulesThemselves(t *testing.T) {
	h := newHouse(t)
	dir := filepath.Join(t.TempDir(), "own")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte("output \"text\" {\n  value = \"own\"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	target := providermirror.Target{Address: providermirror.Module(providermirror.TerraformRegistry, "Acme", "own", "any"), Version: "1.0.0"}
	h.registry.AddModule(t, target, "file://"+dir, "", nil)
	source := "module \"own\" {\n  source = \"Acme/own/any\"\n}\nresource \"terraform_data\" \"own\" {\n  input = [module.own.text, \"" + runtime.GOOS + "\"]\n}\n"
	if problem := build(t, h.engine(t, key), packed(t, source)); problem != "" {
		t.Error(problem)
	}
}

// TestBuildsUsePublishedModules has a module whose hostname is that of no registry.
func TestBuildsUsePublishedModules(t *testing.T) {
	h := newHouse(t)
	files := testtar.Of(t, map[string]string{"main.tf": "output \"text\" {\n  value = \"published\"\n}\n"})
	home := providermirror.Module("coder.example.com", "platform", "home", "docker")
	if _, err := h.mirror.Publish(t.Context(), access.System(), home, "1.0.0", bytes.NewReader(files)); err != nil {
		t.Fatal(err)
	}
	source := `module "home" {
  source  = "coder.example.com/platform/home/docker"
  version = ">= 1.0"
}
resource "terraform_data" "home" {
  input = [module.home.text, "` + runtime.GOOS + `"]
}
`
	if problem := build(t, h.engine(t, key), packed(t, source)); problem != "" {
		t.Error(problem)
	}
}
