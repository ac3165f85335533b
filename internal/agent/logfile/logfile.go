// Package logfile writes log files that are rotated.
package logfile

import (
	"os"
	"path/filepath"
	"sync"
	"time"
)

// sizeLimit is the size in bytes at which a log file is rotated. (AG-07)
const sizeLimit = 5 << 20

// Writes are buffered up to a size and a delay.
const (
	bufferSize  = 32 << 10
	bufferDelay = 50 * time.Millisecond
)

// File is a log file that is rotated at sizeLimit: the content moves to one
// .old file. Write errors are ignored, because a full disk must not stop a
// workspace. A File is safe for concurrent use.
type File struct {
	// Path is the path of the file.
	Path string

	mu       sync.Mutex
	file     *os.File
	size     int64
	buffered []byte
	timer    *time.Timer
}

// New returns the log file at a path. The first write creates it and its directory.
func New(path string) *File { return &File{Path: path} }

// Write buffers p and never fails. p is written as a whole shortly afterwards.
func (f *File) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.buffered = append(f.buffered, p...)
	switch {
	case len(f.buffered) >= bufferSize:
		f.flush()
	case f.timer == nil:
		f.timer = time.AfterFunc(bufferDelay, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.flush()
		})
	}
	return len(p), nil
}

// flush writes the buffer. The caller holds mu.
func (f *File) flush() {
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	p := f.buffered
	f.buffered = f.buffered[:0]
	if len(p) == 0 {
		return
	}
	if f.file != nil && f.size+int64(len(p)) > sizeLimit {
		f.file.Close()
		f.file = nil
		_ = os.Rename(f.Path, f.Path+".old") // on failure the file keeps growing
	}
	if f.file == nil && !f.open() {
		return
	}
	n, _ := f.file.Write(p)
	f.size += int64(n)
}

// Flush writes the buffer.
func (f *File) Flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flush()
}

func (f *File) open() bool {
	file, err := os.OpenFile(f.Path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if os.IsNotExist(err) {
		if os.MkdirAll(filepath.Dir(f.Path), 0o700) != nil {
			return false
		}
		file, err = os.OpenFile(f.Path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
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
func (f *File) Close() error {
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
