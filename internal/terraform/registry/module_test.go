package registry

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestParseSource(t *testing.T) {
	for text, want := range map[string]string{
		"git::https://github.com/acme/vpc?ref=v1.0.0":                      "https://github.com/acme/vpc/archive/v1.0.0.tar.gz *",
		"git::https://github.com/acme/vpc.git":                             "https://github.com/acme/vpc/archive/HEAD.tar.gz *",
		"git::https://github.com/acme/all//modules/vpc?ref=release/vpc/v1": "https://github.com/acme/all/archive/release/vpc/v1.tar.gz */modules/vpc",
		"github.com/acme/vpc//a?ref=1":                                     "https://github.com/acme/vpc/archive/1.tar.gz */a",
		"https://example.com/vpc.tgz?token=x":                              "https://example.com/vpc.tgz?token=x ",
		"https://example.com/vpc.zip":                                      "https://example.com/vpc.zip zip ",
		"https://example.com/get//*/inner?archive=tar.gz&x=1":              "https://example.com/get?x=1 */inner",
		"https://example.com/a//../../b?archive=zip":                       "https://example.com/a zip b",
		"https://example.com/vpc":                                          "",
		"https://example.com/vpc.zip?checksum=md5:x":                       "",
		"http://example.com/vpc.zip":                                       "",
		"https://user:password@example.com/vpc.zip":                        "",
		"git::https://git.example.com/acme/vpc":                            "",
		"git::ssh://git@github.com/acme/vpc":                               "",
		"git::https://github.com/acme/vpc/more?ref=1":                      "",
		"./vpc": "",
		"":      "",
		"s3::https://s3.amazonaws.com/bucket/vpc.zip": "",
		"https://%zz": "",
		"git::https://github.com/acme/vpc?ref=../../../other/repository/archive": "",
	} {
		s, ok := parseSource(text)
		got := ""
		if ok {
			got = s.at.String() + " "
			if s.zipped {
				got += "zip "
			}
			got += s.dir
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// entry is a file of an archive, or a symbolic link to its text if it starts with ->.
type entry struct{ name, text string }

func tarOf(t *testing.T, entries []entry) []byte {
	t.Helper()
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	w := tar.NewWriter(g)
	for _, e := range entries {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: 0o644, Size: int64(len(e.text))}
		if link, ok := strings.CutPrefix(e.text, "->"); ok {
			h = &tar.Header{Typeflag: tar.TypeSymlink, Name: e.name, Linkname: link, Mode: 0o777}
		}
		must(t, w.WriteHeader(h))
		if h.Size > 0 {
			_, err := io.WriteString(w, e.text)
			must(t, err)
		}
	}
	must(t, w.Close())
	must(t, g.Close())
	return b.Bytes()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestUnpack compares the files of a module with those that its packed archive has.
func TestUnpack(t *testing.T) {
	archive := tarOf(t, []entry{
		{"pax_global_header", "x"},
		{"repo-1/README.md", "top"},
		{"repo-1/modules/vpc/main.tf", "module \"inner\" {\n  source = \"./inner\"\n}"},
		{"repo-1/modules/vpc/inner/main.tf", "file(\"../data\")"},
		{"repo-1/modules/vpc/data", ""},
		{"repo-1/modules/vpc/link", "->inner/main.tf"},
		{"repo-1/modules/vpc/again", "->link"},
		{"repo-1/modules/vpc/outside", "->../../README.md"},
		{"repo-1/modules/vpc/circle", "->circle"},
		{"repo-1/modules/other/main.tf", "source = \"../vpc\""},
		{"repo-2/modules/vpc/more.tf", "a second directory"},
		{"../../repo-1/modules/vpc/above.tf", "x"},
	})
	const wanted = "above.tf=x|again=file(\"../data\")|data=|inner/main.tf=file(\"../data\")|link=file(\"../data\")|main.tf=module \"inner\" {\n  source = \"./inner\"\n}"
	var packs [][]byte
	for range 2 {
		files, err := source{dir: "*/modules/vpc"}.unpack(bytes.NewReader(archive))
		must(t, err)
		packed, err := files.pack()
		must(t, err)
		packs = append(packs, packed)
	}
	if !bytes.Equal(packs[0], packs[1]) {
		t.Error("the same files are two archives")
	}
	got, err := source{zipped: true}.unpack(bytes.NewReader(packs[0]))
	must(t, err)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(got)) {
		list = append(list, name+"="+string(got[name].data))
	}
	if s := strings.Join(list, "|"); s != wanted {
		t.Errorf("got\n%s\nwant\n%s", s, wanted)
	}
}

func TestUnpackRefuses(t *testing.T) {
	var zipped bytes.Buffer
	z := zip.NewWriter(&zipped)
	w, err := z.Create("other/main.tf")
	must(t, err)
	_, err = io.WriteString(w, "x")
	must(t, err)
	must(t, z.Close())
	for name, c := range map[string]struct {
		source
		archive []byte
		why     string
	}{
		"no archive":         {source{}, []byte("<html>"), "cannot be read"},
		"no zip":             {source{zipped: true}, []byte("<html>"), "cannot be read"},
		"a part of a tar":    {source{}, tarOf(t, []entry{{"main.tf", strings.Repeat("x", 1<<16)}})[:60], "cannot be read"},
		"another directory":  {source{zipped: true, dir: "vpc"}, zipped.Bytes(), `no files in the directory "vpc"`},
		"a pattern":          {source{dir: "["}, tarOf(t, []entry{{"a/main.tf", "x"}}), "no files in the directory"},
		"a path outside":     {source{dir: "*/vpc"}, tarOf(t, []entry{{"r/vpc/main.tf", `source = "../other"`}}), "main.tf uses a path outside of the module"},
		"a path far outside": {source{dir: "*/vpc"}, tarOf(t, []entry{{"r/vpc/in/main.tf", `source = "../../other"`}}), "uses a path outside"},
	} {
		if _, err := c.unpack(bytes.NewReader(c.archive)); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
