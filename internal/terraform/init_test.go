package terraform

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/semver"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/initcache"
)

// TestPinsAndLocks wants no version constraint and no lock of coder/coder to
// get in the way, with `terraform init` and without.
func TestPinsAndLocks(t *testing.T) {
	e := newEngine(t)
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1") // no registry answers
	pinned := strings.Replace(simple, `version = ">= 2.0"`, `version = "0.6.1"`, 1)
	lock := `
provider "registry.terraform.io/coder/coder" {
  version     = "0.6.1"
  constraints = "0.6.1"
  hashes      = ["h1:MvkSK1ZNQ2FkWRs0E6gmuIVvEFmUDdaIYF3cqL9Dff4="]
}
`
	for name, files := range map[string]map[string]string{
		"pin":                 {"main.tf": pinned},
		"pin and lock":        {"main.tf": pinned, ".terraform.lock.hcl": lock},
		"pin, lock and init":  {"main.tf": pinned + "module \"m\" {\n  source = \"./m\"\n}\n", ".terraform.lock.hcl": lock, "m/main.tf": "locals {}\n"},
		"backend is replaced": {"main.tf": pinned + "terraform {\n  backend \"s3\" {\n    bucket = \"nobodys\"\n  }\n}\n", ".terraform.lock.hcl": lock},
		"cloud is replaced":   {"main.tf": pinned + "terraform {\n  cloud {\n    organization = \"nobodys\"\n  }\n}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			j, done := open(t, e, files)
			if done.GetError() != "" {
				t.Fatal(done.GetError())
			}
			applied, graph := j.build(provisioner.WorkspaceTransition_START, nil)
			if len(graph.GetResources()) != 1 || len(applied.GetState()) == 0 {
				t.Errorf("got %v", graph)
			}
			if strings.Contains(j.log(), "CLI configuration") {
				t.Errorf("the log warns about the machine:\n%s", j.log())
			}
		})
	}
}

