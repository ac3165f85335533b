package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

type item struct {
	name, content, link string
	kind                byte
	mode                int64
}

func file(name, content string) item { return item{name: name, content: content, kind: tar.TypeReg} }
func dir(name string) item           { return item{name: name, kind: tar.TypeDir} }
func link(name, to string) item      { return item{name: name, link: to, kind: tar.TypeSymlink} }

func pack(t testing.TB, items ...item) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, i := range items {
		h := &tar.Header{Name: i.name, Typeflag: i.kind, Linkname: i.link, Mode: 0o644 | i.mode, Size: int64(len(i.content))}
		if i.kind == tar.TypeXGlobalHeader {
			h = &tar.Header{Typeflag: i.kind, Name: i.name, PAXRecords: map[string]string{"comment": "commit"}}
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(i.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func wants(t *testing.T, err error, code codersdk.Code, words string) {
	t.Helper()
	if !codersdk.Is(err, code) || !strings.Contains(err.Error(), words) {
		t.Fatalf("got %v, want %s with %q", err, code, words)
	}
}

func TestCheck(t *testing.T) {
	l := Limits{Entries: 4, Bytes: 100, Ratio: 200}
	for name, tt := range map[string]struct {
		items []item
		code  codersdk.Code // "" when good
		words string
	}{
		"good":                   {[]item{dir("./"), dir("./m/"), file("./m/main.tf", "x"), link("./a.tf", "m/main.tf"), link("m/up", "../a.tf")}, "", ""},
		"parents not listed":     {[]item{file("a/b/c/main.tf", "x")}, "", ""},
		"a file twice":           {[]item{file("main.tf", "x"), file("main.tf", "y")}, "", ""},
		"git archive":            {[]item{{name: "pax", kind: tar.TypeXGlobalHeader}, file("main.tf", "x")}, "", ""},
		"link to the top":        {[]item{file("a/main.tf", "x"), link("a/top", "..")}, "", ""},
		"dangling link":          {[]item{file("main.tf", "x"), link("a", "nowhere")}, "", ""},
		"no files":               {[]item{dir("a/")}, codersdk.CodeInvalid, "no files"},
		"absolute":               {[]item{file("/etc/passwd", "x")}, codersdk.CodeInvalid, "absolute path"},
		"drive":                  {[]item{file("C:/x", "x")}, codersdk.CodeInvalid, "absolute path"},
		"up":                     {[]item{file("../x", "x")}, codersdk.CodeInvalid, "leads out"},
		"up later":               {[]item{file("a/../../x", "x")}, codersdk.CodeInvalid, "leads out"},
		"backslash":              {[]item{file(`..\x`, "x")}, codersdk.CodeInvalid, "not a usable"},
		"link out":               {[]item{link("a", "../x")}, codersdk.CodeInvalid, "leads out"},
		"link out of a dir":      {[]item{dir("d/"), link("d/a", "../../x")}, codersdk.CodeInvalid, "leads out"},
		"absolute link":          {[]item{link("a", "/etc")}, codersdk.CodeInvalid, "absolute"},
		"link turning back":      {[]item{link("a", "b/../../x")}, codersdk.CodeInvalid, "goes down and up again"},
		"chain of links":         {[]item{link("l", "."), file("l/x", "x")}, codersdk.CodeInvalid, `below "l"`},
		"link over what is used": {[]item{file("d/x", "x"), link("d", ".")}, codersdk.CodeInvalid, "twice"},
		"link over link":         {[]item{link("a", "b"), link("a", "c")}, codersdk.CodeInvalid, "twice"},
		"file over link":         {[]item{link("a", "b"), file("a", "x")}, codersdk.CodeInvalid, "twice"},
		"below a file":           {[]item{file("a", "x"), file("a/b", "x")}, codersdk.CodeInvalid, `below "a"`},
		"hard link":              {[]item{file("a", "x"), {name: "b", kind: tar.TypeLink, link: "a"}}, codersdk.CodeInvalid, "hard link"},
		"device":                 {[]item{{name: "null", kind: tar.TypeChar}}, codersdk.CodeInvalid, "special file"},
		"pipe":                   {[]item{{name: "p", kind: tar.TypeFifo}}, codersdk.CodeInvalid, "special file"},
		"too many":               {[]item{file("a", ""), file("b", ""), file("c", ""), file("d", ""), file("e", "")}, codersdk.CodeTooLarge, "more than 4"},
		"too large":              {[]item{file("a", strings.Repeat("x", 60)), file("b", strings.Repeat("x", 60))}, codersdk.CodeTooLarge, "100 bytes"},
		"the top is a file":      {[]item{file(".", "x")}, codersdk.CodeInvalid, "directory"},
	} {
		t.Run(name, func(t *testing.T) {
			data := pack(t, tt.items...)
			err := Check(data, l)
			if tt.code == "" {
				if err != nil {
					t.Fatal(err)
				}
				if err := Unpack(data, t.TempDir(), l); err != nil {
					t.Fatal(err)
				}
				return
			}
			wants(t, err, tt.code, tt.words)
			if name == "no files" {
				return
			}
			to := filepath.Join(t.TempDir(), "to")
			wants(t, Unpack(data, to, l), tt.code, tt.words)
			if _, err := os.Stat(to); err == nil {
				t.Fatal("a refused archive was begun")
			}
		})
	}
}

func TestBroken(t *testing.T) {
	good := pack(t, file("main.tf", strings.Repeat("x", 2000)))
	wants(t, Check(good[:1500], Upload()), codersdk.CodeInvalid, "damaged or incomplete")
	wants(t, Check(bytes.Repeat([]byte{7}, 2048), Upload()), codersdk.CodeInvalid, "damaged or incomplete")
	wants(t, Check([]byte{0x1f, 0x8b, 8, 0}, Upload()), codersdk.CodeInvalid, "gzip")
	wants(t, Check(nil, Upload()), codersdk.CodeInvalid, "no files")
	_, err := FromZip(good, Upload())
	wants(t, err, codersdk.CodeInvalid, "zip archive is damaged")
}

func TestPackAndUnpack(t *testing.T) {
	src := t.TempDir()
	write := func(name, content string, mode fs.FileMode) {
		t.Helper()
		p := filepath.Join(src, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("main.tf", "terraform {}", 0o644)
	write("sub/run.sh", "#!/bin/sh", 0o755)
	write(".terraform.lock.hcl", "lock", 0o644)
	for _, skipped := range []string{".terraform/x", ".git/config", "terraform.tfstate", "terraform.tfstate.backup", "secret.auto.tfvars", "a.tfvars.json", "sub/.hidden/x"} {
		write(skipped, "secret", 0o644)
	}
	if err := os.Symlink("sub/run.sh", filepath.Join(src, "run")); err != nil {
		t.Fatal(err)
	}
	data, err := Pack(src, Upload())
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(data, Upload()); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "new", "dir")
	for range 2 { // the second time over what is there
		if err := Unpack(data, to, Upload()); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{".", ".terraform.lock.hcl", "main.tf", "run", "sub", "sub/run.sh"}
	if got := tree(t, to); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if b, err := os.ReadFile(filepath.Join(to, "run")); err != nil || string(b) != "#!/bin/sh" {
		t.Fatalf("through the link: %q, %v", b, err)
	}
	if i, err := os.Stat(filepath.Join(to, "sub/run.sh")); err != nil || i.Mode()&0o100 == 0 {
		t.Fatalf("mode %v, %v", i.Mode(), err)
	}
	again, err := Pack(to, Upload())
	if err != nil || !bytes.Equal(again, data) {
		t.Fatalf("packing what was unpacked gives other bytes: %v", err)
	}
	if _, err := Pack(filepath.Join(src, "nowhere"), Upload()); !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Fatalf("no directory: %v", err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(src, "out")); err != nil {
		t.Fatal(err)
	}
	_, err = Pack(src, Upload())
	wants(t, err, codersdk.CodeInvalid, "absolute path")
}

func tree(t testing.TB, root string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, _ fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, p)
		out = append(out, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What is in the directory already cannot lead the writer out of it.
func TestUnpackOverLinks(t *testing.T) {
	to, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(to, "d")); err != nil {
		t.Fatal(err)
	}
	if err := Unpack(pack(t, file("d/x", "x")), to, Upload()); err == nil {
		t.Fatal("written through a link that leads out")
	}
	victim := filepath.Join(outside, "victim")
	if err := os.WriteFile(victim, []byte("safe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(to, "f")); err != nil {
		t.Fatal(err)
	}
	if err := Unpack(pack(t, file("f", "x")), to, Upload()); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(victim); string(b) != "safe" {
		t.Fatalf("the victim says %q", b)
	}
}

func TestZip(t *testing.T) {
	data := pack(t, dir("d/"), file("d/main.tf", "x"), item{name: "run.sh", content: "y", kind: tar.TypeReg, mode: 0o111}, link("l", "d/main.tf"))
	zipped, err := ToZip(data, Upload())
	if err != nil {
		t.Fatal(err)
	}
	back, err := FromZip(zipped, Upload())
	if err != nil {
		t.Fatal(err)
	}
	a, b := t.TempDir(), t.TempDir()
	if err := Unpack(data, a, Upload()); err != nil {
		t.Fatal(err)
	}
	if err := Unpack(back, b, Upload()); err != nil {
		t.Fatal(err)
	}
	if x, y := tree(t, a), tree(t, b); !slices.Equal(x, y) {
		t.Fatalf("%v became %v", x, y)
	}
	if i, err := os.Stat(filepath.Join(b, "run.sh")); err != nil || i.Mode()&0o100 == 0 {
		t.Fatalf("mode lost: %v", err)
	}
	if s, err := os.Readlink(filepath.Join(b, "l")); err != nil || s != "d/main.tf" {
		t.Fatalf("link %q, %v", s, err)
	}
}

func zipOf(t testing.TB, each func(*zip.Writer)) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	each(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestBadZip(t *testing.T) {
	put := func(name string, mode fs.FileMode, content []byte) func(*zip.Writer) {
		return func(w *zip.Writer) {
			h := &zip.FileHeader{Name: name, Method: zip.Deflate}
			h.SetMode(mode)
			f, err := w.CreateHeader(h)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Write(content); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tt := range map[string]struct {
		put   func(*zip.Writer)
		code  codersdk.Code
		words string
	}{
		"up":       {put("../x", 0o644, nil), codersdk.CodeInvalid, "leads out"},
		"absolute": {put("/x", 0o644, nil), codersdk.CodeInvalid, "absolute"},
		"link out": {put("x", fs.ModeSymlink|0o777, []byte("../../etc")), codersdk.CodeInvalid, "leads out"},
		"device":   {put("x", fs.ModeDevice|0o644, nil), codersdk.CodeInvalid, "special file"},
		"bomb":     {put("x", 0o644, make([]byte, 5<<20)), codersdk.CodeTooLarge, "times its size"},
		"empty":    {func(*zip.Writer) {}, codersdk.CodeInvalid, "no files"},
		"only dir": {put("d/", fs.ModeDir|0o755, nil), codersdk.CodeInvalid, "no files"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := FromZip(zipOf(t, tt.put), Limits{Entries: 10, Bytes: 10 << 20, Ratio: 200})
			wants(t, err, tt.code, tt.words)
		})
	}
	many := zipOf(t, func(w *zip.Writer) {
		for i := range 11 {
			put(strings.Repeat("x", i+1), 0o644, nil)(w)
		}
	})
	_, err := FromZip(many, Limits{Entries: 10, Bytes: 1000, Ratio: 200})
	wants(t, err, codersdk.CodeTooLarge, "more than 10")
}

// Whatever is unpacked, nothing appears outside of the directory and no link
// inside leads out.
func FuzzUnpack(f *testing.F) {
	f.Add(pack(f, dir("a/"), file("a/b", "x"), link("c", "a/b"), link("a/up", "..")))
	f.Add(pack(f, link("a", "../x")))
	f.Add(pack(f, file("/x", "y"), file("../x", "y")))
	f.Add(pack(f, link("l", "."), link("m", "l/l/l")))
	f.Fuzz(func(t *testing.T, data []byte) {
		base := t.TempDir()
		to := filepath.Join(base, "to")
		if Unpack(data, to, Limits{Entries: 50, Bytes: 1 << 16, Ratio: 200}) != nil {
			return
		}
		if e, err := os.ReadDir(base); err != nil || len(e) != 1 {
			t.Fatalf("beside the directory: %v, %v", e, err)
		}
		err := filepath.WalkDir(to, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.Type()&fs.ModeSymlink == 0 {
				return err
			}
			if real, err := filepath.EvalSymlinks(p); err == nil && real != to && !strings.HasPrefix(real, to+string(filepath.Separator)) {
				t.Fatalf("%s leads to %s", p, real)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if z, err := ToZip(data, Upload()); err == nil {
			if _, err := FromZip(z, Modules()); err != nil && !codersdk.Is(err, codersdk.CodeInvalid, codersdk.CodeTooLarge) {
				t.Fatalf("its zip: %v", err)
			}
		}
	})
}

// A zip that is accepted gives a tar that is.
func FuzzFromZip(f *testing.F) {
	f.Add(zipOf(f, func(w *zip.Writer) {
		x, err := w.Create("main.tf")
		if err != nil {
			f.Fatal(err)
		}
		x.Write([]byte("terraform {}")) //nolint:errcheck // a seed
	}))
	f.Fuzz(func(t *testing.T, data []byte) {
		out, err := FromZip(data, Limits{Entries: 50, Bytes: 1 << 16, Ratio: 200})
		if err == nil {
			err = Check(out, Limits{Entries: 50, Bytes: 1 << 16, Ratio: 200})
		}
		if err != nil && !codersdk.Is(err, codersdk.CodeInvalid, codersdk.CodeTooLarge) {
			t.Fatalf("%v", err)
		}
	})
}
