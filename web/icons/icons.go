// Package icons is the pictures that templates, apps and the dashboard name:
// icons under /icon/ and every Unicode emoji under /emojis/. build.mjs makes
// them from packages of icons into dist, which is embedded here; a binary built
// without dist answers 404, saying so. docs/icons.md lists sources and licenses.
package icons

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed all:dist
var dist embed.FS

// Paths that Handler answers; the first two with everything below them.
const (
	IconPath  = "/icon/"
	EmojiPath = "/emojis/"
	// ListPath lists the icons and the emoji, as JSON, for a picker.
	ListPath = "/icons.json"
)

// cacheControl lets browsers keep a picture for a week, and show the one they
// have for a month while they ask whether there is a newer one.
const cacheControl = "public, max-age=604800, stale-while-revalidate=2592000"

// entry is where in the archive a file is, and the tag of its content.
type entry struct {
	offset, length int
	tag            string
}

func (e *entry) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&e.offset, &e.length, &e.tag})
}

// Set is the embedded files. It is safe for concurrent use.
type Set struct {
	archive string // the files one after the other; all but PNGs are packed with gzip
	index   map[string]entry
}

// Open reads the index of the embedded files, which takes milliseconds. A
// binary built without them has an empty set.
func Open() (*Set, error) {
	packed, err := dist.ReadFile("dist/index.json.gz")
	if err != nil {
		return &Set{}, nil
	}
	archive, err := dist.ReadFile("dist/icons.bin")
	if err != nil {
		return nil, fmt.Errorf("open the embedded icons: %w", err)
	}
	index, err := unzip(packed)
	if err != nil {
		return nil, fmt.Errorf("open the embedded icons: %w", err)
	}
	s := &Set{archive: string(archive)}
	if err := json.Unmarshal(index, &s.index); err != nil {
		return nil, fmt.Errorf("read the index of the embedded icons: %w", err)
	}
	for name, e := range s.index {
		if e.offset < 0 || e.length < 0 || e.offset+e.length > len(s.archive) {
			return nil, fmt.Errorf("the index of the embedded icons and their archive differ at %s: run make build again", name)
		}
	}
	return s, nil
}

// Len returns the number of names in the set; 0 when the binary was built
// without icons.
func (s *Set) Len() int { return len(s.index) }

// ServeHTTP answers GET and HEAD for files of the set, and 404 as plain text
// for every other path.
func (s *Set) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	name := fileName(r.URL.Path)
	e, ok := s.index[name]
	switch {
	case len(s.index) == 0 && r.URL.Path == ListPath:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"icons":[],"emojis":[]}`)
	case len(s.index) == 0:
		http.Error(w, "this server was built without icons and emoji; build it with make build", http.StatusNotFound)
	case !ok:
		http.Error(w, fmt.Sprintf("not found: %.200s; %s lists the icons and emoji of this server", r.URL.Path, ListPath), http.StatusNotFound)
	default:
		s.serve(w, r, name, e)
	}
}

func (s *Set) serve(w http.ResponseWriter, r *http.Request, name string, e entry) {
	header := w.Header()
	tag := `"` + e.tag + `"`
	packed := path.Ext(name) != ".png"
	if packed {
		tag = "W/" + tag // one for both encodings
		header.Set("Vary", "Accept-Encoding")
	}
	header.Set("ETag", tag)
	header.Set("Cache-Control", cacheControl)
	header.Set("Content-Type", contentType(name))
	if sameTag(r.Header.Get("If-None-Match"), e.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	content := s.archive[e.offset : e.offset+e.length]
	if packed && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
	} else if packed {
		plain, err := unzip([]byte(content))
		if err != nil {
			http.Error(w, "this picture cannot be read", http.StatusInternalServerError)
			return
		}
		content = string(plain)
	}
	header.Set("Content-Length", fmt.Sprint(len(content)))
	if r.Method == http.MethodGet {
		io.WriteString(w, content) //nolint:errcheck // the client hung up
	}
}

// fileName returns the name that the file of a path has in the index. The
// selector fe0f, which asks for the colorful form of a character, and zeros at
// the beginning of code points make no difference.
func fileName(p string) string {
	points, ok := strings.CutPrefix(p, EmojiPath)
	if !ok {
		return strings.TrimPrefix(p, "/")
	}
	points, ext, ok := strings.Cut(points, ".")
	if !ok {
		return ""
	}
	var kept []string
	for point := range strings.SplitSeq(strings.ToLower(points), "-") {
		if point != "fe0f" {
			kept = append(kept, strings.TrimLeft(point, "0"))
		}
	}
	return "emojis/" + strings.Join(kept, "-") + "." + ext
}

func contentType(name string) string {
	switch path.Ext(name) {
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// sameTag reports whether one of the tags of an If-None-Match header is the given one.
func sameTag(header, tag string) bool {
	for have := range strings.SplitSeq(header, ",") {
		have = strings.TrimPrefix(strings.TrimSpace(have), "W/")
		if have == "*" || strings.Trim(have, `"`) == tag {
			return true
		}
	}
	return false
}

func unzip(b []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
