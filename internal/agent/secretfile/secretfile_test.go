package secretfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/agent/secretfile"
)

func sync(t *testing.T, home string, files map[string]string) string {
	t.Helper()
	var list []secretfile.File
	for path, value := range files {
		list = append(list, secretfile.File{Path: path, Value: []byte(value)})
	}
	var errs []string
	for _, err := range secretfile.Sync(home, list) {
		errs = append(errs, err.Error())
	}
	return strings.Join(errs, "; ")
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, text string, mode os.FileMode, path ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(path...), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func TestSync(t *testing.T) {
	home, outside := t.TempDir(), t.TempDir()
	if errs := sync(t, home, nil); errs != "" || read(t, home, secretfile.List) != "" {
		t.Errorf("without secrets: %s", errs)
	}
	write(t, "old", 0o644, home, ".npmrc")
	write(t, "elsewhere", 0o644, outside, "target")
	if err := os.Symlink(outside, filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	errs := sync(t, home, map[string]string{
		"~/.npmrc": "token", "~/.config/deep/key": "key", filepath.Join(home, "absolute"): "a", "~/edited": "e",
		"/etc/motd": "x", "~/../up": "x", "~/link/target": "x", outside + "/target": "x",
	})
	for _, path := range []string{"/etc/motd", "~/../up", "~/link/target", outside + "/target"} {
		if !strings.Contains(errs, "write "+path+": ") {
			t.Errorf("%s was written; errors: %s", path, errs)
		}
	}
	if read(t, outside, "target") != "elsewhere" {
		t.Error("a file outside the home directory was changed")
	}
	for path, want := range map[string]string{".npmrc": "token", ".config/deep/key": "key", "absolute": "a"} {
		info, err := os.Stat(filepath.Join(home, path))
		if err != nil || info.Mode().Perm() != 0o600 || read(t, home, path) != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if list := read(t, home, secretfile.List); strings.Contains(list, "token") {
		t.Errorf("the list contains a value: %s", list)
	}

	write(t, "changed", 0o600, home, "edited")
	errs = sync(t, home, map[string]string{"~/.npmrc": "newer"})
	if read(t, home, ".npmrc") != "newer" || read(t, home, ".config/deep/key") != "" || read(t, home, "absolute") != "" {
		t.Error("the files are not those of the secrets")
	}
	if read(t, home, "edited") != "changed" || !strings.Contains(errs, "remove edited: ") {
		t.Errorf("of a file that was edited: %s", errs)
	}
	write(t, "damaged", 0o600, home, secretfile.List)
	if errs := sync(t, home, nil); errs != "" || read(t, home, ".npmrc") != "newer" {
		t.Errorf("with a damaged list: %s", errs)
	}
	left, err := filepath.Glob(filepath.Join(home, ".coder-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v %v", left, err)
	}
}