// TestModules fetches a module from elsewhere, keeps its files and does
// without the elsewhere the next time.
// commit makes a directory a git repository.
func commit(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"}} {
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

func TestModules(t *testing.T) {
	e := newEngine(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed: this test of module sources does not run")
	}
	repository := filepath.Join(t.TempDir(), "module")
	if err := os.MkdirAll(filepath.Join(repository, "inner"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(repository, "inner", "main.tf"), []byte(`resource "terraform_data" "from_module" {}`), 0o600); err != nil {
		t.Fatal(err)
	}
	commit(t, repository)
	files := map[string]string{"main.tf": head + "module \"m\" {\n  source = \"git::file://" + repository + "//inner\"\n}\n"}

	_, first := open(t, e, files)
	if first.GetError() != "" {
		t.Fatal(first.GetError())
	}
	if len(first.GetModules()) != 1 || first.GetModules()[0].GetKey() != "m" || !strings.HasPrefix(first.GetModules()[0].GetSource(), "git::") {
		t.Errorf("got modules %v", first.GetModules())
	}
	if len(first.GetModuleFiles()) == 0 || len(first.GetModuleFilesHash()) != 32 || len(first.GetTimings()) == 0 {
		t.Fatalf("got %d bytes of module files, hash %x, timings %v", len(first.GetModuleFiles()), first.GetModuleFilesHash(), first.GetTimings())
	}
	if bytes.Contains(first.GetModuleFiles(), []byte("/.git/")) {
		t.Error("the history of the module is kept too")
	}
	if err := os.RemoveAll(repository); err != nil {
		t.Fatal(err)
	}

	again := func(e *Engine, req *provisioner.InitRequest, before func(*session)) (*job, *provisioner.InitComplete) {
		t.Helper()
		j := &job{t: t}
		s, err := e.Open(t.Context(), &provisioner.Config{}, func(l *provisioner.Log) { j.lines = append(j.lines, l) })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		j.session = s.(*session)
		before(j.session)
		req.TemplateSourceArchive = pack(t, files)
		done, err := s.Init(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return j, done
	}
	j, second := again(e, &provisioner.InitRequest{InitialModuleTarHash: first.GetModuleFilesHash()}, func(*session) {})
	if second.GetError() != "" || len(second.GetModuleFiles()) != 0 || !bytes.Equal(second.GetModuleFilesHash(), first.GetModuleFilesHash()) {
		t.Fatalf("with the hash: %v", second)
	}
	if _, graph := j.build(provisioner.WorkspaceTransition_START, nil); len(graph.GetResources()) != 1 || graph.GetResources()[0].GetModulePath() != "module.m" {
		t.Errorf("got %v", graph)
	}
	other := newEngine(t)
	_, third := again(other, &provisioner.InitRequest{OmitModuleFiles: true}, func(s *session) {
		if err := s.UseModules(first.GetModuleFiles()); err != nil {
			t.Fatal(err)
		}
	})
	if third.GetError() != "" || len(third.GetModuleFiles()) != 0 {
		t.Errorf("with the files: %v", third)
	}
	bin, err := other.find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	where := "terraform init: main.tf:9"
	if semver.Compare("v"+bin.version, "v1.9.0") < 0 { // whose init writes no JSON
		where = "on main.tf line 9:"
	}
	if _, fourth := again(other, &provisioner.InitRequest{}, func(*session) {}); !strings.Contains(fourth.GetError(), where) {
		t.Errorf("without the files: %q", fourth.GetError())
	}
}

// TestCacheIsRemoved removes the cache directory of an engine that runs, as
// cleaners of temporary files do: what is needed of it is made again.
func TestCacheIsRemoved(t *testing.T) {
	e := newEngine(t)
	files := map[string]string{"main.tf": simple + "module \"m\" {\n  source = \"./m\"\n}\n", "m/main.tf": "locals {}\n"}
	for _, name := range []string{"modules", "plugins", "store", "work", ""} {
		if err := os.RemoveAll(filepath.Join(e.config.CacheDir, name)); err != nil {
			t.Fatal(err)
		}
		j, done := open(t, e, files)
		if done.GetError() != "" {
			t.Fatalf("without %q: %s", name, done.GetError())
		}
		if err := initcache.WriteFile(e.modulesFile([]byte("hash")), []byte("modules")); err != nil {
			t.Errorf("without %q: %v", name, err)
		}
		if _, graph := j.build(provisioner.WorkspaceTransition_START, nil); len(graph.GetResources()) != 1 {
			t.Errorf("without %q: %v", name, graph)
		}
	}
}

// TestShortCircuit builds a template that needs && and || to leave out the
// operand that does not matter, as modules of the public registry do.
func TestShortCircuit(t *testing.T) {
	e := newEngine(t)
	if b, err := e.find(t.Context()); err != nil {
		t.Fatal(err)
	} else if semver.Compare("v"+b.version, "v1.12.0") < 0 {
		t.Skipf("Terraform %s evaluates both operands of && and ||; 1.12 is the first that does not", b.version)
	}
	j, _ := open(t, e, map[string]string{"main.tf": head + `
variable "proxy" {
  type    = object({ host = string })
  default = null
}
data "coder_parameter" "size" {
  name    = "size"
  default = var.proxy != null && var.proxy.host == "large" ? "large" : "small"
}
resource "terraform_data" "dev" {
  count = var.proxy == null || var.proxy.host == "" ? 1 : 0
  input = data.coder_parameter.size.value
}`})
	_, graph := j.build(provisioner.WorkspaceTransition_START, nil)
	if len(graph.GetResources()) != 1 || len(graph.GetParameters()) != 1 || graph.GetParameters()[0].GetDefaultValue() != "small" {
		t.Errorf("got %v", graph)
	}
}

// TestFind judges programs that call themselves Terraform.
func TestFind(t *testing.T) {
	program := func(dir, name, output string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho '"+output+"'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1") // nothing can be downloaded
	for name, c := range map[string]struct {
		terraform, tofu, binary string
		want, err               string
		untested                bool
	}{
		"on PATH":           {terraform: "1.5.7", want: "1.5.7"},
		"pre-release":       {terraform: "1.12.0-beta1", want: "1.12.0-beta1"},
		"older than tested": {terraform: "1.4.6", want: "1.4.6", untested: true},
		"newer than tested": {terraform: "1.99.0", want: "1.99.0", untested: true},
		"tofu":              {tofu: "1.10.6", want: "1.10.6"},
		"tofu in its place": {terraform: "0.12.31", tofu: "1.8.2", want: "1.8.2", untested: true},
		"too old":           {terraform: "0.12.31", err: "has version 0.12.31; a version from v1.1.0 and below v2.0.0 is required"},
		"too new":           {terraform: "2.0.0", err: "has version 2.0.0"},
		"none":              {err: "install terraform or tofu, or configure its path"},
		"given and missing": {binary: "/nowhere/terraform", terraform: "1.5.7", err: "the configured terraform cannot be used"},
		"something else":    {terraform: "-", err: "does not print its version"},
	} {
		t.Run(name, func(t *testing.T) {
			bin := t.TempDir()
			t.Setenv("PATH", bin)
			for prog, v := range map[string]string{"terraform": c.terraform, "tofu": c.tofu} {
				if v != "" {
					program(bin, prog, `{"terraform_version": "`+strings.Trim(v, "-")+`"}`)
				}
			}
			var warned strings.Builder
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.terraform == "" && c.tofu == "" { // the download is tried again and again
				time.AfterFunc(time.Second, cancel)
			}
			log := slog.New(slog.NewTextHandler(writerFunc(func(b []byte) (int, error) {
				if c.err != "" && bytes.Contains(b, []byte("is not suitable")) {
					cancel() // before the download
				}
				return warned.Write(b)
			}), &slog.HandlerOptions{Level: slog.LevelWarn}))
			e, err := New(Config{CacheDir: t.TempDir(), Binary: c.binary, Log: log})
			if err != nil {
				t.Fatal(err)
			}
			_, version, err := e.Ensure(ctx)
			if version != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %q, %v", version, err)
			}
			if untested := strings.Contains(warned.String(), "is not tested"); untested != c.untested {
				t.Errorf("the log is %q", warned.String())
			}
			if err == nil {
				t.Setenv("PATH", "/nowhere") // found is found
				if _, v, err := e.Ensure(t.Context()); v != c.want || err != nil {
					t.Errorf("again: %q, %v", v, err)
				}
			}
		})
	}
	if _, err := New(Config{}); err == nil {
		t.Error("an engine without a cache directory")
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
