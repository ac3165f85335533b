// Package download serves the programs that clients and workspaces download
// from a server, below /bin/, and /install.sh, which installs the command line.
//
// The names are coder-<os>-<arch> for the whole program and
// coder-agent-<os>-<arch> for the agent, with .exe for windows. A program is a
// plain file, or a file with the suffix .gz that Pack wrote. Each program also
// has <name>.sha256, and <name>.asc where a signature lies beside it.
//
// The ETag is the quoted SHA-1 of the uncompressed bytes in hexadecimal, the
// same for every encoding: editors hash their local copy and send that back.
package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/seed-2a7f8fe7/coder/internal/download/checksum"
)

// Config is what a Handler needs to know.
type Config struct {
	// Dir is the administrator's directory of programs, which win over all
	// others. It may be absent.
	Dir string
	// Cache is the directory for the compressed copies that a Handler writes. It
	// is created when it is needed; without it, answers are not compressed.
	Cache string
	// Own is the path of this executable; "" is os.Executable.
	Own string
	Log *slog.Logger // required
}

// Handler serves /bin/. It is a lifecycle.Service: Stop ends a compression that
// runs. It is safe for concurrent use.
type Handler struct {
	c    Config
	sums checksum.Sums

	mu      sync.Mutex
	current *packing // the one compression that may run
	failed  bool     // the cache was found to be unusable, and logged
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// New returns a Handler. It fails when the path of this executable is unknown.
func New(c Config) (*Handler, error) {
	if c.Own == "" {
		own, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find this executable: %w", err)
		}
		c.Own = own
	}
	h := &Handler{c: c}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h, nil
}

// fileName is the last part of a path below /bin/: a program, and what of it.
var fileName = regexp.MustCompile(`^(coder(?:-agent)?-(?:linux-(?:amd64|arm64|armv7)|darwin-(?:amd64|arm64)|windows-(?:amd64|arm64)\.exe))(\.asc|\.sha256)?$`)

// ServeHTTP answers GET and HEAD with a program, its checksum or its signature.
// With the query for=agent the answer is the agent alone where there is one: it
// is a third of the size, and the whole program is an agent too.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "Only downloads are supported here: use GET or HEAD.", http.StatusMethodNotAllowed)
		return
	}
	parts := fileName.FindStringSubmatch(strings.TrimPrefix(r.URL.Path, "/bin/"))
	if parts == nil {
		http.Error(w,
			"No such program: names are coder-<os>-<arch> and coder-agent-<os>-<arch>, such as coder-linux-amd64, with .exe for windows.", http.StatusNotFound)
		return
	}
	name, suffix := parts[1], parts[2]
	names := []string{name}
	if agent := "coder-agent" + strings.TrimPrefix(name, "coder"); r.URL.Query().Get("for") == "agent" && !strings.HasPrefix(name, "coder-agent-") {
		names = []string{agent, name}
	}
	src, err := h.find(names)
	if err == nil {
		switch suffix {
		case ".asc":
			err = h.serveSignature(w, r, src)
		case ".sha256":
			err = h.serveChecksum(w, src)
		default:
			err = h.serve(w, r, src)
		}
	}
	switch {
	case err == nil:
	case errors.Is(err, errNoSignature):
		http.Error(w, fmt.Sprintf("There is no signature of %s on this server: no file %s.asc lies beside the program.", name, name), http.StatusNotFound)
	case errors.Is(err, fs.ErrNotExist):
		http.Error(w, h.missing(name), http.StatusNotFound)
	default:
		h.c.Log.Error("serving a program failed", "name", name, "err", err)
		http.Error(w, "The program cannot be read; the server's log has the cause.", http.StatusInternalServerError)
	}
}

// missing is the message for a program that this server does not have.
func (h *Handler) missing(name string) string {
	target := "clis"
	if strings.HasPrefix(name, "coder-agent-") {
		target = "agents"
	}
	return fmt.Sprintf("This server has no %s. The packages and the image contain every platform; a server from source has its own, coder-%s-%s. "+
		"To add this one, run `make %s` in the source tree and put the file into %s or beside the server's executable.", name, runtime.GOOS, arch(), target, h.c.Dir)
}

