package terraform

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
)

// acme is a template with a module of its own and with a provider that init
// has to install. The provider is our own program under another address.
func acme() map[string]string {
	return map[string]string{
		"main.tf": `terraform {
  required_providers {
    acme = { source = "example.com/acme/coder" }
  }
}
data "coder_workspace" "me" {
  provider = acme
}
module "m" {
  source = "./m"
  name   = data.coder_workspace.me.name
}
`,
		"m/main.tf": "variable \"name\" {}\nresource \"terraform_data\" \"m\" {\n  input = var.name\n}\n",
	}
}

// mirror makes Terraform install providers of example.com from a directory,
// which it gives. Nothing else is asked.
func mirror(t testing.TB) string {
	t.Helper()
	own, err := provider, error(nil)
	if own == "" {
		own, err = os.Executable()
	}
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	place := filepath.Join(dir, "mirror", "example.com/acme/coder")
	config := filepath.Join(dir, "terraformrc")
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	h := &zip.FileHeader{Name: "terraform-provider-coder_v1.0.0"}
	h.SetMode(0o755)
	w, err := z.CreateHeader(h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(program); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		z.Close(),
		os.MkdirAll(place, 0o700),
		os.WriteFile(filepath.Join(place, "terraform-provider-coder_1.0.0_"+runtime.GOOS+"_"+runtime.GOARCH+".zip"), packed.Bytes(), 0o600),
		os.WriteFile(config, fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", filepath.Join(dir, "mirror")), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TF_CLI_CONFIG_FILE", config)
	return filepath.Join(dir, "mirror")
}

// initAs opens a session and does its Init.
func initAs(t testing.TB, e *Engine, files map[string]string, req *provisioner.InitRequest) (*job, *provisioner.InitComplete) {
	t.Helper()
	j := &job{t: t}
	s, err := e.Open(t.Context(), &provisioner.Config{}, func(l *provisioner.Log) { j.lines = append(j.lines, l) })
	if err != nil {
		t.Error(err)
		t.FailNow()
	}
	t.Cleanup(func() { s.Close() })
	j.session = s.(*session)
	req.TemplateSourceArchive = pack(t, files)
	done, err := s.Init(t.Context(), req)
	if err != nil || done.GetError() != "" {
		t.Errorf("init: %v %s", err, done.GetError())
		t.FailNow()
	}
	return j, done
}

func builds() *provisioner.InitRequest { return &provisioner.InitRequest{OmitModuleFiles: true} }

// TestWarm runs init once, and then not while nothing changes that it depends on.
func TestWarm(t *testing.T) {
	e := newEngine(t)
	from := mirror(t)
	files := acme()
	if _, done := initAs(t, e, files, &provisioner.InitRequest{}); len(done.GetTimings()) == 0 || len(done.GetModules()) != 1 {
		t.Fatalf("the first init: %v", done)
	}
	away := from + ".away"
	if err := os.Rename(from, away); err != nil {
		t.Fatal(err)
	}
	files["main.tf"] = strings.Replace(files["main.tf"], "data.coder_workspace.me.name", `"${data.coder_workspace.me.name}!"`, 1)
	files["m/main.tf"] += "locals {\n  more = 1\n}\n"
	j, done := initAs(t, e, files, builds())
	if len(done.GetTimings()) != 0 || len(done.GetModules()) != 1 {
		t.Fatalf("the second init: %v\n%s", done, j.log())
	}
	if applied, graph := j.build(provisioner.WorkspaceTransition_START, nil); len(graph.GetResources()) != 1 || !bytes.Contains(applied.GetState(), []byte("!")) {
		t.Errorf("got %v", graph)
	}
	if err := os.Rename(away, from); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(map[string]string){
		"another module":    func(f map[string]string) { f["main.tf"] += "module \"n\" {\n  source = \"./m\"\n}\n" },
		"another provider":  func(f map[string]string) { f["m/main.tf"] += "terraform {\n  required_version = \">= 1\"\n}\n" },
		"a template import": nil,
	} {
		files, req := acme(), builds()
		if change == nil {
			req = &provisioner.InitRequest{}
		} else {
			change(files)
		}
		if name == "another module" {
			files["main.tf"] = strings.Replace(files["main.tf"], "source = \"./m\"\n}", "source = \"./m\"\n  name = \"n\"\n}", 1)
		}
		if j, done := initAs(t, e, files, req); len(done.GetTimings()) == 0 {
			t.Errorf("%s: no init\n%s", name, j.log())
		}
	}
}

// TestWarmNoticesDamage wants an entry whose provider package has changed to be
// made again.
func TestWarmNoticesDamage(t *testing.T) {
	e := newEngine(t)
	mirror(t)
	initAs(t, e, acme(), builds())
	packages, err := filepath.Glob(filepath.Join(e.config.CacheDir, "plugins/example.com/acme/coder/1.0.0/*/*"))
	if err != nil || len(packages) != 1 {
		t.Fatalf("got packages %v, %v", packages, err)
	}
	if err := os.Remove(packages[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(packages[0], []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	j, done := initAs(t, e, acme(), builds())
	if len(done.GetTimings()) == 0 {
		t.Error("no init after the damage")
	}
	j.build(provisioner.WorkspaceTransition_START, nil)
	if _, done := initAs(t, e, acme(), builds()); len(done.GetTimings()) != 0 {
		t.Error("what was made again is not used")
	}
}

// TestSlotsShareTheStore starts four jobs at once with nothing in the cache,
// on two engines over one directory: one init, four builds that do not meet.
func TestSlotsShareTheStore(t *testing.T) {
	e := newEngine(t)
	mirror(t)
	other, err := New(e.config)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	inits := 0
	var dirs []string
	var leaders []int
	for n := range 4 {
		all.Go(func() {
			j, done := initAs(t, []*Engine{e, other}[n%2], acme(), builds())
			mu.Lock()
			if len(done.GetTimings()) > 0 {
				inits++
			}
			dirs, leaders = append(dirs, j.dir), append(leaders, j.provider.leader())
			mu.Unlock()
			m := metadata(provisioner.WorkspaceTransition_START)
			m.WorkspaceName = fmt.Sprint("slot", n)
			plan, err := j.Plan(t.Context(), &provisioner.PlanRequest{Metadata: m})
			if err != nil || plan.GetError() != "" {
				t.Errorf("plan: %v %s", err, plan.GetError())
				return
			}
			applied, err := j.Apply(t.Context(), &provisioner.ApplyRequest{Metadata: m})
			if err != nil || applied.GetError() != "" || !bytes.Contains(applied.GetState(), fmt.Appendf(nil, `"slot%d"`, n)) {
				t.Errorf("apply: %v %s\n%s", err, applied.GetError(), applied.GetState())
			}
		})
	}
	all.Wait()
	slices.Sort(dirs)
	slices.Sort(leaders)
	if inits != 1 || len(slices.Compact(dirs)) != 4 || len(slices.Compact(leaders)) != 4 {
		t.Errorf("%d inits, work directories %v, groups %v", inits, dirs, leaders)
	}
}

// TestRequirements wants the key to change with what an init depends on and
// with nothing else.
func TestRequirements(t *testing.T) {
	e := newEngine(t)
	s := &session{engine: e, binary: &binary{path: "/bin/terraform", version: "1.11.4"}}
	key := func(main string) string {
		t.Helper()
		s.dir = t.TempDir()
		if err := os.MkdirAll(s.source(), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.file("main.tf"), []byte(main), 0o600); err != nil {
			t.Fatal(err)
		}
		k, err := s.initKey(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	const base = "resource \"a_b\" \"c\" {\n  x = 1\n}\nmodule \"m\" {\n  source = \"./m\"\n  y = 2\n}\n"
	for change, same := range map[string]bool{
		"x = 3": true, "resource \"a_z\" \"c\" {\n x = 1": true, "provider = q\n": false, "version = \"1\"\n": false,
	} {
		var changed string
		switch change {
		case "x = 3":
			changed = strings.Replace(base, "x = 1", change, 1)
		case "provider = q\n":
			changed = strings.Replace(base, "x = 1\n", change, 1)
		case "version = \"1\"\n":
			changed = strings.Replace(base, "y = 2\n", change, 1)
		default:
			changed = strings.Replace(base, "resource \"a_b\" \"c\" {\n  x = 1", change, 1)
		}
		if (key(base) == key(changed)) != same {
			t.Errorf("with %q the key is the same: %v", change, !same)
		}
	}
	loose := "locals {\n  s = \"./m\"\n}\nmodule \"m\" {\n  source = local.s\n}\n"
	if key(loose) == key(strings.Replace(loose, "./m", "./n", 1)) {
		t.Error("a source that depends on a local has the key of another")
	}
	before := key(base)
	s.binary = &binary{path: "/bin/tofu", version: "1.11.4"}
	if key(base) == before {
		t.Error("terraform and tofu have one key")
	}
	if key("not { really") == key("not { really!") {
		t.Error("sources that cannot be read have one key")
	}
}
