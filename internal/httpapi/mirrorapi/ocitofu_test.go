package mirrorapi_test

import (
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
)

// tofu runs OpenTofu with the registry of a server.
type tofu struct {
	program, host string
	env           []string
}

// newTofu returns OpenTofu that trusts the server and has no way to others.
func newTofu(t *testing.T, server *httptest.Server) *tofu {
	t.Helper()
	program, err := exec.LookPath("tofu")
	if err != nil {
		t.Skip("tofu is not on PATH: this test of the real thing does not run")
	}
	if out, err := exec.CommandContext(t.Context(), program, "version").Output(); err != nil || strings.HasPrefix(string(out), "OpenTofu v1.9.") {
		t.Skipf("%s has no OCI registries: %s, %v", program, out, err)
	}
	certificate := filepath.Join(t.TempDir(), "ca.pem")
	writeFile(t, certificate, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	return &tofu{program: program, host: server.Listener.Addr().String(), env: []string{
		"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "HTTPS_PROXY=http://127.0.0.1:1", "SSL_CERT_FILE=" + certificate, "CHECKPOINT_DISABLE=1",
	}}
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// cliConfig is the CLI configuration of docs/mirror-oci.md.
const cliConfig = `provider_installation {
  oci_mirror {
    repository_template = "%[1]s/${hostname}/${namespace}/${type}"
    include             = ["registry.terraform.io/*/*"]
  }
}

oci_credentials "%[1]s" {
  username = "any"
  password = "%[2]s"
}
`

// run runs a command in a directory with a configuration, and returns its output.
func (o *tofu) run(t *testing.T, dir, password string, args ...string) (string, error) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "tofu.rc")
	writeFile(t, config, fmt.Sprintf(cliConfig, o.host, password))
	c := exec.CommandContext(t.Context(), o.program, append(args, "-no-color")...)
	c.Dir, c.Env = dir, append(o.env, "TF_CLI_CONFIG_FILE="+config)
	out, err := c.CombinedOutput()
	return strings.Join(strings.Fields(strings.ReplaceAll(string(out), "│", " ")), " "), err
}

// newConfiguration returns a directory that uses providers of acme.
func newConfiguration(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	source := usesOf(names...)
	for _, name := range names {
		source = strings.ReplaceAll(source, `"acme/`+name+`"`, `"registry.terraform.io/acme/`+name+`"`)
	}
	writeFile(t, filepath.Join(dir, "main.tf"), source)
	return dir
}

func TestOpenTofuInstallsProvidersFromTheRegistry(t *testing.T) {
	h := newHouse(t)
	for name, version := range map[string]string{"one": "1.2.0", "two": "1.0.0+build.1"} {
		h.store(t, name, "1.0.0-rc.1")
		h.store(t, name, version)
	}
	h.registry.SetDown(true)
	o := newTofu(t, h.oci(t))
	for name, password := range map[string]string{"provisioner key": key, "token": token} {
		dir := newConfiguration(t, "one", "two")
		if out, err := o.run(t, dir, password, "init"); err != nil || !strings.Contains(out, "Installed registry.terraform.io/acme/one v1.2.0") ||
			!strings.Contains(out, "Installed registry.terraform.io/acme/two v1.0.0+build.1") {
			t.Fatalf("%s: %v %s", name, err, out)
		}
		if out, err := o.run(t, dir, password, "validate"); err != nil { // which starts the providers
			t.Errorf("%s: %v %s", name, err, out)
		}
	}
	if out, err := o.run(t, newConfiguration(t, "one"), "wrong", "init"); err == nil || !strings.Contains(out, "401") {
		t.Errorf("a wrong password: %v %s", err, out)
	}
	if out, err := o.run(t, newConfiguration(t, "one", "three"), key, "init"); err == nil || !strings.Contains(out, "acme/three") {
		t.Errorf("a provider that is not stored: %v %s", err, out)
	}
	h.damage(t)
	if out, err := o.run(t, newConfiguration(t, "one"), key, "init"); err == nil || !strings.Contains(out, "is refused") {
		t.Errorf("a changed byte: %v %s", err, out)
	}
}

func TestOpenTofuInstallsModulesFromTheRegistry(t *testing.T) {
	h := newHouse(t)
	target := h.publishModule(t, "home")
	target.Namespace = "acme" // repositories have no upper-case letters
	h.registry.AddModule(t, target, "git::https://github.com/acme/terraform-any-home?ref=v1.0.0", "", nil)
	if _, err := h.mirror.Pull(t.Context(), access.System(), providermirror.PullRequest{Target: target}); err != nil {
		t.Fatal(err)
	}
	h.registry.SetDown(true)
	o, dir := newTofu(t, h.oci(t)), t.TempDir()
	source := "oci://" + o.host + "/" + providermirror.TerraformRegistry + "/acme/home/any"
	writeFile(t, filepath.Join(dir, "main.tf"), fmt.Sprintf(`module "home" {
  source = "%[1]s?tag=1.0.0"
}
module "inner" {
  source = "%[1]s//modules/inner?tag=1.0.0"
}
output "text" {
  value = [module.home.text, module.inner.text]
}
`, source))
	if out, err := o.run(t, dir, key, "init"); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if out, err := o.run(t, dir, key, "apply", "-auto-approve"); err != nil || strings.Count(out, `"from home"`) < 2 {
		t.Errorf("%v %s", err, out)
	}
}
