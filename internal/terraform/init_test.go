package terraform

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
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
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"}} {
		cmd := exec.Command("git", append([]string{"-C", repository}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
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
	if _, fourth := again(other, &provisioner.InitRequest{}, func(*session) {}); !strings.Contains(fourth.GetError(), "terraform init: main.tf:") {
		t.Errorf("without the files: %q", fourth.GetError())
	}
}

func TestWorkspaceEnv(t *testing.T) {
	m := metadata(provisioner.WorkspaceTransition_DESTROY)
	m.WorkspaceOwnerGroups = []string{"devs"}
	m.WorkspaceOwnerRbacRoles = []*provisioner.Role{{Name: "owner"}, {Name: "admin", OrgId: "o"}}
	m.WorkspaceOwnerSessionToken, m.WorkspaceOwnerSshPrivateKey = "tok", "line1\nline2\n"
	m.PrebuiltWorkspaceBuildStage = provisioner.PrebuiltWorkspaceBuildStage_CLAIM
	m.RunningAgentAuthTokens = []*provisioner.RunningAgentAuthToken{{AgentId: "a1", Token: "t1"}}
	env := workspaceEnv(&provisioner.PlanRequest{
		Metadata:                m,
		RichParameterValues:     []*provisioner.RichParameterValue{{Name: "Größe", Value: ""}},
		PreviousParameterValues: []*provisioner.RichParameterValue{{Name: "Größe", Value: "1"}},
		ExternalAuthProviders:   []*provisioner.ExternalAuthProvider{{Id: "github", AccessToken: "gh"}},
	})
	for k, want := range map[string]string{
		"CODER_WORKSPACE_TRANSITION":                          "destroy",
		"CODER_WORKSPACE_OWNER_GROUPS":                        `["devs"]`,
		"CODER_WORKSPACE_OWNER_RBAC_ROLES":                    `[{"name":"owner","org_id":""},{"name":"admin","org_id":"o"}]`,
		"CODER_WORKSPACE_OWNER_SESSION_TOKEN":                 "tok",
		"CODER_WORKSPACE_OWNER_SSH_PRIVATE_KEY":               "line1\nline2\n",
		"CODER_WORKSPACE_IS_PREBUILD_CLAIM":                   "true",
		"CODER_EXTERNAL_AUTH_ACCESS_TOKEN_github":             "gh",
		"CODER_PARAMETER_PREVIOUS_" + digest("Größe"):         "1",
		"CODER_RUNNING_WORKSPACE_AGENT_TOKEN_" + digest("a1"): "t1",
		"CODER_RUNNING_WORKSPACE_AGENT_TOKEN_" + digest(""):   "t1",
		"CODER_WORKSPACE_BUILD_ID":                            m.GetWorkspaceBuildId(),
	} {
		if env[k] != want {
			t.Errorf("%s: got %q, want %q", k, env[k], want)
		}
	}
	if v, ok := env["CODER_PARAMETER_"+digest("Größe")]; !ok || v != "" {
		t.Error("an empty value of a parameter is a value")
	}
	for _, k := range []string{"CODER_AGENT_SCRIPT_linux_amd64", "CODER_AGENT_SCRIPT_windows_amd64", "CODER_AGENT_SCRIPT_darwin_arm64", "CODER_AGENT_SCRIPT_linux_armv7"} {
		if !strings.Contains(env[k], "${ACCESS_URL}") {
			t.Errorf("%s is %q", k, env[k])
		}
	}
	if _, ok := env["CODER_TASK_ID"]; ok {
		t.Error("what is not given must be absent")
	}
	m.RunningAgentAuthTokens = append(m.RunningAgentAuthTokens, &provisioner.RunningAgentAuthToken{AgentId: "a2", Token: "t2"})
	if _, ok := workspaceEnv(&provisioner.PlanRequest{Metadata: m})["CODER_RUNNING_WORKSPACE_AGENT_TOKEN_"+digest("")]; ok {
		t.Error("two agents cannot share a token")
	}
	var roles []ownerRole
	if err := json.Unmarshal([]byte(workspaceEnv(&provisioner.PlanRequest{})["CODER_WORKSPACE_OWNER_RBAC_ROLES"]), &roles); err != nil {
		t.Error(err)
	}
}

func TestDaemonEnv(t *testing.T) {
	got := daemonEnv([]string{"PATH=/bin", "CODER_PG_CONNECTION_URL=secret", "CODER_PROVISIONER_DAEMON_PSK=secret", "TF_LOG=trace", "TF_LOG_PATH=/x",
		"TF_REATTACH_PROVIDERS={}", "TF_WORKSPACE=x", "TF_DATA_DIR=x", "AWS_PROFILE=p", "TF_VAR_x=1", "TF_CLI_ARGS_plan=-parallelism=1"})
	want := []string{"PATH=/bin", "AWS_PROFILE=p", "TF_VAR_x=1", "TF_CLI_ARGS_plan=-parallelism=1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
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
	}{
		"on PATH":           {terraform: "1.5.7", want: "1.5.7"},
		"pre-release":       {terraform: "1.12.0-beta1", want: "1.12.0-beta1"},
		"tofu":              {tofu: "1.8.2", want: "1.8.2"},
		"tofu in its place": {terraform: "0.12.31", tofu: "1.8.2", want: "1.8.2"},
		"too old":           {terraform: "0.12.31", err: "has version 0.12.31, but from v1.1.0 and below v2.0.0 is needed"},
		"too new":           {terraform: "2.0.0", err: "has version 2.0.0"},
		"none":              {err: "install terraform or tofu, or give its path"},
		"given and missing": {binary: "/nowhere/terraform", terraform: "1.5.7", err: "the given terraform cannot be run"},
		"something else":    {terraform: "-", err: "does not tell its version"},
	} {
		t.Run(name, func(t *testing.T) {
			bin := t.TempDir()
			t.Setenv("PATH", bin)
			for prog, v := range map[string]string{"terraform": c.terraform, "tofu": c.tofu} {
				if v != "" {
					program(bin, prog, `{"terraform_version": "`+strings.Trim(v, "-")+`"}`)
				}
			}
			e, err := New(Config{CacheDir: t.TempDir(), Binary: c.binary})
			if err != nil {
				t.Fatal(err)
			}
			// The download is tried again and again; a second of it is enough.
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, version, err := e.Ensure(ctx)
			if version != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %q, %v", version, err)
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
