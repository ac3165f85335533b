package server

import (
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
	"strings"
	"sync"
	"time"
)

// binaries serves /bin/coder-<os>-<arch>[.exe]: this very executable for its own
// platform, and cross-built ones from a directory. Agents and command lines
// download it, so that they are of the server's version. (CP-22)
type binaries struct {
	dir string // of cross-built ones; may be absent
	own string // this executable

	mu   sync.Mutex
	sums map[string]sum
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

// ServeHTTP answers with the file, its SHA-256 as ETag and in
// X-Coder-SHA256, ranges and conditional requests.
func (b *binaries) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/bin/")
	if !binaryName.MatchString(name) {
		http.Error(w, "No such binary: names are coder-<os>-<arch>, such as coder-linux-amd64, with .exe for windows.", http.StatusNotFound)
		return
	}
	f, err := b.open(name)
	if errors.Is(err, os.ErrNotExist) {
		http.Error(w, fmt.Sprintf("This server has no %s. It serves its own platform, coder-%s-%s, and what its operator put into %s.", name, runtime.GOOS, runtime.GOARCH, b.dir), http.StatusNotFound)
		return
	}
	if err != nil {
		http.Error(w, "The binary cannot be read.", http.StatusInternalServerError)
		return
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		http.Error(w, "The binary cannot be read.", http.StatusInternalServerError)
		return
	}
	hash, err := b.sum(name, f, st)
	if err != nil {
		http.Error(w, "The binary cannot be read.", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("ETag", `"`+hash+`"`)
	h.Set("X-Coder-SHA256", hash)
	http.ServeContent(w, r, "", st.ModTime(), f)
}

func (b *binaries) open(name string) (*os.File, error) {
	if f, err := os.Open(filepath.Join(b.dir, name)); err == nil {
		return f, nil
	}
	if strings.TrimSuffix(name, ".exe") == "coder-"+runtime.GOOS+"-"+runtime.GOARCH {
		return os.Open(b.own)
	}
	return nil, os.ErrNotExist
}

// sum hashes a file once for as long as it does not change.
func (b *binaries) sum(name string, f *os.File, st os.FileInfo) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s, ok := b.sums[name]; ok && s.size == st.Size() && s.modified.Equal(st.ModTime()) {
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
	b.sums[name] = s
	return s.hex, nil
}
