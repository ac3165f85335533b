package tunnel

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/uuid"
)

// FuzzHeader parses arbitrary first lines of streams.
func FuzzHeader(f *testing.F) {
	f.Add([]byte("ssh\n"))
	f.Add([]byte("tcp localhost:8080\nGET / HTTP/1.1"))
	f.Add([]byte("\n"))
	f.Add([]byte(" x\n"))
	f.Add(bytes.Repeat([]byte("a"), 2*maxLine))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		line, err := readLine(iotest.OneByteReader(r))
		if err != nil {
			if len(b) >= maxLine && errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatal("a long line was read to its end")
			}
			return
		}
		if strings.Contains(line, "\n") || len(line) >= maxLine {
			t.Fatalf("line %q", line)
		}
		if rest := len(b) - len(line) - 1; r.Len() != rest {
			t.Fatalf("%d bytes are left of %d", r.Len(), rest)
		}
		kind, arg, err := parseHeader(line)
		if err != nil {
			return
		}
		again, err := formatHeader(kind, arg)
		if err != nil {
			t.Fatalf("%q is read but not written: %v", line, err)
		}
		if k, a, err := parseHeader(strings.TrimSuffix(string(again), "\n")); err != nil || k != kind || a != arg {
			t.Fatalf("%q became %q", line, again)
		}
	})
}

// FuzzStatus checks that any error reaches the client as one line.
func FuzzStatus(f *testing.F) {
	f.Add("connection refused")
	f.Add("two\nlines\x00\xff")
	f.Add(strings.Repeat("é", maxLine))
	f.Fuzz(func(t *testing.T, text string) {
		line, err := readLine(bytes.NewReader(formatStatus(errors.New(text))))
		if err != nil {
			t.Fatal(err)
		}
		if parseStatus(line) == nil {
			t.Fatalf("an error became %q", line)
		}
	})
}

// FuzzGrant parses arbitrary URIs of certificates.
func FuzzGrant(f *testing.F) {
	f.Add(Grant{UserID: uuid.New(), WorkspaceID: uuid.New(), AgentID: uuid.New(), Actions: []string{KindSSH, KindTCP}}.uri().String())
	f.Add("coder://tunnel?user=x")
	f.Fuzz(func(t *testing.T, s string) {
		u, err := url.Parse(s)
		if err != nil {
			return
		}
		g, err := parseGrant(u)
		if err != nil {
			return
		}
		again, err := parseGrant(g.uri())
		if err != nil || again.AgentID != g.AgentID || strings.Join(again.Actions, ",") != strings.Join(g.Actions, ",") {
			t.Fatalf("%q became %+v, then %+v (%v)", s, g, again, err)
		}
	})
}
