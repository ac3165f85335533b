package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/testtar"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// pausedTerraform is a wrapper of Terraform. It creates DIR/planning before a plan, and
// waits until DIR/go exists.
const pausedTerraform = `#!/bin/sh
case " $* " in
*" plan "*)
	echo planning >>DIR/planning
	until test -e DIR/go; do sleep 0.05; done
	;;
esac
exec TERRAFORM "$@"
`

// TestKilledServerDuringImport kills the server with kill -9 during the import of a
// version that already has a template. The template must remain. It must be usable after
// the import has succeeded, on the same provisioner or on the next one.
func TestKilledServerDuringImport(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	parent := t // its cleanup stops the restarted server
	for name, killsProvisioner := range map[string]bool{"server": false, "both": true} {
		t.Run(name, func(t *testing.T) {
			j := &job{testServer: p, name: name, dir: filepath.Join(p.dir, name)}
			j.program = j.pausedTerraform(t)
			daemon := j.daemon(t, "a", "http://"+p.address)
			version, template := j.templateOfImport(t)
			testwait.Until(t, "the import plans", func() bool { _, err := os.Stat(filepath.Join(j.dir, "planning")); return err == nil })
			status := func() string {
				var v struct {
					Job struct{ Status, Error string }
				}
				p.request(t, http.MethodGet, "/templateversions/"+version, &v)
				return strings.TrimSpace(v.Job.Status + " " + v.Job.Error)
			}
			if got := status(); got != "running" {
				t.Errorf("the import is %s while Terraform plans", got)
			}
			kill(p.server)
			if killsProvisioner {
				kill(daemon)
			}
			p.serve(parent)
			if out, err := p.try("create", name, "--template", name, "--yes"); err == nil || !strings.Contains(out, "still being imported") {
				t.Errorf("a workspace while the import runs: %v\n%s", err, out)
			}
			if err := os.WriteFile(filepath.Join(j.dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if killsProvisioner {
				j.daemon(t, "b", "http://"+p.address)
			}
			testwait.Until(t, "the import ends", func() bool { s := status(); return s != "running" && s != "pending" },
				testwait.Every(200*time.Millisecond)) // the server allows 512 requests per minute
			if got := status(); got != "succeeded" {
				t.Fatalf("the import is %s", got)
			}
			var made struct {
				ID, Name string
				Active   string `json:"active_version_id"`
			}
			p.request(t, http.MethodGet, "/templates/"+template, &made)
			if made.Name != name || made.Active != version {
				t.Errorf("the template is %+v, its version %s", made, version)
			}
			p.run(t, "create", name, "--template", name, "--yes")
			p.run(t, "delete", name, "--yes")
		})
	}
}

// pausedTerraform writes the script pausedTerraform for the job and returns its path.
func (j *job) pausedTerraform(t *testing.T) string {
	t.Helper()
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Fatal("terraform is not on PATH: run tools/setup")
	}
	path := filepath.Join(j.dir, "terraform")
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.NewReplacer("DIR", j.dir, "TERRAFORM", terraform).Replace(pausedTerraform)), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// templateOfImport uploads a version and creates a template from it without waiting for
// the import, as operators do. It returns both IDs.
func (j *job) templateOfImport(t *testing.T) (version, template string) {
	t.Helper()
	source := "# " + j.name + "\nterraform {\n  required_providers {\n    coder = { source = \"coder/coder\" }\n  }\n}\ndata \"coder_workspace\" \"me\" {}\nresource \"terraform_data\" \"one\" {}\n"
	var file struct{ Hash string }
	j.create(t, "/files", "application/x-tar", bytes.NewReader(testtar.Of(t, map[string]string{"main.tf": source})), &file)
	var made struct{ ID string }
	post := func(path string, body map[string]any) string {
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		j.create(t, path, "application/json", bytes.NewReader(b), &made)
		return made.ID
	}
	version = post("/organizations/default/templateversions", map[string]any{
		"file_id": file.Hash, "provisioner": "terraform", "storage_method": "file", "tags": map[string]string{"job": j.name},
	})
	return version, post("/organizations/default/templates", map[string]any{"name": j.name, "template_version_id": version})
}

// create sends a request as the first user. The response must have the status 201.
func (p *testServer) create(t *testing.T, path, kind string, body io.Reader, answer any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.address+"/api/v2"+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Coder-Session-Token", p.token(t))
	req.Header.Set("Content-Type", kind)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusCreated || json.Unmarshal(b, answer) != nil {
		t.Fatalf("POST %s: %s %v\n%s", path, resp.Status, err, b)
	}
}
