package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestClonesHaveTheSameTimes(t *testing.T) {
	origin := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(origin, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := func(args ...string) {
		t.Helper()
		args = append([]string{"-C", origin, "-c", "user.name=owner", "-c", "user.email=owner@example.com"}, args...)
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	// times returns those of a new clone; prepare changes it first.
	times := func(prepare func()) map[string]time.Time {
		t.Helper()
		clone := filepath.Join(t.TempDir(), "clone")
		command("clone", "-q", origin, clone)
		t.Chdir(clone)
		prepare()
		if err := run(); err != nil {
			t.Fatal(err)
		}
		out := map[string]time.Time{}
		for _, path := range []string{".", "a", "a/one", "a/two", "b", "b/three"} {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			out[path] = info.ModTime()
		}
		return out
	}
	write("a/one", "1")
	write("a/two", "2")
	write("b/three", "3")
	command("init", "-q")
	command("add", ".")
	command("commit", "-qm", "first")
	before := times(func() {})
	for path, at := range times(func() {}) {
		if !at.Equal(before[path]) || at.Year() > 2020 {
			t.Errorf("%s: %s, and %s in another clone", path, before[path], at)
		}
	}
	write("a/two", "changed")
	command("commit", "-qam", "second")
	edited := times(func() {
		if err := os.WriteFile("b/three", []byte("edited"), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	for path, same := range map[string]bool{".": false, "a": false, "a/one": true, "a/two": false, "b": true, "b/three": false} {
		if at := edited[path]; at.Equal(before[path]) != same {
			t.Errorf("%s: %s before the change, %s after it", path, before[path], at)
		}
	}
	if at := edited["b/three"]; at.Year() < 2026 {
		t.Errorf("an edited file has the time %s", at)
	}
}
