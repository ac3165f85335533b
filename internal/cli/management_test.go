package cli

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSharingCommands shares a workspace with a user and a group.
func TestSharingCommands(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.Member(t, "ann")
	h.template("plain", oneAgent)
	h.commands(`
		groups create crew
		create dev --template plain --yes
		sharing status dev => not shared
		sharing share dev --user ann --group crew:admin => crew
		sharing status dev --output json => "role": "admin"
		! sharing share dev --user nobody => nobody
		! sharing share dev --user ann:king => king
		! sharing share dev => --user
		sharing remove dev --user ann => crew
		sharing remove dev --group crew
		sharing status dev => not shared
	`)
}

// TestLoginCommands signs in with a token and as the first user, and signs out.
func TestLoginCommands(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	url, token := h.AccessURL().String(), h.Client.SessionToken
	login := func(stdin string, args ...string) (string, int) {
		t.Helper()
		var out strings.Builder
		status := Main(t.Context(), append([]string{"coder"}, args...), strings.NewReader(stdin), &out, &out, []string{"HOME=" + h.dir, "CODER_USE_KEYRING=false"})
		return out.String(), status
	}
	for _, step := range []struct {
		stdin, command, want string
		fails                bool
	}{
		{command: "whoami", want: "coder login", fails: true},
		{command: "login nowhere.invalid", want: "nowhere.invalid", fails: true},
		{stdin: "wrong\n", command: "login " + url, want: "token", fails: true},
		{stdin: token + "\n", command: "login " + url, want: "Signed in to " + url + " as admin."},
		{command: "whoami", want: "as admin."},
		{command: "login token", want: token},
		{command: "login " + url + " --token " + token, want: "as admin."}, // a session of its own
		{command: "logout --yes", want: "Signed out"},
		{command: "whoami", want: "coder login", fails: true},
		{command: "login " + url + " --use-token-as-session --token " + token, want: "as admin."},
		{command: "login token", want: token},
	} {
		out, status := login(step.stdin, strings.Fields(step.command)...)
		if (status != 0) != step.fails || !strings.Contains(out, step.want) {
			t.Errorf("coder %s: status %d, want %q in\n%s", step.command, status, step.want, out)
		}
	}
}

// TestSettingCommands sets the settings of an organization from JSON.
func TestSettingCommands(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	for _, step := range []struct{ name, input, want string }{
		{"group-sync", `{"field": "groups", "auto_create_missing_groups": true}`, `"groups"`},
		{"role-sync", `{"field": "roles"}`, `"roles"`},
		{"organization-sync", `{"field": "organizations", "organization_assign_default": true}`, `"organizations"`},
		{"workspace-sharing", `{"sharing_disabled": true}`, "true"},
		{"rules", `{"token_scopes": ["workspace:read"]}`, "workspace:read"},
	} {
		if out, errs, status := h.input(step.input, "organizations", "settings", "set", step.name); status != 0 {
			t.Errorf("set %s: status %d\n%s%s", step.name, status, out, errs)
		}
		if out, _ := h.ok("organizations", "settings", "show", step.name); !strings.Contains(out, step.want) {
			t.Errorf("%s is %s, want %s", step.name, out, step.want)
		}
		if _, errs, status := h.input("{", "organizations", "settings", "set", step.name); status == 0 || !strings.Contains(errs, "JSON") {
			t.Errorf("set %s to no JSON: status %d, %s", step.name, status, errs)
		}
	}
}

// TestServiceAccountCommands creates an account without a password, and its token.
func TestServiceAccountCommands(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.Member(t, "ann")
	h.commands(`
		users create --username deploy --service-account --service-account-owner ann --service-account-scope workspace:read --service-account-expires-in 720h => deploy
		users list => deploy
		! users create --username other --service-account-owner ann --email o@example.com => --service-account
		users create --username eve --email eve@example.com => Created user eve.
		tokens create --name automatic --user deploy
		tokens list --all => automatic
	`)
}

// TestTemplateSources downloads the source of a template in each form.
func TestTemplateSources(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.template("plain", map[string]string{"readme.md": "Nothing.", "dir/more.txt": "More."})
	dir := filepath.Join(t.TempDir(), "pulled")
	h.ok("templates", "pull", "plain", dir)
	if got, err := os.ReadFile(filepath.Join(dir, "dir", "more.txt")); string(got) != "More." {
		t.Errorf("the pulled file holds %q: %v", got, err)
	}
	h.commands(`
		! templates pull plain ` + dir + ` => use --yes
		templates pull plain ` + dir + ` --yes
		! templates pull plain --version none --tar => none
		! templates pull none => none
		! templates pull plain --tar --zip => --zip
	`)
	out, _ := h.ok("templates", "pull", "plain", "--tar")
	names := map[string]bool{}
	for archive := tar.NewReader(strings.NewReader(out)); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		h.must(err)
		names[head.Name] = true
	}
	if !names["readme.md"] || !names["dir/more.txt"] {
		t.Errorf("the tar archive holds %v", names)
	}
	out, _ = h.ok("templates", "pull", "plain", "--zip")
	packed, err := zip.NewReader(bytes.NewReader([]byte(out)), int64(len(out)))
	h.must(err)
	if len(packed.File) < 2 {
		t.Errorf("the zip archive holds %d files", len(packed.File))
	}
}

// TestStateCommands writes the state of a workspace to a file and back.
func TestStateCommands(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.template("plain", map[string]string{"apply.start.jsonl": `{"state": "the state"}` + "\n" + `{"complete": {}}` + "\n"})
	file := filepath.Join(t.TempDir(), "state")
	h.commands(`
		create dev --template plain --yes
		state pull dev ` + file + `
		state pull dev --build 1
		! state pull dev --build 9 => not found
		! state push dev ` + file + `/nothing --yes => nothing
		state push dev ` + file + ` --no-build --force --yes
		state push dev ` + file + ` --force --yes
		schedule explain dev => does not stop automatically
		! schedule extend dev 2h => dev
		schedule stop dev 8h
		restart dev --yes
		schedule extend dev 2h => dev
		schedule explain dev --output json => "reasons"
		provisioner jobs list => workspace_build
		provisioner jobs list --output json --status succeeded --limit 2 --initiator admin => "succeeded"
		templates versions list plain => Active
	`)
}

// TestScaleTests runs every scale test with the smallest load.
func TestScaleTests(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.template("plain", map[string]string{"readme.md": "Nothing."})
	report := filepath.Join(t.TempDir(), "report.md")
	h.commands(`
		exp scaletest create-workspaces --template plain --count 2 --no-cleanup --output text --output markdown:` + report + `
		! exp scaletest create-workspaces --template none --count 1 => none
		exp scaletest workspace-updates --template plain --output json => {
		exp scaletest dashboard --duration 1s --interval 100ms => p99
		! exp scaletest workspace-traffic --template plain --duration 1s => agent
		! exp scaletest dashboard --output yaml => yaml
		exp scaletest cleanup
		list --all => No workspaces
	`)
	if text, err := os.ReadFile(report); !strings.Contains(string(text), "p99") {
		t.Errorf("the report is %q: %v", text, err)
	}
}
