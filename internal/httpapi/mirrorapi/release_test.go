package mirrorapi_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/terraform"
)

// install lets a provisioner without Terraform install it. It returns the version that the program prints.
func (h *house) install(t *testing.T, mirror http.Handler) (string, error) {
	t.Helper()
	releaseKey, err := h.registry.Key()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("PATH", t.TempDir())
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1") // no way but the mirror
	e, err := terraform.New(terraform.Config{CacheDir: t.TempDir(), Mirror: mirror, ReleaseKey: releaseKey})
	if err != nil {
		t.Fatal(err)
	}
	_, version, err := e.Ensure(t.Context())
	return version, err
}

func (h *house) external() http.Handler {
	return provisionerd.WebSocket{Client: codersdk.New(h.url), Key: key}.Mirror()
}

// publishTerraform publishes a program that prints a version as Terraform does.
func (h *house) publishTerraform(t *testing.T) providermirror.Target {
	t.Helper()
	target := providermirror.Target{
		Address: providermirror.Terraform(), Version: terraform.WantedVersion, Platform: providermirror.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH},
	}
	h.registry.Add(t, target, "#!/bin/sh\necho '{\"terraform_version\": \""+terraform.WantedVersion+"\"}'\n", 1<<20)
	return target
}

func TestProvisionersInstallTerraformFromTheMirror(t *testing.T) {
	h := newHouse(t)
	h.publishTerraform(t)
	for name, mirror := range map[string]http.Handler{"external": h.external(), "built-in": h.builtIn} {
		version, err := h.install(t, mirror)
		if err != nil || version != terraform.WantedVersion {
			t.Errorf("%s: %q, %v", name, version, err)
		}
	}
	if n := h.registry.Archives.Load(); n != 1 {
		t.Errorf("the server downloaded %d archives", n)
	}
	h.registry.SetDown(true)
	if _, err := h.install(t, h.external()); err != nil {
		t.Errorf("without a way to the releases: %v", err)
	}
}

func TestProvisionersRefuseAPoisonedTerraform(t *testing.T) {
	h := newHouse(t)
	target := h.publishTerraform(t)
	h.registry.Poison(target, []byte("not the archive"))
	if _, err := h.install(t, h.external()); err == nil || !strings.Contains(err.Error(), target.String()+" is refused: its SHA-256 is") {
		t.Errorf("a site that sends other bytes: %v", err)
	}
	h.registry.Poison(target, nil)
	h.tamper.Store(true)
	if _, err := h.install(t, h.external()); err == nil { // hc-install does not tell why it unpacks nothing
		t.Error("other bytes between the server and the provisioner are run")
	}
	h.tamper.Store(false)
	if _, err := h.install(t, h.external()); err != nil {
		t.Error(err)
	}
}

func TestProvisionersRefuseAForgedTerraform(t *testing.T) {
	h := newHouse(t)
	h.publishTerraform(t)
	h.registry.Forge(t)
	if _, err := h.install(t, h.external()); err == nil || !strings.Contains(err.Error(), "signature") {
		t.Errorf("got %v", err)
	}
}

func TestProvisionersSayWhyTerraformIsMissing(t *testing.T) {
	h := newHouse(t)
	h.registry.SetDown(true)
	if _, err := h.install(t, h.external()); err == nil || !strings.Contains(err.Error(), "coder mirror import") {
		t.Errorf("got %v", err)
	}
}
