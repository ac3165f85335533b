package mirrorapi_test

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/terraform"
)

// program is what a provisioner without Terraform and OpenTofu installs.
type program struct {
	providermirror.Program
	version string
	binary  string // that the provisioner is configured with
}

// programs are those that provisioners install.
func programs() []program {
	return []program{
		{providermirror.Terraform(), terraform.WantedVersion, ""},
		{providermirror.OpenTofu(), terraform.WantedTofu, "tofu"},
	}
}

// forPrograms runs a test for each program, which the registry has.
func forPrograms(t *testing.T, test func(t *testing.T, h *house, p program)) {
	for _, p := range programs() {
		t.Run(p.Type, func(t *testing.T) {
			h := newHouse(t)
			h.registry.Add(t, p.target(), "#!/bin/sh\necho '{\"terraform_version\": \""+p.version+"\"}'\n", 1<<20)
			test(t, h, p)
		})
	}
}

func (p program) target() providermirror.Target {
	return providermirror.Target{Address: p.Address, Version: p.version, Platform: providermirror.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}}
}

// install lets a provisioner install a program. It returns the version that the program prints.
func (h *house) install(t *testing.T, p program, mirror http.Handler) (string, error) {
	t.Helper()
	releaseKey, err := h.registry.Key()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("PATH", t.TempDir())
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1") // no way but the mirror
	config := terraform.Config{CacheDir: t.TempDir(), Binary: p.binary, Mirror: mirror, ReleaseKey: releaseKey}
	e, err := terraform.New(config)
	if err != nil {
		t.Fatal(err)
	}
	_, version, err := e.Ensure(t.Context())
	if err != nil {
		return version, err
	}
	config.Mirror = nil
	if e, err = terraform.New(config); err != nil {
		t.Fatal(err)
	}
	if _, again, err := e.Ensure(t.Context()); err != nil || again != version {
		t.Errorf("the next start finds %q, %v", again, err)
	}
	return version, nil
}

func (h *house) external() http.Handler {
	return provisionerd.WebSocket{Client: codersdk.New(h.url), Key: key}.Mirror()
}

func TestProvisionersInstallProgramsFromTheMirror(t *testing.T) {
	forPrograms(t, func(t *testing.T, h *house, p program) {
		for name, mirror := range map[string]http.Handler{"external": h.external(), "built-in": h.builtIn} {
			version, err := h.install(t, p, mirror)
			if err != nil || version != p.version {
				t.Errorf("%s: %q, %v", name, version, err)
			}
		}
		if n := h.registry.Archives.Load(); n != 1 {
			t.Errorf("the server downloaded %d archives", n)
		}
		h.registry.SetDown(true)
		if _, err := h.install(t, p, h.external()); err != nil {
			t.Errorf("without a way to the releases: %v", err)
		}
	})
}

func TestProvisionersRefuseAPoisonedProgram(t *testing.T) {
	forPrograms(t, func(t *testing.T, h *house, p program) {
		h.registry.Poison(p.target(), []byte("not the archive"))
		if _, err := h.install(t, p, h.external()); err == nil || !strings.Contains(err.Error(), p.target().String()+" is refused: its SHA-256 is") {
			t.Errorf("a site that sends other bytes: %v", err)
		}
		h.registry.Poison(p.target(), nil)
		h.tamper.Store(true)
		if _, err := h.install(t, p, h.external()); err == nil { // hc-install does not tell why it unpacks nothing
			t.Error("other bytes between the server and the provisioner are run")
		}
		h.tamper.Store(false)
		if _, err := h.install(t, p, h.external()); err != nil {
			t.Error(err)
		}
	})
}

func TestProvisionersRefuseAForgedProgram(t *testing.T) {
	forPrograms(t, func(t *testing.T, h *house, p program) {
		h.registry.Forge(t)
		if _, err := h.install(t, p, h.external()); err == nil || !strings.Contains(strings.ToLower(err.Error()), "signature") {
			t.Errorf("got %v", err)
		}
	})
}

func TestReleasesOfUnknownPrograms(t *testing.T) {
	h := newHouse(t)
	for path, want := range map[string]string{"vault/1.0.0/index.json": "use terraform or opentofu", "opentofu/1.12.6/index.json": "is not the name of an archive"} {
		w := httptest.NewRecorder()
		h.builtIn.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/releases/"+path, nil))
		if w.Code < 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestProvisionersSayWhyAProgramIsMissing(t *testing.T) {
	forPrograms(t, func(t *testing.T, h *house, p program) {
		h.registry.SetDown(true)
		if _, err := h.install(t, p, h.external()); err == nil || !strings.Contains(err.Error(), "coder mirror import") {
			t.Errorf("got %v", err)
		}
	})
}
