package mirrorapi_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/archive"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/mirrorapi"
	"github.com/seed-2a7f8fe7/coder/internal/mirror"
	"github.com/seed-2a7f8fe7/coder/internal/mirror/registrytest"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/terraform"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/registry"
	"github.com/seed-2a7f8fe7/coder/internal/tfprovider"
)

// TestMain lets the test binary be the providers of the builds.
func TestMain(m *testing.M) {
	if tfprovider.Requested(os.Args, os.Getenv) {
		os.Exit(tfprovider.Serve(os.Args[1:]))
	}
	os.Exit(m.Run())
}

const key = "provisioner-key"

// provider is a program that serves the provider, see tfprovider/program; "" is the test binary.
var provider = os.Getenv("CODER_TEST_PROVIDER")

// house is a registry and a server with a mirror.
type house struct {
	registry *registrytest.Registry
	mirror   *mirror.Service
	url      *url.URL
	builtIn  http.Handler // what built-in provisioners use
	bytes    atomic.Int64 // of archives that the server sent
	tamper   atomic.Bool  // change a byte of each write of an archive
}

func newHouse(t *testing.T) *house {
	t.Helper()
	if _, err := os.Stat("/usr/bin/env"); err != nil || runtime.GOOS == "windows" {
		t.Skip("providers of this test are shell scripts")
	}
	h := &house{registry: registrytest.New(t)}
	h.serve(t, mirror.Config{
		Store: postgrestest.New(t), Registry: registry.New(h.registry.Transport(), time.Now),
		Upstreams: []string{providermirror.TerraformRegistry, providermirror.OpenTofuRegistry, providermirror.TerraformReleases, providermirror.TofuReleases},
	})
	return h
}

// serve starts the server with a mirror.
func (h *house) serve(t *testing.T, c mirror.Config) {
	t.Helper()
	c.Enable, c.MaxBytes, c.Dir, c.Log = true, 1<<30, t.TempDir(), slog.New(slog.DiscardHandler)
	h.mirror = mirror.New(c)
	api := mirrorapi.API{Mirror: h.mirror, Authenticate: func(r *http.Request) error {
		if r.Header.Get("Coder-Provisioner-Daemon-Key") != key {
			return codersdk.Errorf(codersdk.CodeUnauthenticated, "Wrong key")
		}
		return nil
	}}
	h.builtIn = api.ServeProvisioner()
	handler := httpapi.New(httpapi.Config{Routes: api.Routes(), Log: slog.New(slog.DiscardHandler)}).Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ".zip") && !strings.HasSuffix(r.URL.Path, ".tar.gz") {
			handler.ServeHTTP(w, r)
			return
		}
		handler.ServeHTTP(&counted{ResponseWriter: w, house: h}, r)
	}))
	t.Cleanup(server.Close)
	var err error
	if h.url, err = url.Parse(server.URL); err != nil {
		t.Fatal(err)
	}
}

// counted counts and changes the bytes of archives.
type counted struct {
	http.ResponseWriter
	house *house
}

func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *counted) Write(b []byte) (int, error) {
	c.house.bytes.Add(int64(len(b)))
	if c.house.tamper.Load() {
		b = bytes.Clone(b)
		b[len(b)/2] ^= 1
	}
	return c.ResponseWriter.Write(b)
}

// engine returns a provisioner's engine with a cache of its own.
func (h *house) engine(t *testing.T, key string) *terraform.Engine {
	t.Helper()
	return newEngine(t, provisionerd.WebSocket{Client: codersdk.New(h.url), Key: key}.Mirror())
}

func newEngine(t *testing.T, mirror http.Handler) *terraform.Engine {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	for _, name := range []string{"TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"} {
		t.Setenv(name, "")
		os.Unsetenv(name) //nolint:errcheck // Setenv restores it
	}
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1") // no way but the mirror
	e, err := terraform.New(terraform.Config{CacheDir: t.TempDir(), Grace: 2 * time.Second, Mirror: mirror, Provider: provider})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.Ensure(t.Context()); err != nil {
		t.Skip("terraform is not on PATH: this test of the real thing does not run")
	}
	return e
}

