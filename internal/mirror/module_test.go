package mirror_test

import (
	"bytes"
	"fmt"
	"log/slog"
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
	"github.com/seed-2a7f8fe7/coder/internal/testtar"
)

func module(name string) providermirror.Target {
	return providermirror.Target{Address: providermirror.Module(providermirror.TerraformRegistry, "Acme", name, "any"), Version: "1.2.0"}
}

// TestSourcesOfModulesStaySecret has registries that name sources with credentials, which only provisioners get.
func TestSourcesOfModulesStaySecret(t *testing.T) {
	r := registrytest.New(t)
	sources := map[string]string{
		"git":     "git::https://user:hunter2@git.example.com/acme/one.git?ref=v1",
		"query":   "https://files.example.com/one.tgz?token=hunter2",
		"path":    "https://files.example.com/object/hunter2?archive=zip",
		"plain":   "http://files.example.com/hunter2.zip",
		"damaged": "https://files.example.com/hunter2/damaged.zip",
	}
	for name, source := range sources {
		at := ""
		if name == "damaged" {
			at = source // with a gzipped tar
		}
		r.AddModule(t, module(name), source, at, nil)
	}
	var log bytes.Buffer
	s := service(t, mirror.Config{
		Store: postgrestest.New(t), Registry: registry.New(r.Transport(), time.Now), Upstreams: []string{providermirror.TerraformRegistry},
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	for name, want := range sources {
		requests := r.Requests.Load()
		if got, err := s.Locate(t.Context(), module(name).Address, "1.2.0"); err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if n := r.Requests.Load() - requests; n > 3 { // discovery, source and archive
			t.Errorf("%s: %d requests", name, n)
		}
		_, err := s.Pull(t.Context(), access.System(), providermirror.PullRequest{Target: module(name)})
		if err == nil || strings.Contains(fmt.Sprintf("%v %+v", err, err), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if strings.Contains(log.String(), "hunter2") || strings.Count(log.String(), "level=INFO") != 2*len(sources) {
		t.Error(log.String())
	}
}

// TestModulesAreCarried has a template with a module that the mirror can fetch and with one that it cannot fetch.
func TestModulesAreCarried(t *testing.T) {
	r := registrytest.New(t)
	r.AddModule(t, module("one"), "https://files.example.com/one.tgz", "https://files.example.com/one.tgz", map[string]string{"main.tf": "# one"})
	const repository = "git::ssh://git@git.example.com/two"
	r.AddModule(t, module("two"), repository, "", nil)
	config := mirror.Config{Store: postgrestest.New(t), Registry: registry.New(r.Transport(), time.Now), Upstreams: []string{providermirror.TerraformRegistry}}
	open := service(t, config)
	var installed []string
	for i, name := range []string{"one", "two", "one"} {
		installed = append(installed, fmt.Sprintf(`{"Key":"m%d","Source":"%s//inner","Version":"1.2.0","Dir":".terraform/modules/m%[1]d"}`, i, module(name).Address))
	}
	template(t, config.Store, "dev", map[string]string{
		"main.tf":                         "",
		".terraform/modules/modules.json": `{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"own","Source":"git::https://example.com/own","Dir":"own"},` + strings.Join(installed, ",") + "]}",
	})
	const want = `one/any 1.2.0 stored=false locked=true "" coder/dev ` + "\n" + `two/any 1.2.0 stored=false locked=true "" coder/dev `
	if got, _ := needs(t, open); strings.Join(got, "\n") != want {
		t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if _, err := open.Pull(t.Context(), access.System(), providermirror.PullRequest{Target: module("one")}); err != nil {
		t.Fatal(err)
	}
	_, err := open.Pull(t.Context(), access.System(), providermirror.PullRequest{Target: module("two")})
	if !codersdk.Is(err, codersdk.CodePrecondition) || !strings.Contains(err.Error(), "nor a repository on GitHub") {
		t.Errorf("got %v", err)
	}
	if got, _ := needs(t, open); strings.Join(got, "\n") != strings.Replace(want, "stored=false", "stored=true", 1) {
		t.Errorf("got %q", got)
	}
	for name, want := range map[string]string{"one": "", "two": repository} {
		if got, err := open.Locate(t.Context(), module(name).Address, "1.2.0"); err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	bytesOfOne := read(t, open, module("one"))
	var export bytes.Buffer
	if err := open.Export(t.Context(), access.System(), &export); err != nil {
		t.Fatal(err)
	}

	r.SetDown(true)
	config.Store, config.Registry = postgrestest.New(t), registry.New(r.Transport(), time.Now)
	away := service(t, config)
	if _, err := away.Locate(t.Context(), module("one").Address, "1.2.0"); !codersdk.Is(err, codersdk.CodeUnavailable) {
		t.Errorf("before the import: %v", err)
	}
	if _, err := away.Import(t.Context(), access.System(), bytes.NewReader(export.Bytes())); err != nil {
		t.Fatal(err)
	}
	if got, err := away.Versions(t.Context(), module("one").Address); err != nil || len(got.Versions) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
	if !bytes.Equal(read(t, away, module("one")), bytesOfOne) {
		t.Error("the archive is another one")
	}
	config.Upstreams = nil
	if _, err := service(t, config).Locate(t.Context(), module("two").Address, "1.2.0"); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("without upstreams: %v", err)
	}
}

func TestModulesAreChecked(t *testing.T) {
	s := service(t, mirror.Config{Store: postgrestest.New(t)})
	for _, target := range []providermirror.Target{
		{Address: providermirror.Module("registry.example.com", "acme", "one", "any"), Version: "../1"},
		{Address: providermirror.Module("registry.example.com", "acme", "..", "any"), Version: "1.0.0"},
		{Address: providermirror.Module("registry.example.com", "acme", "one", "any/more"), Version: "1.0.0"},
		{Address: providermirror.Module("registry", "acme", "one", "any"), Version: "1.0.0"},
		{Address: module("one").Address, Version: "1.0.0", Platform: providermirror.Platform{OS: "linux", Arch: "amd64"}},
	} {
		if _, err := s.Open(t.Context(), target); !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Errorf("%v: %v", target, err)
		}
	}
}

// TestPublishedModulesStay fills a mirror with published modules and archives.
func TestPublishedModulesStay(t *testing.T) {
	const size = 100 << 10
	r := registrytest.New(t)
	s := replica(t, postgrestest.New(t), r, 3*size)
	home := providermirror.Module("coder.example.com", "platform", "home", "docker")
	publish := func(version string) error {
		_, err := s.Publish(t.Context(), access.System(), home, version, bytes.NewReader(testtar.Of(t, map[string]string{"main.tf": strings.Repeat("#", size)})))
		return err
	}
	for _, version := range []string{"1.0.0", "1.1.0"} {
		if err := publish(version); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"one", "two"} {
		r.Add(t, archive(name, "1.0.0"), "program", size/2)
		read(t, s, archive(name, "1.0.0"))
	}
	if names, _ := list(t, s); strings.Join(names, ", ") != "home/docker 1.0.0, home/docker 1.1.0, two 1.0.0" {
		t.Errorf("stored %v", names)
	}
	if err := publish("1.2.0"); !codersdk.Is(err, codersdk.CodeTooLarge) || !strings.Contains(err.Error(), "--mirror-max-bytes") {
		t.Errorf("a module beyond the limit: %v", err)
	}
	if err := s.Remove(t.Context(), access.System(), home, "1.0.0"); err != nil {
		t.Fatal(err)
	}
	if err := publish("1.2.0"); err != nil {
		t.Error(err)
	}
	got, err := s.Versions(t.Context(), home)
	if err != nil || len(got.Versions) != 2 {
		t.Errorf("got %v, %v", got, err)
	}
}
