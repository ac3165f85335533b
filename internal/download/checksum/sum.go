// Package checksum computes what identifies a program that the server offers for
// download, once for each version of the file.
package checksum

import (
	"compress/gzip"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// MaxSize bounds a program, in bytes. Larger files are refused.
const MaxSize = 1 << 30

// Sum identifies the uncompressed bytes of a program.
type Sum struct {
	Size   int64  // in bytes
	SHA1   string // in hexadecimal; what editors send back, not what anything trusts
	SHA256 string // in hexadecimal
}

var errLarge = fmt.Errorf("the program is larger than %d bytes", MaxSize)

// Comment is how Pack notes a Sum in the header of a gzip file.
const Comment = "coder size=%d sha1=%40s sha256=%64s"

// Noted reads what Pack noted in f and seeks back to its start. It reports
// false for a gzip file that another program wrote, and for no gzip file.
func Noted(f *os.File) (Sum, bool) {
	var s Sum
	z, err := gzip.NewReader(io.LimitReader(f, 4<<10))
	if _, seekErr := f.Seek(0, io.SeekStart); err != nil || seekErr != nil {
		return s, false
	}
	n, _ := fmt.Sscanf(z.Comment, Comment, &s.Size, &s.SHA1, &s.SHA256)
	return s, n == 3 && len(s.SHA1) == 40 && len(s.SHA256) == 64 && s.Size > 0 && s.Size <= MaxSize
}

// Compute reads all of r. A program of more than MaxSize bytes is an error.
func Compute(r io.Reader) (Sum, error) {
	one, two := sha1.New(), sha256.New()
	n, err := io.Copy(io.MultiWriter(one, two), io.LimitReader(r, MaxSize+1))
	if err != nil {
		return Sum{}, err
	}
	if n > MaxSize {
		return Sum{}, errLarge
	}
	return Sum{n, hex.EncodeToString(one.Sum(nil)), hex.EncodeToString(two.Sum(nil))}, nil
}

// SameAs reports whether the value of an If-None-Match header names the content:
// by its ETag, or as the agent does, which checks what it fetches by SHA-256.
func (s Sum) SameAs(ifNoneMatch string) bool {
	for tag := range strings.SplitSeq(ifNoneMatch, ",") {
		tag = strings.Trim(strings.TrimPrefix(strings.TrimSpace(tag), "W/"), `"`)
		switch strings.TrimSuffix(tag, "-gzip") { // the suffix is of older servers
		case s.SHA1, s.SHA256, "*":
			return true
		}
	}
	return false
}

// Sums keeps the Sum of each file for as long as the file does not change. The
// names of programs bound their number. The zero value is ready to use, by several
// goroutines at a time.
type Sums struct {
	mu    sync.Mutex
	files map[string]*fileSum
}

type fileSum struct {
	mu       sync.Mutex // held while the file is read: others of the file wait
	size     int64
	modified time.Time
	sum      Sum
}

// Of returns the Sum of f, which is at its start before and after. The first
// call for a file reads it: 48 MB take 65 ms.
func (s *Sums) Of(f *os.File, packed bool) (Sum, error) {
	st, err := f.Stat()
	if err != nil {
		return Sum{}, err
	}
	s.mu.Lock()
	e := s.files[f.Name()]
	if e == nil {
		e = &fileSum{}
		if s.files == nil {
			s.files = map[string]*fileSum{}
		}
		s.files[f.Name()] = e
	}
	s.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sum.SHA1 != "" && e.size == st.Size() && e.modified.Equal(st.ModTime()) {
		return e.sum, nil
	}
	var sum Sum
	if err = errLarge; st.Size() <= MaxSize {
		sum, err = readFile(f, packed)
	}
	if err != nil {
		return Sum{}, fmt.Errorf("%s: %w", f.Name(), err)
	}
	e.size, e.modified, e.sum = st.Size(), st.ModTime(), sum
	return sum, nil
}

// readFile computes the Sum of a file, or reads the one that Pack noted.
func readFile(f *os.File, packed bool) (Sum, error) {
	var content io.Reader = f
	if packed {
		if sum, ok := Noted(f); ok {
			return sum, nil
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			return Sum{}, err
		}
		content = z
	}
	sum, err := Compute(content)
	if err != nil {
		return Sum{}, err
	}
	_, err = f.Seek(0, io.SeekStart)
	return sum, err
}