// publish adds a provider to the registry.
func (h *house) publish(t *testing.T, name, version string) providermirror.Target {
	t.Helper()
	link := filepath.Join(t.TempDir(), "terraform-provider-"+name)
	if err := os.Symlink(cmp.Or(provider, os.Args[0]), link); err != nil {
		t.Fatal(err)
	}
	target := providermirror.Target{
		Address: providermirror.Address{Hostname: providermirror.TerraformRegistry, Namespace: "acme", Type: name},
		Version: version, Platform: providermirror.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH},
	}
	h.registry.Add(t, target, "#!/bin/sh\nexec '"+link+"' \"$@\"\n", 2<<20)
	return target
}

// template uses providers of acme.
func template(t *testing.T, names ...string) []byte {
	t.Helper()
	return packed(t, usesOf(names...))
}

// usesOf returns a configuration that uses providers of acme.
func usesOf(names ...string) string {
	var required, used strings.Builder
	for _, name := range names {
		fmt.Fprintf(&required, "    %s = {\n      source  = \"acme/%s\"\n      version = \"~> 1.0\"\n    }\n", name, name)
		fmt.Fprintf(&used, "data \"coder_provisioner\" %q {\n  provider = %s\n}\n", name, name)
		fmt.Fprintf(&used, "resource \"terraform_data\" %q {\n  input = data.coder_provisioner.%s.os\n}\n", name, name)
	}
	return "terraform {\n  required_providers {\n" + required.String() + "  }\n}\n" + used.String()
}

