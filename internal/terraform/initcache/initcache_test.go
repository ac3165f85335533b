package initcache

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func newStore(dir string, limit int64) *Store {
	return &Store{Dir: filepath.Join(dir, "store"), Packages: filepath.Join(dir, "packages"), PackageDepth: 2, Limit: limit, Log: slog.New(slog.DiscardHandler)}
}

// made makes a tree with a small file, a large one and a link to a package.
func made(t testing.TB, dir, word string) string {
	t.Helper()
	tree, err := os.MkdirTemp(dir, "tree-")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.MkdirAll(filepath.Join(tree, "kept", "inner"), 0o700),
		os.WriteFile(filepath.Join(tree, "kept", "inner", "small"), []byte(word), 0o600),
		os.WriteFile(filepath.Join(tree, "kept", "large"), bytes.Repeat([]byte(word[:1]), large), 0o700),
		os.MkdirAll(filepath.Join(dir, "packages", "p", word), 0o700),
		os.WriteFile(filepath.Join(dir, "packages", "p", word, "program"), []byte(word), 0o700),
		os.Symlink(filepath.Join(dir, "packages", "p", word), filepath.Join(tree, "kept", "link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

func fill(t testing.TB, s *Store, key, tree string) {
	t.Helper()
	if err := s.Fill(t.Context(), key, tree, []string{"kept", "missing"}, nil, "note of "+key); err != nil {
		t.Fatal(err)
	}
}

func restored(t testing.TB, s *Store, key string) (string, bool) {
	t.Helper()
	dir := t.TempDir()
	ok, err := s.Restore(t.Context(), key, dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, ok
}

func whole(t testing.TB, dir, word string) {
	t.Helper()
	for name, want := range map[string]string{"inner/small": word, "link/program": word} {
		if got, err := os.ReadFile(filepath.Join(dir, "kept", name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "kept", "large")); err != nil || info.Size() != large || info.Mode().Perm() != 0o700 {
		t.Errorf("large: %v, %v", info, err)
	}
}

func TestRestoreGivesWhatWasKept(t *testing.T) {
	dir := t.TempDir()
	s := newStore(dir, 0)
	if _, ok := restored(t, s, "a"); ok {
		t.Fatal("there is something in an empty store")
	}
	tree := made(t, dir, "one")
	fill(t, s, "a", tree)
	if err := os.RemoveAll(tree); err != nil {
		t.Fatal(err)
	}
	got, ok := restored(t, s, "a")
	if !ok || s.Note("a") != "note of a" {
		t.Fatalf("restored: %v, note %q", ok, s.Note("a"))
	}
	whole(t, got, "one")
	// What a job does to its copy is nobody else's.
	if err := os.WriteFile(filepath.Join(got, "kept", "inner", "small"), []byte("evil"), 0o600); err != nil {
		t.Fatal(err)
	}
	again, _ := restored(t, s, "a")
	whole(t, again, "one")
}

func TestDamageIsNotHandedOut(t *testing.T) {
	for name, damage := range map[string]func(dir, entry string) error{
		"content": func(_, entry string) error {
			return os.WriteFile(filepath.Join(entry, treeDir, "kept/inner/small"), []byte("two"), 0o600)
		},
		"cut":     func(_, entry string) error { return os.Truncate(filepath.Join(entry, treeDir, "kept/large"), 7) },
		"missing": func(_, entry string) error { return os.Remove(filepath.Join(entry, treeDir, "kept/large")) },
		"package": func(dir, _ string) error { return os.RemoveAll(filepath.Join(dir, "packages/p/one")) },
		"changed package": func(dir, _ string) error {
			return os.WriteFile(filepath.Join(dir, "packages/p/one/program"), []byte("evil"), 0o700)
		},
		"list": func(_, entry string) error { return os.WriteFile(filepath.Join(entry, listFile), []byte("{"), 0o600) },
		"outer path": func(_, entry string) error {
			return os.WriteFile(filepath.Join(entry, listFile), []byte(`{"items":[{"path":"../x","dir":true}]}`), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := newStore(dir, 0)
			fill(t, s, "a", made(t, dir, "one"))
			if err := damage(dir, s.entry("a")); err != nil {
				t.Fatal(err)
			}
			if _, ok := restored(t, s, "a"); ok {
				t.Fatal("the damaged entry was restored")
			}
			if err := s.Remove(t.Context(), "a"); err != nil || s.Has("a") {
				t.Fatalf("removed: %v", err)
			}
			fill(t, s, "a", made(t, dir, "one"))
			got, ok := restored(t, s, "a")
			if !ok {
				t.Fatal("what was made again is not there")
			}
			whole(t, got, "one")
		})
	}
}

func TestTheOldestGoes(t *testing.T) {
	dir := t.TempDir()
	s := newStore(dir, 2*large+4096)
	for i, key := range []string{"a", "b"} {
		fill(t, s, key, made(t, dir, key+"-word"))
		when := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(filepath.Join(s.entry(key), listFile), when, when); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := restored(t, s, "a"); !ok { // now b is the one not used for longest
		t.Fatal("a is gone")
	}
	used := made(t, dir, "used-word")
	s.InUse = func() []string { return []string{used} }
	fill(t, s, "c", made(t, dir, "c-word"))
	for key, want := range map[string]bool{"a": true, "b": false, "c": true} {
		if _, ok := restored(t, s, key); ok != want {
			t.Errorf("%s is there: %v", key, ok)
		}
	}
	for word, want := range map[string]bool{"a-word": true, "b-word": true, "used-word": true} {
		_, err := os.Stat(filepath.Join(dir, "packages", "p", word))
		if (err == nil) != want {
			t.Errorf("package %s is there: %v", word, err == nil)
		}
	}
	// One that is larger than the limit pushes all others out, with their packages.
	s.Limit = 1
	fill(t, s, "d", made(t, dir, "d-word"))
	for word, want := range map[string]bool{"a-word": false, "b-word": false, "c-word": false, "d-word": true, "used-word": true} {
		_, err := os.Stat(filepath.Join(dir, "packages", "p", word))
		if (err == nil) != want {
			t.Errorf("package %s is there: %v", word, err == nil)
		}
	}
	if got, ok := restored(t, s, "d"); !ok {
		t.Error("what is needed now is gone")
	} else {
		whole(t, got, "d-word")
	}
}

// TestFilesGoToo keeps single files under the same limit, by when they were used.
func TestFilesGoToo(t *testing.T) {
	dir := t.TempDir()
	s := newStore(dir, 2*large+1000)
	s.Files = filepath.Join(dir, "files")
	if err := os.MkdirAll(s.Files, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"old.tar", "used.tar", ".being-written"} {
		name = filepath.Join(s.Files, name)
		if err := os.WriteFile(name, make([]byte, 600), 0o600); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(time.Duration(i-3) * time.Hour)
		if err := os.Chtimes(name, when, when); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, s, "a", made(t, dir, "a-word"))
	fill(t, s, "b", made(t, dir, "b-word"))
	for name, want := range map[string]bool{"old.tar": false, "used.tar": true, ".being-written": true} {
		if _, err := os.Stat(filepath.Join(s.Files, name)); (err == nil) != want {
			t.Errorf("%s is there: %v", name, err == nil)
		}
	}
	if !s.Has("a") || !s.Has("b") {
		t.Error("entries went before an older file")
	}
}

// TestMain lets the test binary be a process that fills a store until it is
// killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("WARM_FILL"); dir != "" {
		s := newStore(dir, 0)
		for n := 0; ; n++ {
			if err := s.Fill(context.Background(), fmt.Sprint("k", n%3), os.Getenv("WARM_TREE"), []string{"kept"}, nil, ""); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
	}
	os.Exit(m.Run())
}

// TestCrash kills a process in the middle of filling, again and again: what is
// there afterwards is whole, and the next one can go on.
func TestCrash(t *testing.T) {
	dir := t.TempDir()
	s := newStore(dir, 0)
	tree := made(t, dir, "one")
	for range 25 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "WARM_FILL="+dir, "WARM_TREE="+tree)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(10*time.Millisecond+rand.N(30*time.Millisecond), func() { cmd.Process.Kill() })
		cmd.Wait() //nolint:errcheck // it is killed
		if timer.Stop() {
			t.Fatal("the process ended by itself")
		}
		for n := range 3 {
			if key := fmt.Sprint("k", n); s.Has(key) {
				got, ok := restored(t, s, key)
				if !ok {
					t.Fatalf("%s is there and not whole", key)
				}
				whole(t, got, "one")
			}
		}
	}
	fill(t, s, "k0", tree)
	if left, _ := filepath.Glob(filepath.Join(s.Dir, partial+"*")); len(left) > 0 {
		t.Errorf("the crashes left %v", left)
	}
}
