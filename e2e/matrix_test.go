package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// programs returns the paths in CODER_TEST_TERRAFORM: several versions of Terraform and
// OpenTofu. `make test-terraform` sets the variable.
func programs(t *testing.T) []string {
	t.Helper()
	list := filepath.SplitList(os.Getenv("CODER_TEST_TERRAFORM"))
	if len(list) == 0 {
		t.Skip("CODER_TEST_TERRAFORM has no program: run make test-terraform")
	}
	return list
}

// versionOf returns the name and the version of a program.
func versionOf(t *testing.T, program string) string {
	t.Helper()
	cmd := exec.Command(program, "version", "-json")
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+os.DevNull) // OpenTofu prints warnings about the CLI configuration file to standard output
	out, err := cmd.Output()
	var v struct {
		Version string `json:"terraform_version"`
	}
	if err != nil || json.Unmarshal(out, &v) != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	return filepath.Base(program) + " " + v.Version
}

// matrixTemplate has a module, so that it needs an init, and an agent. It also has two
// resources with scripts. The slow script still runs when the quick one has ended.
const matrixTemplate = `
terraform {
  required_providers {
    coder = { source = "coder/coder" }
  }
}
data "coder_workspace" "me" {}
data "coder_parameter" "seconds" {
  name    = "seconds"
  type    = "number"
  default = "0"
  mutable = true
}
module "part" {
  source = "./part"
  name   = data.coder_workspace.me.name
}
resource "coder_agent" "main" {
  os   = "linux"
  arch = "amd64"
}
resource "terraform_data" "slow" {
  input = "DIR/${module.part.name}"
  provisioner "local-exec" {
    command     = "echo begun >> ${self.input}.begun; sleep $SECONDS_TO_SLEEP; echo slow >> ${self.input}.slow"
    environment = { SECONDS_TO_SLEEP = data.coder_parameter.seconds.value }
  }
  provisioner "local-exec" {
    when    = destroy
    command = "rm -f ${self.input}.slow"
  }
}
resource "terraform_data" "quick" {
  input = "DIR/${module.part.name}"
  provisioner "local-exec" {
    command = "until test -e ${self.input}.begun; do sleep 0.05; done; echo quick >> ${self.input}.quick"
  }
}
`

const matrixModule = `
variable "name" {
  type = string
}
resource "terraform_data" "part" {
  input = var.name
}
output "name" {
  value = terraform_data.part.output
}
`

// TestTerraformMatrix tests builds with each program: a push, a build, a cancel, and
// kill -9 of the provisioner while a script runs.
func TestTerraformMatrix(t *testing.T) {
	t.Parallel()
	list := programs(t)
	p := newTestServer(t)
	table := []string{"| version | push | build | cancel | recovery |", "|---|---|---|---|---|"}
	for n, program := range list {
		version := versionOf(t, program)
		t.Run(version, func(t *testing.T) {
			name := fmt.Sprintf("tool%d", n)
			j := &job{testServer: p, name: name, dir: filepath.Join(p.dir, name), program: program}
			m := &matrix{job: j, t: t, took: "| " + version, tofu: strings.HasPrefix(version, "tofu")}
			m.run()
			table = append(table, m.took+" |")
		})
	}
	t.Logf("seconds:\n%s", strings.Join(table, "\n"))
}

type matrix struct {
	*job
	t    *testing.T
	took string
	// tofu reports whether the program is OpenTofu. OpenTofu writes its state only
	// every 20 seconds, so a build after kill -9 creates resources again.
	tofu bool
}

// timed runs f and adds its duration as a column of the table.
func (m *matrix) timed(f func()) {
	m.t.Helper()
	began := time.Now()
	f()
	m.took += fmt.Sprintf(" | %.1f", time.Since(began).Seconds())
}

