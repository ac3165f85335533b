// Package web is the dashboard: a single-page application in TypeScript under
// src, built by Vite into dist and embedded here, and the handler that serves
// it. The page reads and changes everything through the REST API, with the
// session cookie that scripts cannot read; the server decides
// what a user may do. A binary built without dist serves a page that says so.
package web

import (
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed all:dist
var dist embed.FS

// unbuilt is served when the binary holds no dashboard.
const unbuilt = `<!doctype html><meta charset="utf-8"><title>Coder</title>
<p>The control plane is running, but this binary was built without its dashboard.
Build it with <code>make build</code>, or use the command line.</p>`

// Config is what the pages need of the server.
type Config struct {
	// Policy returns the Content-Security-Policy of a page whose style elements
	// carry the nonce.
	Policy func(nonce string) string
	// Renderer is how terminals draw: webgl, or anything else for elements.
	Renderer string
}

// Handler serves the files of the dashboard, and its page for the paths that the
// router in src has. Any other path answers 404 as plain text, so that no program
// takes the page for an answer. It is safe for concurrent use.
func Handler(c Config) (http.Handler, error) {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		return nil, fmt.Errorf("open the embedded dashboard: %w", err)
	}
	page, err := fs.ReadFile(files, "index.html")
	if err != nil {
		page = []byte(unbuilt)
	}
	return &handler{Config: c, files: files, page: string(page), assets: map[string]*asset{}}, nil
}

type handler struct {
	Config
	files fs.FS
	page  string

	mu     sync.Mutex
	assets map[string]*asset // by path, read when first asked for
}

// asset is one file: as it is, and packed as the build did it.
type asset struct {
	plain     []byte
	packed    map[string][]byte // by the encoding's name
	kind, tag string
}

// packings are the encodings that the build packs files in, the tighter first,
// and what the names of those files end in.
var packings = []struct{ encoding, end string }{{"br", ".br"}, {"gzip", ".gz"}}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	a := h.asset(name)
	switch {
	case a == nil && !isPage(r.URL.Path) && isNavigation(r):
		h.servePage(w, http.StatusNotFound) // it states this, with a way back
	case a == nil && !isPage(r.URL.Path): // also an asset that a page from before an upgrade asks for
		http.NotFound(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	case a != nil:
		h.serveAsset(w, r, name, a)
	default:
		h.servePage(w, http.StatusOK)
	}
}

// isNavigation reports whether a browser asks for what it shows in a tab. Browsers
// say so over HTTPS and on localhost; programs never do.
func isNavigation(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Dest") == "document"
}

func (h *handler) servePage(w http.ResponseWriter, status int) {
	nonce := rand.Text()
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", h.Policy(nonce))
	w.WriteHeader(status)
	fmt.Fprint(
		w,
		strings.NewReplacer(`content="NONCE"`, `content="`+nonce+`"`, `content="RENDERER"`, `content="`+html.EscapeString(h.Renderer)+`"`).Replace(h.page),
	)
}

func (h *handler) serveAsset(w http.ResponseWriter, r *http.Request, name string, a *asset) {
	header := w.Header()
	header.Set("Content-Type", a.kind)
	header.Set("ETag", a.tag)
	header.Set("Vary", "Accept-Encoding")
	if strings.HasPrefix(name, "assets/") { // their names hold a hash of their content
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		header.Set("Cache-Control", "no-cache")
	}
	if r.Header.Get("If-None-Match") == a.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	content := a.plain
	for _, p := range packings {
		if packed := a.packed[p.encoding]; packed != nil && accepts(r, p.encoding) {
			header.Set("Content-Encoding", p.encoding)
			content = packed
			break
		}
	}
	header.Set("Content-Length", fmt.Sprint(len(content)))
	if r.Method == http.MethodGet {
		w.Write(content) //nolint:errcheck // the browser hung up
	}
}

// accepts reports whether the answer to a request may be in the encoding.
func accepts(r *http.Request, encoding string) bool {
	for word := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(word, " ", ""), ";")
		if strings.EqualFold(name, encoding) {
			return strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || weight == ""
		}
	}
	return false
}

// asset returns the file of that name, or nil. The names are those of the
// embedded files, so the cache is bounded.
func (h *handler) asset(name string) *asset {
	if name == "" || name == "index.html" || strings.HasPrefix(path.Base(name), ".") {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if a := h.assets[name]; a != nil {
		return a
	}
	plain, err := fs.ReadFile(h.files, name)
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(plain)
	a := &asset{plain: plain, packed: map[string][]byte{}, kind: contentType(name)}
	a.tag = `W/"` + hex.EncodeToString(sum[:8]) + `"` // weak: one for all encodings
	for _, p := range packings {
		if packed, err := fs.ReadFile(h.files, name+p.end); err == nil {
			a.packed[p.encoding] = packed
		}
	}
	h.assets[name] = a
	return a
}

// contentType returns the media type of a file. mime knows that of fonts on some systems only.
func contentType(name string) string {
	if path.Ext(name) == ".woff2" {
		return "font/woff2"
	}
	return mime.TypeByExtension(path.Ext(name))
}
