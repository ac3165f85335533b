package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func TestConfigSSHOwnsItsSectionAndNothingElse(t *testing.T) {
	f := newFar(t)
	f.answer("GET /deployment/ssh", 200, codersdk.SSHConfigResponse{HostnamePrefix: "coder.", HostnameSuffix: "coder", SSHConfigOptions: map[string]string{"ForwardAgent": "no"}})
	file := filepath.Join(f.dir, "ssh config")
	if err := os.WriteFile(file, []byte("Host mine\n  Port 2222\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	read := func() string {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	flags := []string{"config-ssh", "--ssh-config-file", file, "--coder-binary-path", "/my bin/coder"}
	if out, errs, status := f.run("", append(flags, "--dry-run")...); status != 0 || !strings.Contains(out, "Host coder.*") || strings.Contains(read(), "coder") {
		t.Fatalf("dry run: status %d\n%s%s", status, out, errs)
	}
	if _, errs, status := f.run("", flags...); status != 1 || !strings.Contains(errs, "--yes") {
		t.Errorf("without a terminal: status %d, %s", status, errs)
	}
	if _, errs, status := f.run("", append(flags, "--yes", "-o", "ForwardAgent=yes", "--wait", "no")...); status != 0 {
		t.Fatalf("status %d, %s", status, errs)
	}
	text := read()
	for _, want := range []string{
		"Host mine\n  Port 2222\n", "  ForwardAgent yes\n", "StrictHostKeyChecking no",
		`ProxyCommand "/my bin/coder" --global-config ` + filepath.Join(f.dir, ".config/coderv2") + " ssh --stdio --wait no --ssh-host-prefix coder. %h",
		"Host *.coder\n", "--hostname-suffix coder %h",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	// VS Code finds the section and its options by these lines.
	editor := regexp.MustCompile(`(?s)# -+START-CODER-+\n(.*?)# -+END-CODER-+\n`).FindStringSubmatch(text)
	if editor == nil || !strings.Contains(editor[1], "\n# :ssh-option=ForwardAgent=yes\n") {
		t.Errorf("an editor finds %q in\n%s", editor, text)
	}
	if _, errs, status := f.run("", append(flags, "--use-previous-options")...); status != 0 || read() != text {
		t.Errorf("the options were forgotten: status %d, %s\n%s", status, errs, read())
	}
	if out, _, _ := f.run("", append(flags, "--use-previous-options")...); !strings.Contains(out, "No changes to make") {
		t.Errorf("again: %s", out)
	}
	if _, errs, _ := f.run("no\n", append(flags, "--force-tty")...); !strings.Contains(errs, "--ssh-option=ForwardAgent=yes --wait=no are removed") || read() != text {
		t.Errorf("options are dropped without a word: %s", errs)
	}
}

// TestConfigSSHTakesOverTheSectionOfOlderPrograms finds it by its own lines.
func TestConfigSSHTakesOverTheSectionOfOlderPrograms(t *testing.T) {
	f := newFar(t)
	f.answer("GET /deployment/ssh", 200, codersdk.SSHConfigResponse{HostnamePrefix: "coder."})
	file := filepath.Join(f.dir, "config")
	const mine = "Host mine\n  Port 2222\n"
	old := mine + "\n# >>> coder workspaces: written by 'coder config-ssh', changes in here are lost >>>\n# option: ssh-option=ForwardAgent=yes\nHost coder.*\n# <<< coder workspaces <<<\n"
	if err := os.WriteFile(file, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, status := f.run("", "config-ssh", "--ssh-config-file", file, "--yes", "--use-previous-options")
	b, err := os.ReadFile(file)
	if err != nil || status != 0 || !strings.Contains(out, "Updated "+file) {
		t.Fatalf("%v, status %d: %s%s", err, status, out, errs)
	}
	if text := string(b); !strings.HasPrefix(text, mine) || strings.Contains(text, ">>>") || strings.Count(text, "Host coder.*") != 1 || !strings.Contains(text, "# :ssh-option=ForwardAgent=yes\n") {
		t.Errorf("it holds\n%s", text)
	}
	if _, errs, status := f.run("", "config-ssh", "--ssh-config-file", file, "--yes", "--remove"); status != 0 {
		t.Errorf("status %d: %s", status, errs)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != mine {
		t.Errorf("%v: the rest of the file is %q", err, b)
	}
}
