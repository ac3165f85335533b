package agent

import (
	"os"
	"path/filepath"
	"sync"
)

// logFileLimit is the size at which a log file is cut. (AG-07)
const logFileLimit = 5 << 20

// logFile is a file that grows to logFileLimit; then what it holds is moved
// aside, in place of what was moved before, and it begins anew. A file that
// cannot be written is passed over: a full disk must not stop a workspace. It
// is safe for concurrent use.
type logFile struct {
	path string

	mu   sync.Mutex
	file *os.File
	size int64
}

func newLogFile(path string) *logFile { return &logFile{path: path} }

// Write appends p as a whole and never fails.
func (f *logFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file != nil && f.size+int64(len(p)) > logFileLimit {
		f.file.Close()
		f.file = nil
		_ = os.Rename(f.path, f.path+".old") // then it grows on
	}
	if f.file == nil && !f.open() {
		return len(p), nil
	}
	n, _ := f.file.Write(p)
	f.size += int64(n)
	return len(p), nil
}

func (f *logFile) open() bool {
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if os.IsNotExist(err) {
		if os.MkdirAll(filepath.Dir(f.path), 0o700) != nil {
			return false
		}
		file, err = os.OpenFile(f.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	}
	if err != nil {
		return false
	}
	f.file, f.size = file, 0
	if fi, err := file.Stat(); err == nil {
		f.size = fi.Size()
	}
	return true
}

// Close closes the file; a later Write opens it again.
func (f *logFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}
