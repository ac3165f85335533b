package download

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/download/checksum"
)

// Pack compresses the program at path from into the file to, whole or not at
// all, with its Sum in the header, so that a server need not read all of it. The
// same input makes the same output.
func Pack(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	sum, err := checksum.Compute(in)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(to), ".pack-*")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	if err := compress(out, in, sum); err != nil {
		return fmt.Errorf("compress %s: %w", from, err)
	}
	if err := errors.Join(out.Chmod(0o644), out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), to)
}

// compress writes from to to. The default level is three times as fast as the
// best one, and 0.4 % larger.
func compress(to io.Writer, from io.Reader, sum checksum.Sum) error {
	z := gzip.NewWriter(to)
	z.Comment = fmt.Sprintf(checksum.Comment, sum.Size, sum.SHA1, sum.SHA256)
	if _, err := io.Copy(z, from); err != nil {
		return err
	}
	return z.Close()
}

// packing is a compression that runs, into a file that others read meanwhile.
type packing struct {
	path string // of what it will be
	tmp  *os.File

	mu      sync.Mutex
	written int64
	done    bool
	err     error
	changed chan struct{} // closed, and replaced, at each change of the above
}

// Write appends to the file and wakes those who follow it.
func (p *packing) Write(b []byte) (int, error) {
	n, err := p.tmp.Write(b)
	p.update(func() { p.written += int64(n) })
	return n, err
}

func (p *packing) update(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	close(p.changed)
	p.changed = make(chan struct{})
}

// follow answers with the file while it grows. f is a handle of its own. When
// the compression fails the connection is cut, as the answer has started.
func (p *packing) follow(w http.ResponseWriter, r *http.Request, f *os.File) {
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	flush := http.NewResponseController(w).Flush
	for at := int64(0); ; {
		p.mu.Lock()
		written, done, err, changed := p.written, p.done, p.err, p.changed
		p.mu.Unlock()
		n, copyErr := io.Copy(w, io.NewSectionReader(f, at, written-at))
		at += n
		switch {
		case copyErr != nil:
			return // the client went away
		case err != nil || done && at < written:
			panic(http.ErrAbortHandler)
		case done:
			return
		case at < written:
			continue
		}
		if flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// packed opens the compressed copy of a plain program, and returns how far it is
// when it is still being written. Without a copy it starts writing one to the
// cache. It returns nil when another program is being compressed, as one at a
// time is enough of the processors, and when the cache cannot be written to.
func (h *Handler) packed(src source, sum checksum.Sum) (*os.File, *packing) {
	if f := h.packedCopy(src.name, sum); f != nil {
		return f, nil
	}
	path := filepath.Join(h.c.Cache, src.name+"-"+sum.SHA256+packedSuffix)
	h.mu.Lock()
	defer h.mu.Unlock()
	if f, err := os.Open(path); err == nil {
		return f, nil
	}
	if h.current == nil && h.ctx.Err() == nil {
		if err := h.start(src, sum, path); err != nil {
			if !h.failed {
				h.c.Log.Warn("programs are served uncompressed: the cache cannot be written to", "dir", h.c.Cache, "err", err)
			}
			h.failed = true
			return nil, nil
		}
	}
	if h.current == nil || h.current.path != path {
		return nil, nil
	}
	f, err := os.Open(h.current.tmp.Name())
	if err != nil {
		return nil, nil
	}
	return f, h.current
}

// start begins to compress a program; h.mu is held.
func (h *Handler) start(src source, sum checksum.Sum, path string) error {
	in, err := os.Open(src.path)
	if err != nil {
		return err
	}
	if err = os.MkdirAll(h.c.Cache, 0o755); err != nil {
		return errors.Join(err, in.Close())
	}
	tmp, err := os.CreateTemp(h.c.Cache, src.name+"-*.new")
	if err != nil {
		return errors.Join(err, in.Close())
	}
	p := &packing{path: path, tmp: tmp, changed: make(chan struct{})}
	h.current = p
	h.running.Go(func() {
		defer in.Close()
		h.finish(p, src.name, pack(h.ctx, p, in, sum))
	})
	return nil
}

// pack compresses in as p, until ctx ends. What it reads must be what sum is of:
// another process may have put a file there meanwhile.
func pack(ctx context.Context, p *packing, in io.Reader, sum checksum.Sum) error {
	read, write := io.Pipe()
	hashed := make(chan error, 1)
	go func() {
		got, err := checksum.Compute(read)
		if err == nil && got != sum {
			err = errors.New("the program changed while it was compressed")
		}
		read.CloseWithError(err)
		hashed <- err
	}()
	out := bufio.NewWriterSize(p, 32<<10)
	err := compress(out, io.TeeReader(untilDone{ctx, in}, write), sum)
	write.CloseWithError(err)
	return errors.Join(err, <-hashed, out.Flush())
}

// finish puts the compressed file into its place and removes those of former
// contents.
func (h *Handler) finish(p *packing, name string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.current = nil
	if err = errors.Join(err, p.tmp.Close()); err == nil {
		err = os.Rename(p.tmp.Name(), p.path)
	}
	p.update(func() { p.done, p.err = true, err })
	if err != nil {
		os.Remove(p.tmp.Name())
		if h.ctx.Err() == nil {
			h.c.Log.Error("a program cannot be compressed", "name", name, "err", err)
		}
		return
	}
	old, _ := filepath.Glob(filepath.Join(h.c.Cache, name+"-*"+packedSuffix)) // the pattern is well formed
	for _, o := range old {
		if o != p.path && len(o) == len(p.path) { // names of others begin alike and go on
			os.Remove(o)
		}
	}
}

// untilDone reads until its context ends.
type untilDone struct {
	ctx context.Context
	io.Reader
}

func (u untilDone) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(b)
}

// abandoned is the age after which a file that was being written is one that a
// process which crashed left behind.
const abandoned = time.Hour

// Start removes what a crash left in the cache.
func (h *Handler) Start(context.Context) error {
	left, _ := filepath.Glob(filepath.Join(h.c.Cache, "coder-*.new")) // the pattern is well formed
	for _, path := range left {
		if st, err := os.Stat(path); err == nil && time.Since(st.ModTime()) > abandoned {
			os.Remove(path)
		}
	}
	return nil
}

// Stop ends a compression that runs, and waits for that or for ctx.
func (h *Handler) Stop(ctx context.Context) error {
	h.cancel()
	done := make(chan struct{})
	go func() { h.running.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
