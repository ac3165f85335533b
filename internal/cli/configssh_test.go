package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder"
)

func TestConfigSSHOwnsItsSectionAndNothingElse(t *testing.T) {
	f := newFar(t)
	f.answer("GET /deployment/ssh", 200, coder.SSHConfigResponse{HostnamePrefix: "coder.", HostnameSuffix: "coder", SSHConfigOptions: map[string]string{"ForwardAgent": "no"}})
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
	if _, errs, status := f.run("", append(flags, "--use-previous-options")...); status != 0 || read() != text {
		t.Errorf("the options were forgotten: status %d, %s\n%s", status, errs, read())
	}
	if _, errs, _ := f.run("no\n", append(flags, "--force-tty")...); !strings.Contains(errs, "--ssh-option=ForwardAgent=yes --wait=no would go") || read() != text {
		t.Errorf("options are dropped without a word: %s", errs)
	}
}