// packed returns a template with one file.
func packed(t *testing.T, source string) []byte {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := archive.Pack(dir, archive.Upload())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// build runs a build and returns the error for the template's author, "" for none.
func build(t *testing.T, e *terraform.Engine, source []byte) string {
	t.Helper()
	problem, _ := buildWith(t, e, source, nil)
	return problem
}

// buildWith runs a build with the modules that an earlier build of this provisioner installed, which their hash names.
// It returns the hash of the modules, too.
func buildWith(t *testing.T, e *terraform.Engine, source, modules []byte) (problem string, hash []byte) {
	t.Helper()
	var log bytes.Buffer
	s, err := e.Open(t.Context(), &provisioner.Config{}, func(l *provisioner.Log) { fmt.Fprintln(&log, l.GetOutput()) })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	done, err := s.Init(t.Context(), &provisioner.InitRequest{TemplateSourceArchive: source, OmitModuleFiles: true, InitialModuleTarHash: modules})
	if err != nil {
		t.Fatal(err)
	}
	if done.GetError() != "" {
		return done.GetError(), nil
	}
	meta := &provisioner.Metadata{WorkspaceTransition: provisioner.WorkspaceTransition_START, WorkspaceName: "dev", WorkspaceOwner: "owner", WorkspaceBuildId: "1"}
	plan, err := s.Plan(t.Context(), &provisioner.PlanRequest{Metadata: meta})
	if err != nil || plan.GetError() != "" {
		t.Fatalf("plan: %v %s\n%s", err, plan.GetError(), &log)
	}
	apply, err := s.Apply(t.Context(), &provisioner.ApplyRequest{Metadata: meta})
	if err != nil || apply.GetError() != "" {
		t.Fatalf("apply: %v %s\n%s", err, apply.GetError(), &log)
	}
	if !bytes.Contains(apply.GetState(), []byte(runtime.GOOS)) {
		t.Errorf("the state lacks what the providers read:\n%s", apply.GetState())
	}
	return "", done.GetModuleFilesHash()
}

func TestBuildsUseTheMirror(t *testing.T) {
	h := newHouse(t)
	names := []string{"one", "two", "three", "four", "five"}
	for _, name := range names {
		h.publish(t, name, "1.0.0")
	}
	source := template(t, names...)
	e := h.engine(t, key)
	if problem := build(t, e, source); problem != "" {
		t.Fatal(problem)
	}
	if n := h.bytes.Load(); n < 10<<20 {
		t.Errorf("the first build read %d bytes", n)
	}
	h.bytes.Store(0)
	if problem := build(t, e, source); problem != "" {
		t.Fatal(problem)
	}
	if n := h.bytes.Load(); n != 0 {
		t.Errorf("the second build read %d bytes", n)
	}
	// Another provisioner, when the registry is gone.
	h.registry.SetDown(true)
	archives := h.registry.Archives.Load()
	if problem := build(t, h.engine(t, key), source); problem != "" {
		t.Fatal(problem)
	}
	if h.bytes.Load() == 0 || h.registry.Archives.Load() != archives {
		t.Errorf("the mirror sent %d bytes, the registry %d archives", h.bytes.Load(), h.registry.Archives.Load()-archives)
	}
}

func TestBuildsRefusePoisonedPackages(t *testing.T) {
	h := newHouse(t)
	target := h.publish(t, "one", "1.0.0")
	source := template(t, "one")
	h.registry.Poison(target, []byte("not the archive"))
	if problem := build(t, h.engine(t, key), source); !strings.Contains(problem, "acme/one 1.0.0 for "+target.Platform.String()+" is refused: its SHA-256 is") {
		t.Errorf("a registry that sends other bytes: %s", problem)
	}
	h.registry.Poison(target, nil)

	h.tamper.Store(true)
	if problem := build(t, h.engine(t, key), source); !strings.Contains(problem, "acme/one") || !strings.Contains(problem, "checksum") {
		t.Errorf("other bytes between the server and Terraform: %s", problem)
	}
	h.tamper.Store(false)
	if problem := build(t, h.engine(t, key), source); problem != "" {
		t.Error(problem)
	}
}

func TestBuildsSayWhatTheMirrorLacks(t *testing.T) {
	h := newHouse(t)
	h.publish(t, "one", "1.0.0")
	h.registry.SetDown(true)
	if problem := build(t, h.engine(t, key), template(t, "one")); !strings.Contains(problem, "coder mirror import") {
		t.Error(problem)
	}
}

func TestBuiltInProvisionersUseTheMirror(t *testing.T) {
	h := newHouse(t)
	target := h.publish(t, "one", "1.0.0")
	if problem := build(t, newEngine(t, h.builtIn), template(t, "one")); problem != "" {
		t.Fatal(problem)
	}
	two := h.publish(t, "two", "1.0.0")
	h.registry.Poison(two, []byte("not the archive"))
	if problem := build(t, newEngine(t, h.builtIn), template(t, "one", "two")); !strings.Contains(problem, "acme/two 1.0.0 for "+target.Platform.String()+" is refused") {
		t.Error(problem)
	}
}

func TestTheMirrorNeedsCredentials(t *testing.T) {
	h := newHouse(t)
	h.publish(t, "one", "1.0.0")
	e := h.engine(t, "wrong")
	s, err := e.Open(t.Context(), &provisioner.Config{}, func(*provisioner.Log) {})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Init(t.Context(), &provisioner.InitRequest{TemplateSourceArchive: template(t, "one")}); err == nil || !strings.Contains(err.Error(), "Wrong key") {
		t.Errorf("got %v", err)
	}
	if n := h.registry.Requests.Load(); n != 0 {
		t.Errorf("%d requests to the registry", n)
	}
}

func TestTheAdministratorsConfigurationWins(t *testing.T) {
	h := newHouse(t)
	h.publish(t, "one", "1.0.0")
	e := h.engine(t, key)
	config := filepath.Join(t.TempDir(), "terraform.rc")
	if err := os.WriteFile(config, []byte("provider_installation {\n  filesystem_mirror {\n    path = \"/nonexistent\"\n  }\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TF_CLI_CONFIG_FILE", config)
	var log bytes.Buffer
	s, err := e.Open(t.Context(), &provisioner.Config{}, func(l *provisioner.Log) { fmt.Fprintln(&log, l.GetLevel(), l.GetOutput()) })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	done, err := s.Init(t.Context(), &provisioner.InitRequest{TemplateSourceArchive: template(t, "one")})
	if err != nil || done.GetError() == "" {
		t.Errorf("the provider came from elsewhere: %v", err)
	}
	if !strings.Contains(log.String(), "INFO The mirror of the server is not used: the provisioner has a CLI configuration in TF_CLI_CONFIG_FILE.\n") {
		t.Error(log.String())
	}
	if n := h.registry.Requests.Load(); n != 0 {
		t.Errorf("%d requests to the registry", n)
	}
}

func TestAServerWithoutAMirror(t *testing.T) {
	api := mirrorapi.API{Mirror: mirror.New(mirror.Config{}), Authenticate: func(*http.Request) error { return nil }}
	w := httptest.NewRecorder()
	httpapi.New(httpapi.Config{Routes: api.Routes(), Log: slog.New(slog.DiscardHandler)}).Handler().
		ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/api/v2/mirror", nil))
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "--mirror") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}
