package remote

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

func TestSwiftPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	in, out := reopenPipe(r, os.O_RDONLY), reopenPipe(w, os.O_WRONLY)
	if in == r || out == w {
		t.Fatal("a pipe was not opened again")
	}
	defer in.Close()
	// It buffers more than a pipe does by default.
	if err := out.SetWriteDeadline(time.Now().Add(testwait.Limit)); err != nil {
		t.Fatal("the pipe waits on a thread: ", err)
	}
	sent := bytes.Repeat([]byte("0123456789abcdef"), 16<<10)
	if n, err := out.Write(sent); err != nil {
		t.Fatalf("the pipe took %d bytes of %d: %v", n, len(sent), err)
	}
	out.Close()
	w.Close()
	if came, err := io.ReadAll(in); err != nil || !bytes.Equal(came, sent) {
		t.Errorf("%d bytes came of %d: %v", len(came), len(sent), err)
	}

	plain, err := os.Create(filepath.Join(t.TempDir(), "plain"))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if reopenPipe(plain, os.O_WRONLY) != plain {
		t.Error("a regular file was opened again")
	}
}
