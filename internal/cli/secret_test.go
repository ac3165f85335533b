package cli

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/server"
)

// input runs a command with standard input.
func (h *house) input(stdin string, args ...string) (stdout, stderr string, status int) {
	var out, errs strings.Builder
	status = Main(h.t.Context(), append([]string{"coder"}, args...), strings.NewReader(stdin), &out, &errs, h.env())
	return out.String(), errs.String(), status
}

func TestSecret(t *testing.T) {
	h := newHouse(t, func(c *server.Config) {
		c.Database.EncryptionKeys = []string{base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))}
	})
	if out, errs, status := h.input("hush\n", "secret", "create", "npm", "--env", "NPM_TOKEN", "--description", "Registry"); status != 0 || out != "Created secret npm.\n" {
		t.Fatalf("create: %d %s%s", status, out, errs)
	}
	h.ok("secrets", "create", "off", "--value", "x", "--enabled=false")
	out, _ := h.ok("secret", "list", "-c", "name,env,file,enabled,description")
	if want := "NAME  ENV        FILE  ENABLED  DESCRIPTION\nnpm   NPM_TOKEN        true     Registry\noff                    false\n"; out != want {
		t.Errorf("the list is\n%s\nwant\n%s", out, want)
	}
	h.ok("secret", "update", "npm", "--file", "~/.npmrc", "--env", "")
	h.ok("secret", "disable", "npm")
	if out, _ := h.ok("secret", "list", "npm", "-c", "env,file,enabled"); !strings.Contains(out, "~/.npmrc  false") {
		t.Errorf("the changed secret is\n%s", out)
	}
	h.ok("secret", "enable", "npm")
	if _, errs, status := h.input("new", "secret", "update", "npm"); status != 0 {
		t.Errorf("update of the value: %s", errs)
	}
	h.ok("secret", "delete", "off", "-y")
	for want, args := range map[string][]string{
		"--value":                      {"create", "empty", "--env", "A"},
		"is required for an enabled":   {"enable", "bare"},
		`"npm" already exists`:         {"create", "npm", "--value", "x", "--env", "A"},
		"file ~/.npmrc already exists": {"create", "other", "--value", "x", "--file", "~/.npmrc"},
		"PATH is reserved":             {"create", "path", "--value", "x", "--env", "PATH"},
		"must begin with ~/ or /":      {"create", "rel", "--value", "x", "--file", "file"},
		"without .., empty elements":   {"create", "up", "--value", "x", "--file", "~/../x"},
		`no secret with the name "no"`: {"delete", "no", "-y"},
		"at most 32768":                {"create", "big", "--value", strings.Repeat("x", 32<<10+1), "--env", "BIG"},
	} {
		h.run("secret", "create", "bare", "--value", "x", "--enabled=false")
		if out, errs, status := h.run(append([]string{"secret"}, args...)...); status == 0 || !strings.Contains(errs, want) || strings.Contains(out+errs, "xxxxxxx") {
			t.Errorf("coder secret %.60s: status %d: %.300s", strings.Join(args, " "), status, errs)
		}
	}
}

// TestSecretImport: all secrets of a file are created, or none.
func TestSecretImport(t *testing.T) {
	h := newHouse(t, func(c *server.Config) {
		c.Database.EncryptionKeys = []string{base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))}
		c.Secrets.DisableFiles = true
	})
	dir := t.TempDir()
	file := func(name, content string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if out, _ := h.ok("secret", "import", file(".env", "# tokens\nNPM_TOKEN='hush'\nAPI_KEY=hush2\n")); out != "Created secret NPM_TOKEN.\nCreated secret API_KEY.\n" {
		t.Errorf("import: %s", out)
	}
	h.ok("secret", "import", file("x.yml", "pg:\n  value: hush\n  env_name: PGPASSWORD\n  description: Database\n"))
	if out, errs, status := h.input(`{"FROM_JSON": "hush"}`, "secrets", "import", "-", "--input-format", "json"); status != 0 {
		t.Errorf("standard input: %s%s", out, errs)
	}
	want := "NAME       ENV         ENABLED  DESCRIPTION\nAPI_KEY    API_KEY     true     \nFROM_JSON  FROM_JSON   true     \nNPM_TOKEN  NPM_TOKEN   true     \npg         PGPASSWORD  true     Database\n"
	list := func() {
		t.Helper()
		if out, _ := h.ok("secret", "list", "-c", "name,env,enabled,description"); trimLines(out) != trimLines(want) {
			t.Errorf("the list is\n%s\nwant\n%s", out, want)
		}
	}
	list()
	for want, content := range map[string]string{
		`because of "NPM_TOKEN": A secret named`: "A_NEW=hush\nNPM_TOKEN=hush\n",
		`because of "TWICE": A secret named`:     "TWICE=hush\nTWICE=hush\n",
		`because of "PATH": Invalid env_name`:    "A_NEW=hush\nPATH=hush\n",
		`because of "EMPTY": Invalid value`:      "A_NEW=hush\nEMPTY=\n",
		"line 2 is not NAME=value":               "A_NEW=1\nhush\n",
	} {
		if out, errs, status := h.run("secret", "import", file("bad.env", content)); status == 0 || !strings.Contains(errs, want) || strings.Contains(out+errs, "hush") {
			t.Errorf("want %q: status %d: %s%s", want, status, out, errs)
		}
	}
	list() // nothing was created
	for want, args := range map[string][]string{
		"is disabled in this deployment": {"create", "kube", "--value", "x", "--file", "~/.kube/config"},
		"no such file":                   {"import", filepath.Join(dir, "absent")},
		"input-format":                   {"import", filepath.Join(dir, ".env"), "--input-format", "toml"},
	} {
		if _, errs, status := h.run(append([]string{"secret"}, args...)...); status == 0 || !strings.Contains(errs, want) {
			t.Errorf("want %q: status %d: %s", want, status, errs)
		}
	}
}

// trimLines removes blanks at the ends of lines.
func trimLines(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.Join(lines, "\n")
}

func TestSecretWithoutEncryption(t *testing.T) {
	h := newHouse(t, nil)
	if _, errs, status := h.run("secret", "create", "npm", "--value", "hush", "--env", "NPM_TOKEN"); status == 0 || !strings.Contains(errs, "--external-token-encryption-keys") {
		t.Errorf("without keys: status %d: %s", status, errs)
	}
}
