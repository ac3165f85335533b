package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fixture is a release of programs that are text.
func fixture(t *testing.T) *release {
	t.Helper()
	source, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	r := &release{bin: t.TempDir(), out: filepath.Join(t.TempDir(), "dist"), source: source, version: "2.37.0-devel+0123456789ab", time: time.Unix(1_800_000_000, 0).UTC()}
	if err := os.Mkdir(filepath.Join(r.bin, "downloads"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.sbom = filepath.Join(r.bin, "sbom.json")
	files := map[string]string{"sbom.json": "{}"}
	for _, p := range platforms {
		for _, name := range []string{"coder", "coder-agent"} {
			files[p.program(name)] = "program " + p.program(name)
			files["downloads/"+p.program(name)+".gz"] = "packed " + p.program(name)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(r.bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFilesOfARelease(t *testing.T) {
	r := fixture(t)
	if err := r.build(); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, rest := range []string{
		"darwin_amd64.zip", "darwin_arm64.zip", "downloads.tar", "linux_amd64.deb", "linux_amd64.rpm", "linux_amd64.tar.gz", "linux_arm64.deb", "linux_arm64.rpm", "linux_arm64.tar.gz",
		"linux_armv7.deb", "linux_armv7.rpm", "linux_armv7.tar.gz", "sbom.cdx.json", "windows_amd64.zip", "windows_arm64.zip",
	} {
		want = append(want, "coder_2.37.0-devel+0123456789ab_"+rest)
	}
	files, err := os.ReadDir(r.out)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	sums := ""
	for _, f := range files {
		if f.Name() == "checksums.txt" {
			continue
		}
		got = append(got, f.Name())
		sums += fmt.Sprintf("%x  %s\n", sha256.Sum256(read(t, filepath.Join(r.out, f.Name()))), f.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("files: %q", got)
	}
	if text := string(read(t, filepath.Join(r.out, "checksums.txt"))); text != sums {
		t.Errorf("checksums:\n%s", text)
	}

	z, err := gzip.NewReader(bytes.NewReader(read(t, r.file("_linux_arm64.tar.gz"))))
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(z)
	h, err := archive.Next()
	if err != nil || h.Name != "coder" || h.Mode != 0o755 || !h.ModTime.Equal(r.time) {
		t.Errorf("%+v %v", h, err)
	}
	if b, err := io.ReadAll(archive); err != nil || string(b) != "program coder-linux-arm64" {
		t.Errorf("%q %v", b, err)
	}
	windows, err := zip.OpenReader(r.file("_windows_amd64.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer windows.Close()
	if f := windows.File[0]; f.Name != "coder.exe" || !f.Modified.Equal(r.time) {
		t.Errorf("%+v", f.FileHeader)
	}
}

// The same programs make the same files, whenever and wherever that is.
func TestReproducible(t *testing.T) {
	r := fixture(t)
	if err := r.build(); err != nil {
		t.Fatal(err)
	}
	first := read(t, filepath.Join(r.out, "checksums.txt"))
	r.out = filepath.Join(t.TempDir(), "again")
	later := time.Unix(1_900_000_000, 0)
	err := filepath.WalkDir(r.bin, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, later, later)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.build(); err != nil {
		t.Fatal(err)
	}
	if again := read(t, filepath.Join(r.out, "checksums.txt")); !bytes.Equal(first, again) {
		t.Errorf("first:\n%s\nagain:\n%s", first, again)
	}
}

// What dpkg makes of the package.
func TestDebianPackage(t *testing.T) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("needs dpkg-deb")
	}
	r := fixture(t)
	if err := r.build(); err != nil {
		t.Fatal(err)
	}
	fields, err := exec.Command("dpkg-deb", "--field", r.file("_linux_armv7.deb"), "Package", "Version", "Architecture", "Recommends").CombinedOutput()
	want := "Package: coder\nVersion: 2.37.0~devel+0123456789ab\nArchitecture: armhf\nRecommends: ca-certificates, git\n"
	if err != nil || string(fields) != want {
		t.Errorf("%v\n%s", err, fields)
	}
	root := t.TempDir()
	if out, err := exec.Command("dpkg-deb", "--extract", r.file("_linux_amd64.deb"), root).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for path, want := range map[string]string{
		"usr/bin/coder": "program coder-linux-amd64", "usr/share/coder/bin/coder-windows-arm64.exe.gz": "packed coder-windows-arm64.exe",
		"usr/share/coder/bin/coder-agent-linux-armv7.gz": "packed coder-agent-linux-armv7", "usr/lib/systemd/system/coder.service": "/usr/bin/coder server",
		"etc/coder.d/coder-provisioner.env": "CODER_URL", "usr/share/coder/sbom.cdx.json": "{}",
		"usr/share/doc/coder/copyright": "Apache License", "usr/share/doc/coder/NOTICE": "Go standard library",
	} {
		if got := read(t, filepath.Join(root, path)); !strings.Contains(string(got), want) {
			t.Errorf("%s: %.100q", path, got)
		}
	}
	control := t.TempDir()
	if out, err := exec.Command("dpkg-deb", "--control", r.file("_linux_amd64.deb"), control).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := read(t, filepath.Join(control, "conffiles")); string(got) != "/etc/coder.d/coder-provisioner.env\n/etc/coder.d/coder.env\n" {
		t.Errorf("conffiles %q", got)
	}
	for _, script := range []string{"preinst", "postinst", "prerm", "postrm"} {
		if out, err := exec.Command("sh", "-n", filepath.Join(control, script)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", script, err, out)
		}
	}
}

func TestMissingPlatform(t *testing.T) {
	r := fixture(t)
	if err := os.Remove(filepath.Join(r.bin, "downloads", "coder-linux-arm64.gz")); err != nil {
		t.Fatal(err)
	}
	if err := r.build(); err == nil || !strings.Contains(err.Error(), "make downloads") {
		t.Errorf("%v", err)
	}
}

func TestTime(t *testing.T) {
	commit := time.Unix(5, 0)
	for _, c := range []struct {
		epoch string
		had   time.Time
		want  int64
		err   string
	}{
		{"", commit, 5, ""}, {"1700000000", commit, 1700000000, ""}, {"1700000000", time.Time{}, 1700000000, ""},
		{"yesterday", commit, 0, "SOURCE_DATE_EPOCH"}, {"", time.Time{}, 0, "set SOURCE_DATE_EPOCH"},
	} {
		r := &release{time: c.had}
		switch err := r.setTime(c.epoch); {
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%q: %v", c.epoch, err)
		case c.err == "" && (err != nil || r.time.Unix() != c.want):
			t.Errorf("%q: %v %v", c.epoch, err, r.time)
		}
	}
}