// open opens a program's file and returns its checksums. The caller closes the
// file, unless there is an error.
func (h *Handler) open(src source) (*os.File, checksum.Sum, error) {
	f, err := os.Open(src.path)
	if err != nil {
		return nil, checksum.Sum{}, err
	}
	sum, err := h.sums.Of(f, src.packed)
	if err != nil {
		f.Close()
		return nil, checksum.Sum{}, err
	}
	return f, sum, nil
}

// serve answers with a program. An error comes before any answer.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, src source) error {
	f, sum, err := h.open(src)
	if err != nil {
		return err
	}
	defer f.Close()
	head := w.Header()
	head.Set("Content-Type", "application/octet-stream")
	head.Set("ETag", `"`+sum.SHA1+`"`)
	head.Set("X-Coder-SHA256", sum.SHA256)
	head.Set("X-Original-Content-Length", strconv.FormatInt(sum.Size, 10))
	head.Set("Vary", "Accept-Encoding")
	if sum.SameAs(r.Header.Get("If-None-Match")) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if r.Header.Get("If-None-Match") != "" { // evaluated; it wins over the time
		r = r.Clone(r.Context())
		r.Header.Del("If-None-Match")
		r.Header.Del("If-Modified-Since")
	}
	if acceptsGzip(r) && h.serveGzip(w, r, src, f, sum) {
		return nil
	}
	if !src.packed {
		http.ServeContent(w, r, "", src.modified, f)
		return nil
	}
	// Each further range would be unpacked from the start: one is enough.
	if strings.Contains(r.Header.Get("Range"), ",") {
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	http.ServeContent(w, r, "", src.modified, &unpacked{file: f, size: sum.Size})
	return nil
}

// serveGzip answers with the compressed program, and reports false without an
// answer when there is none and none can be written now.
func (h *Handler) serveGzip(w http.ResponseWriter, r *http.Request, src source, f *os.File, sum checksum.Sum) bool {
	packed, progress := f, (*packing)(nil)
	if !src.packed {
		if packed, progress = h.packed(src, sum); packed == nil {
			return false
		}
		defer packed.Close()
	}
	w.Header().Set("Content-Encoding", "gzip")
	if progress != nil {
		progress.follow(w, r, packed)
		return true
	}
	st, err := packed.Stat()
	if err != nil {
		w.Header().Del("Content-Encoding")
		return false
	}
	w.Header().Set("Content-Length", strconv.FormatInt(st.Size(), 10))
	http.ServeContent(w, r, "", src.modified, packed)
	return true
}

// serveChecksum answers with a line that `sha256sum --check` reads.
func (h *Handler) serveChecksum(w http.ResponseWriter, src source) error {
	f, sum, err := h.open(src)
	if err != nil {
		return err
	}
	defer f.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = fmt.Fprintf(w, "%s  %s\n", sum.SHA256, src.name) // the client went away
	return nil
}

// maxSignature bounds a signature file, in bytes. OpenPGP ones have below 2 KiB.
const maxSignature = 64 << 10

var errNoSignature = errors.New("no signature")

// serveSignature answers with the file <name>.asc in the directory of the program.
func (h *Handler) serveSignature(w http.ResponseWriter, r *http.Request, src source) error {
	f, err := os.Open(filepath.Join(filepath.Dir(src.path), src.name+".asc"))
	if errors.Is(err, fs.ErrNotExist) {
		return errNoSignature
	}
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSignature+1))
	if err != nil {
		return err
	}
	if len(text) > maxSignature {
		return fmt.Errorf("%s is larger than %d bytes, which no signature is", f.Name(), maxSignature)
	}
	w.Header().Set("Content-Type", "application/pgp-signature")
	http.ServeContent(w, r, "", src.modified, strings.NewReader(string(text)))
	return nil
}

// acceptsGzip reports whether an answer may be compressed. A range is a part of
// the program itself, so that an answer to one is not.
func acceptsGzip(r *http.Request) bool {
	return r.Header.Get("Range") == "" && slices.ContainsFunc(strings.Split(r.Header.Get("Accept-Encoding"), ","), func(s string) bool {
		name, weight, _ := strings.Cut(strings.ReplaceAll(s, " ", ""), ";q=")
		return strings.EqualFold(name, "gzip") && (weight == "" || strings.Trim(weight, "0.") != "")
	})
}