func (m *matrix) run() {
	t := m.t
	template := filepath.Join(m.dir, "template")
	if err := os.MkdirAll(filepath.Join(template, "part"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"main.tf": strings.ReplaceAll(matrixTemplate, "DIR", m.dir), "part/main.tf": matrixModule} {
		if err := os.WriteFile(filepath.Join(template, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if b, err := os.ReadFile(filepath.Join(m.dir, "a.log")); t.Failed() && err == nil {
			t.Logf("%s", b)
		}
	})
	daemon := m.daemon(t, "a", "http://"+m.address)
	m.timed(func() {
		m.coder("templates", "push", m.name, "--directory", template, "--provisioner-tag", "job="+m.name, "--yes")
	})
	m.timed(func() {
		m.coder("create", m.name+"-build", "--template", m.name, "--parameter", "seconds=0", "--yes")
		m.complete("build", 1)
	})
	m.timed(m.cancel)
	m.timed(func() {
		out, ended := "", make(chan struct{})
		go func() {
			defer close(ended)
			out, _ = m.try("create", m.name+"-recovery", "--template", m.name, "--parameter", "seconds=3", "--yes")
		}()
		testwait.Until(t, "one resource is complete and another is not", func() bool { return len(m.read("recovery", "quick")) > 0 })
		if !m.tofu {
			m.waitWritten(t, "quick")
		}
		kill(daemon)
		testwait.Until(t, "what the provisioner ran is dead too", func() bool { return len(m.processes()) == 0 })
		m.daemon(t, "a", "http://"+m.address)
		<-ended
		m.complete("recovery", 2)
		logs := m.coder("logs", m.name+"-recovery")
		if !strings.Contains(logs, "terraform init is not needed") {
			t.Errorf("the result of an earlier init was not used again:\n%s", logs)
		}
		if !m.tofu && !strings.Contains(logs+out, "did not finish creating terraform_data.slow") {
			t.Errorf("the log does not say that a script ran again:\n%s\n%s", out, logs)
		}
	})
	for _, which := range []string{"build", "cancel", "recovery"} {
		m.coder("delete", m.name+"-"+which, "--yes")
	}
	if left := append(m.read("build", "slow"), m.read("recovery", "slow")...); len(left) != 0 {
		t.Errorf("scripts of deleted workspaces did not run: %q", left)
	}
	if log, err := os.ReadFile(filepath.Join(m.dir, "a.log")); err != nil || bytes.Contains(log, []byte("is not tested")) {
		t.Errorf("the provisioner's log (%v) has a warning that the version is not tested", err)
	}
}

// coder runs a command of the CLI and returns its output.
func (m *matrix) coder(args ...string) string {
	m.t.Helper()
	return m.job.testServer.run(m.t, args...)
}

// read returns a file that scripts of a workspace wrote.
func (m *matrix) read(workspace, file string) []byte {
	b, _ := os.ReadFile(filepath.Join(m.dir, m.name+"-"+workspace+"."+file))
	return b
}

// complete checks that a workspace runs and that its scripts have ended. The slow
// script must have started that many times.
func (m *matrix) complete(workspace string, starts int) {
	t := m.t
	t.Helper()
	if out := m.coder("list"); !strings.Contains(line(out, m.name+"-"+workspace), "Running") {
		t.Errorf("after the %s:\n%s", workspace, out)
	}
	quick := "quick\n"
	if m.tofu {
		quick = strings.Repeat(quick, starts)
	}
	if string(m.read(workspace, "slow")) != "slow\n" || string(m.read(workspace, "quick")) != quick || bytes.Count(m.read(workspace, "begun"), []byte("begun")) != starts {
		t.Errorf("%s: slow %q, quick %q, begun %q", workspace, m.read(workspace, "slow"), m.read(workspace, "quick"), m.read(workspace, "begun"))
	}
	out := m.coder("state", "pull", m.name+"-"+workspace)
	for _, want := range []string{`"slow"`, `"quick"`, `"part"`, `"coder_agent"`} {
		if !strings.Contains(out, want) || strings.Contains(out, `"tainted"`) {
			t.Errorf("%s: the state lacks %s or has something that is tainted:\n%s", workspace, want, out)
		}
	}
}

// cancel cancels a build while a script runs.
func (m *matrix) cancel() {
	t := m.t
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.try("create", m.name+"-cancel", "--template", m.name, "--parameter", "seconds=600", "--yes") //nolint:errcheck // it is canceled
	}()
	testwait.Until(t, "a script runs", func() bool { return len(m.read("cancel", "quick")) > 0 })
	var w struct {
		LatestBuild struct {
			ID, Status string
		} `json:"latest_build"`
	}
	m.request(t, http.MethodGet, "/users/me/workspace/"+m.name+"-cancel", &w)
	m.request(t, http.MethodPatch, "/workspacebuilds/"+w.LatestBuild.ID+"/cancel", &struct{}{})
	<-ended
	testwait.Until(t, "the build is canceled", func() bool {
		m.request(t, http.MethodGet, "/users/me/workspace/"+m.name+"-cancel", &w)
		return w.LatestBuild.Status == "canceled"
	})
	if len(m.processes()) != 0 || len(m.read("cancel", "slow")) != 0 {
		t.Errorf("what a canceled build ran goes on: %q", m.processes())
	}
	if out := m.coder("state", "pull", m.name+"-cancel"); !strings.Contains(out, `"tainted"`) {
		t.Errorf("the state after a cancel has the interrupted resource as whole:\n%s", out)
	}
}
