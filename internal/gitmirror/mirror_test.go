package gitmirror_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/gitmirror"
	"github.com/seed-2a7f8fe7/coder/internal/gitmirror/hosttest"
	"github.com/seed-2a7f8fe7/coder/internal/gitmirror/seed"
)

// open starts a mirror in dir.
func open(t *testing.T, dir string, change func(*gitmirror.Config)) *gitmirror.Mirror {
	t.Helper()
	c := gitmirror.Config{Dir: dir, MaxBytes: 1 << 30, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: time.Now}
	if change != nil {
		change(&c)
	}
	m := gitmirror.New(c)
	t.Cleanup(func() {
		if err := m.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// get returns a repository that has the mirror's copy, and the refs of the copy. It waits while the mirror updates.
func get(t *testing.T, m *gitmirror.Mirror, r gitmirror.Remote) (dir string, refs map[string]string) {
	t.Helper()
	dir, refs, err := try(t, m, r)
	if err != nil {
		t.Fatal(err)
	}
	return dir, refs
}

func try(t *testing.T, m *gitmirror.Mirror, r gitmirror.Remote) (dir string, refs map[string]string, err error) {
	t.Helper()
	s, err := m.Open(t.Context(), r, true)
	for errors.Is(err, gitmirror.ErrUpdating) {
		s, err = m.Open(t.Context(), r, true)
	}
	if err != nil {
		return "", nil, err
	}
	defer s.Close()
	var b bytes.Buffer
	if _, err := s.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	hosttest.Git(t, dir, "init", "--quiet", "--bare")
	got, err := seed.Install(&b, dir)
	if err != nil {
		t.Fatal(err)
	}
	for ref, object := range got.Refs {
		hosttest.Git(t, dir, "update-ref", ref, object)
	}
	hosttest.Git(t, dir, "fsck", "--full", "--strict")
	return dir, got.Refs, nil
}

// has reports whether a repository has an object.
func has(t *testing.T, dir, object string) bool {
	t.Helper()
	return strings.Contains(hosttest.Git(t, dir, "cat-file", "--batch-all-objects", "--batch-check"), object)
}

// TestCopy checks that a copy has what the host has, also after changes, and comes from the host once.
func TestCopy(t *testing.T) {
	host := hosttest.New(t)
	r := gitmirror.Remote{URL: host.Create(t, "shop")}
	host.Run(t, "shop", "tag", "-a", "v1", "-m", "first", "main")
	root := t.TempDir()
	m := open(t, root, nil)
	_, refs := get(t, m, r)
	if len(refs) != 2 || refs["refs/heads/main"] == "" || refs["refs/tags/v1"] == "" {
		t.Errorf("refs %v", refs)
	}
	before := host.Requests()
	get(t, m, r)
	if n := host.Requests() - before; n != 0 {
		t.Errorf("%d requests to the host for a second copy", n)
	}
	second := host.Commit(t, "shop", "main", "a.go", "package a\n")
	host.Commit(t, "shop", "fix", "b.go", "package b\n")
	if _, refs := get(t, m, r); len(refs) != 3 || refs["refs/heads/main"] != second {
		t.Errorf("refs after a change: %v", refs)
	}
	for i := range 25 { // more than the packs that are kept
		host.Commit(t, "shop", "main", "a.go", strings.Repeat("\n", i+1))
		get(t, m, r)
	}
	if packs, err := filepath.Glob(filepath.Join(root, "*/repository/objects/pack/*.pack")); err != nil || len(packs) > 21 {
		t.Errorf("%d packs, %v", len(packs), err)
	}
}

// TestNothingThatTheHostWouldNotShow checks that users get neither private repositories of others nor objects that
// the host no longer shows.
func TestNothingThatTheHostWouldNotShow(t *testing.T) {
	host := hosttest.New(t)
	host.User("ann", "a")
	host.User("bob", "b")
	url := host.Create(t, "private", "ann")
	m := open(t, t.TempDir(), nil)
	ann := gitmirror.Remote{URL: url, Username: "ann", Password: "a"}
	get(t, m, ann)
	for _, r := range []gitmirror.Remote{{URL: url}, {URL: url, Username: "bob", Password: "b"}, {URL: url, Username: "ann", Password: "wrong"}} {
		if _, _, err := try(t, m, r); !codersdk.Is(err, codersdk.CodeNotFound) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	secret := host.Commit(t, "private", "main", "password.txt", "geheim\n")
	if dir, _ := get(t, m, ann); !has(t, dir, secret) {
		t.Error("the commit is missing")
	}
	host.Run(t, "private", "update-ref", "refs/heads/main", "main~1") // as a force push does
	if dir, _ := get(t, m, ann); has(t, dir, secret) {
		t.Error("a copy has a commit that no branch has")
	}
}

// TestInterrupted checks that nothing of an update that never ended is sent, whatever it had received.
func TestInterrupted(t *testing.T) {
	host := hosttest.New(t)
	r := gitmirror.Remote{URL: host.Create(t, "shop")}
	root := t.TempDir()
	first := gitmirror.New(gitmirror.Config{Dir: root, MaxBytes: 1 << 30, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	get(t, first, r)
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	repositories, err := filepath.Glob(filepath.Join(root, "*/repository"))
	if err != nil || len(repositories) != 1 {
		t.Fatalf("%v, %v", repositories, err)
	}
	// What a killed update leaves: no record, objects of a branch that is gone, incomplete packs, locks.
	gone := host.Commit(t, "shop", "gone", "c.go", "package c\n")
	hosttest.Git(t, repositories[0], "-c", "fetch.unpackLimit=1", "fetch", "--quiet", r.URL, "gone")
	host.Run(t, "shop", "update-ref", "-d", "refs/heads/gone")
	packs := filepath.Join(repositories[0], "objects/pack")
	kept, err := filepath.Glob(packs + "/*.pack")
	if err != nil || len(kept) != 2 {
		t.Fatalf("%v, %v", kept, err)
	}
	for _, name := range []string{
		filepath.Join(packs, "tmp_pack_x"), filepath.Join(repositories[0], "packed-refs.lock"),
		strings.TrimSuffix(kept[0], "pack") + "keep", strings.TrimSuffix(kept[1], "pack") + "keep",
	} {
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(filepath.Dir(repositories[0]), "refs.json")); err != nil {
		t.Fatal(err)
	}
	if dir, _ := get(t, open(t, root, nil), r); has(t, dir, gone) {
		t.Error("a copy has an object of an interrupted update")
	}
	if left, err := filepath.Glob(packs + "/tmp_*"); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// TestOneDirectory checks that a second server leaves the copies alone until the first one ends.
func TestOneDirectory(t *testing.T) {
	host := hosttest.New(t)
	r := gitmirror.Remote{URL: host.Create(t, "shop")}
	root := t.TempDir()
	first := gitmirror.New(gitmirror.Config{Dir: root, MaxBytes: 1 << 30, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	get(t, first, r)
	second := open(t, root, nil)
	if _, _, err := try(t, second, r); !codersdk.Is(err, codersdk.CodeUnavailable) {
		t.Errorf("two servers use one directory: %v", err)
	}
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := host.Requests()
	get(t, second, r)
	if n := host.Requests() - before; n != 0 {
		t.Errorf("%d requests to the host: the second server does not use the copies of the first", n)
	}
}

// TestEviction checks that the least recently used copies go when all are larger than the limit.
func TestEviction(t *testing.T) {
	host := hosttest.New(t)
	now := time.Now()
	m := open(t, t.TempDir(), func(c *gitmirror.Config) {
		c.MaxBytes = 3000
		c.Now = func() time.Time { now = now.Add(time.Second); return now }
	})
	for _, name := range []string{"a", "b", "c", "d"} {
		r := gitmirror.Remote{URL: host.Create(t, name)}
		get(t, m, r)
	}
	if _, err := m.Open(t.Context(), gitmirror.Remote{URL: host.URL + "/a"}, false); !errors.Is(err, gitmirror.ErrUpdating) {
		t.Errorf("the oldest copy is kept: %v", err)
	}
	if s, err := m.Open(t.Context(), gitmirror.Remote{URL: host.URL + "/d"}, false); err != nil {
		t.Errorf("the newest copy is gone: %v", err)
	} else if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestPatience checks that a user does not wait for a slow host, that without create nothing is copied, and that a
// mirror can stop while it waits for the host.
func TestPatience(t *testing.T) {
	host := hosttest.New(t)
	r := gitmirror.Remote{URL: host.Create(t, "shop")}
	m := open(t, t.TempDir(), nil)
	if _, err := m.Open(t.Context(), r, false); !errors.Is(err, gitmirror.ErrUpdating) {
		t.Errorf("without create: %v", err)
	}
	if n := host.Requests(); n != 0 {
		t.Errorf("%d requests to the host without create", n)
	}
	release := host.Hold()
	if _, err := m.Open(t.Context(), r, true); !errors.Is(err, gitmirror.ErrUpdating) {
		t.Errorf("while the host is slow: %v", err)
	}
	release()
	get(t, m, r)
	host.Commit(t, "shop", "main", "README", "two\n")
	release = host.Hold()
	defer release()
	if _, err := m.Open(t.Context(), r, true); !errors.Is(err, gitmirror.ErrUpdating) {
		t.Errorf("while the host is slow with a change: %v", err)
	}
	if err := m.Stop(t.Context()); err != nil { // during an update
		t.Error(err)
	}
}

// TestCreate checks that a copy that is there is sent without create.
func TestCreate(t *testing.T) {
	host := hosttest.New(t)
	r := gitmirror.Remote{URL: host.Create(t, "shop")}
	m := open(t, t.TempDir(), nil)
	get(t, m, r)
	if s, err := m.Open(t.Context(), r, false); err != nil {
		t.Errorf("a copy that is there: %v", err)
	} else if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestCheckURL(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"https://GitHub.com/acme/shop.git", "https://github.com/acme/shop.git"},
		{"https://git.example.com:8443/acme/shop/", "https://git.example.com:8443/acme/shop"},
		{"https://ann:secret@github.com/acme/shop", ""},
		{"https://github.com/acme/shop?x=1", ""},
		{"git@github.com:acme/shop.git", ""},
		{"ext::sh -c id", ""},
		{"file:///etc", ""},
		{"--upload-pack=id", ""},
		{"", ""},
	} {
		got, err := gitmirror.CheckURL(c.raw)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q: %q, %v; want %q", c.raw, got, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error has the password: %v", err)
		}
	}
}
