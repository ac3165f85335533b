package server

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// binaries serves /bin/coder-<os>-<arch>[.exe]: this very executable for its own
// platform, and cross-built ones from the directory dir or from beside this
// executable. Command lines and editors' plug-ins download it, so that they are
// of the server's version. With the query for=agent the answer is the agent
// alone, coder-agent-<os>-<arch>[.exe], an eighth of the size, where there is
// one; servers that know no such query answer with the whole, which is an agent
// too. Who accepts gzip gets it, compressed once and kept in dir. (CP-22, AG-01)
type binaries struct {
	dir string // of cross-built ones; may be absent
	own string // this executable

	mu      sync.Mutex
	sums    map[string]sum
	packing sync.Mutex // one compression at a time: each takes seconds of a processor
}

type sum struct {
	size     int64
	modified time.Time
	hex      string
}

var binaryName = regexp.MustCompile(`^coder-(linux|darwin|windows)-(amd64|arm64|armv7)(\.exe)?$`)

func newBinaries(dir string) (*binaries, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this executable: %w", err)
	}
	return &binaries{dir: dir, own: own, sums: map[string]sum{}}, nil
}

// ServeHTTP answers with the file, the SHA-256 of its content as ETag and in
// X-Coder-SHA256, ranges and conditional requests.
func (b *binaries) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/bin/")
	if !binaryName.MatchString(name) {
		http.Error(w, "No such binary: names are coder-<os>-<arch>, such as coder-linux-amd64, with .exe for windows.", http.StatusNotFound)
		return
	}
	f, err := b.open(name, r.URL.Query().Get("for") == "agent")
	if errors.Is(err, os.ErrNotExist) {
		http.Error(w, fmt.Sprintf("This server has no %s. It serves its own platform, coder-%s-%s, and what its operator put into %s or beside its executable.", name, runtime.GOOS, runtime.GOARCH, b.dir), http.StatusNotFound)
		return
	}
	if err == nil {
		defer f.Close()
		err = b.serve(w, r, f)
	}
	if err != nil {
		http.Error(w, "The binary cannot be read.", http.StatusInternalServerError)
	}
}

// serve answers with f; an error comes before any answer.
func (b *binaries) serve(w http.ResponseWriter, r *http.Request, f *os.File) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	hash, err := b.sum(f, st)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("X-Coder-SHA256", hash)
	h.Set("Vary", "Accept-Encoding")
	if acceptsGzip(r) {
		packed, err := b.packed(f, hash)
		if err == nil {
			defer packed.Close()
			h.Set("Content-Encoding", "gzip")
			h.Set("ETag", `"`+hash+`-gzip"`)
			http.ServeContent(w, r, "", st.ModTime(), packed)
			return nil
		}
		// There is no place to keep it: plain it is.
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	h.Set("ETag", `"`+hash+`"`)
	http.ServeContent(w, r, "", st.ModTime(), f)
	return nil
}

// open gives the file of a name, or that of the agent alone if there is one.
func (b *binaries) open(name string, agent bool) (*os.File, error) {
	names := []string{name}
	if agent {
		names = []string{"coder-agent" + strings.TrimPrefix(name, "coder"), name}
	}
	for _, n := range names {
		for _, dir := range []string{b.dir, filepath.Dir(b.own)} {
			if f, err := os.Open(filepath.Join(dir, n)); err == nil {
				return f, nil
			}
		}
	}
	if strings.TrimSuffix(name, ".exe") == "coder-"+runtime.GOOS+"-"+runtime.GOARCH {
		return os.Open(b.own)
	}
	return nil, os.ErrNotExist
}

// sum hashes a file once for as long as it does not change.
func (b *binaries) sum(f *os.File, st os.FileInfo) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s, ok := b.sums[f.Name()]; ok && s.size == st.Size() && s.modified.Equal(st.ModTime()) {
		return s.hex, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	s := sum{st.Size(), st.ModTime(), hex.EncodeToString(h.Sum(nil))}
	b.sums[f.Name()] = s
	return s.hex, nil
}

// acceptsGzip says whether an answer may be compressed. Ranges are of what is
// sent, so who asks for one means the file itself.
func acceptsGzip(r *http.Request) bool {
	return r.Header.Get("Range") == "" && slices.ContainsFunc(strings.Split(r.Header.Get("Accept-Encoding"), ","), func(s string) bool {
		name, weight, _ := strings.Cut(strings.ReplaceAll(s, " ", ""), ";q=")
		return strings.EqualFold(name, "gzip") && (weight == "" || strings.Trim(weight, "0.") != "")
	})
}

// packed gives f, whose hash is given, compressed: from the directory of
// compressed ones, where it is put when it is not there.
func (b *binaries) packed(f *os.File, hash string) (*os.File, error) {
	dir := filepath.Join(b.dir, "gzip")
	prefix := filepath.Base(f.Name()) + "-"
	path := filepath.Join(dir, prefix+hash+".gz")
	if p, err := os.Open(path); err == nil {
		return p, nil
	}
	b.packing.Lock()
	defer b.packing.Unlock()
	if p, err := os.Open(path); err == nil {
		return p, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	old, _ := filepath.Glob(filepath.Join(dir, prefix+"*.gz")) // of a former content; the pattern is well formed
	tmp, err := os.CreateTemp(dir, prefix+"*.new")
	if err != nil {
		return nil, err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	if err := pack(tmp, f); err != nil {
		return nil, err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return nil, err
	}
	for _, o := range old {
		if o != path && len(o) == len(path) { // others begin alike and go on
			os.Remove(o)
		}
	}
	return os.Open(path)
}

func pack(to io.Writer, from io.Reader) error {
	z, err := gzip.NewWriterLevel(to, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := io.Copy(z, from); err != nil {
		return err
	}
	return z.Close()
}
