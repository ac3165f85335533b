package download

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/download/checksum"
)

// source is the file of a program.
type source struct {
	name     string // as it is asked for
	path     string
	packed   bool // the file is one that Pack wrote
	modified time.Time
}

// packedSuffix is the end of the name of a program that Pack wrote.
const packedSuffix = ".gz"

// dirs are the directories of programs after the administrator's: that of this
// executable, and where packages put them, beside its bin directory.
func (h *Handler) dirs() []string {
	dir := filepath.Dir(h.c.Own)
	return []string{dir, filepath.Join(filepath.Dir(dir), "share", "coder", "bin")}
}

// find returns the file of the first of names that exists. A program of the
// administrator comes first, then this executable for its own platform, so that
// no stale copy beside it is served, and then those that were installed.
func (h *Handler) find(names []string) (source, error) {
	for _, name := range names {
		if src, ok := findIn(h.c.Dir, name); ok {
			return src, nil
		}
		if name == ownName() {
			if src, ok := regular(source{name: name, path: h.c.Own}); ok {
				return src, nil
			}
		}
		for _, dir := range h.dirs() {
			if src, ok := findIn(dir, name); ok {
				return src, nil
			}
		}
	}
	return source{}, fs.ErrNotExist
}

// findIn looks for a program in a directory. A plain file wins over a packed one.
func findIn(dir, name string) (source, bool) {
	if dir == "" {
		return source{}, false
	}
	path := filepath.Join(dir, name)
	if src, ok := regular(source{name: name, path: path}); ok {
		return src, true
	}
	return regular(source{name: name, path: path + packedSuffix, packed: true})
}

// regular adds the time of modification, and reports whether the path is a
// file: to open another kind of it could block.
func regular(src source) (source, bool) {
	st, err := os.Stat(src.path)
	if err != nil || !st.Mode().IsRegular() {
		return source{}, false
	}
	src.modified = st.ModTime()
	return src, true
}

// packedCopy opens a file that Pack wrote for the very content of sum, nil when
// there is none.
func (h *Handler) packedCopy(name string, sum checksum.Sum) *os.File {
	for _, dir := range append([]string{h.c.Dir}, h.dirs()...) {
		src, ok := regular(source{path: filepath.Join(dir, name+packedSuffix)})
		if dir == "" || !ok {
			continue
		}
		f, err := os.Open(src.path)
		if err != nil {
			continue
		}
		if s, ok := checksum.Noted(f); ok && s == sum {
			return f
		}
		f.Close()
	}
	return nil
}

// ownName is the name of this executable for clients.
func ownName() string {
	name := "coder-" + runtime.GOOS + "-" + arch()
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return name
}

// arch is the architecture of this program in the words of coder_agent.
func arch() string {
	if runtime.GOARCH == "arm" {
		return "armv7"
	}
	return runtime.GOARCH
}
