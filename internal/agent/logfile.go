package agent

import (
	"os"
	"path/filepath"
	"sync"
	"time"
)

// logFileLimit is the size at which a log file is cut. (AG-07)
const logFileLimit = 5 << 20

// A file is written to when so much has come, or after so long.
const (
	logFileBuffer = 32 << 10
	logFileDelay  = 50 * time.Millisecond
)

// logFile is a file that grows to logFileLimit; then what it holds is moved
// aside, in place of what was moved before, and it begins anew. A file that
// cannot be written is passed over: a full disk must not stop a workspace. It
// is safe for concurrent use.
type logFile struct {
	path string

	mu    sync.Mutex
	file  *os.File
	size  int64
	held  []byte // not written yet
	timer *time.Timer
}

func newLogFile(path string) *logFile { return &logFile{path: path} }

// Write appends p as a whole, a moment later, and never fails.
func (f *logFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = append(f.held, p...)
	switch {
	case len(f.held) >= logFileBuffer:
		f.flush()
	case f.timer == nil:
		f.timer = time.AfterFunc(logFileDelay, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.flush()
		})
	}
	return len(p), nil
}

// flush writes what is held. The caller holds mu.
func (f *logFile) flush() {
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	p := f.held
	f.held = f.held[:0]
	if len(p) == 0 {
		return
	}
	if f.file != nil && f.size+int64(len(p)) > logFileLimit {
		f.file.Close()
		f.file = nil
		_ = os.Rename(f.path, f.path+".old") // then it grows on
	}
	if f.file == nil && !f.open() {
		return
	}
	n, _ := f.file.Write(p)
	f.size += int64(n)
}

// flushNow writes what is held.
func (f *logFile) flushNow() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flush()
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
	f.flush()
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}
