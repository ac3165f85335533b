package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const source = `// Package a does it.
package a

//go:generate true
var c = Command{
	Short: "Create a workspace.", // why
	Options: []*Option{option.Bool(&x, "yes", "Answer " +
		"yes.")},
}

// f returns one.
//
//	code is left out
func f() int { return 1 } /* a block
of two lines */

func g() error {
	return errors.Join(errors.New("no name"), Invalid("field", "too long;"+
		" shorten it"), fmt.Errorf("read %s: %w", "a file", list.New("nothing")), &Error{Code: "x", Message: "no room"})
}
`

// TestExtract requires that comments and help keep their lines.
func TestExtract(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.go")
	if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]map[int]string{
		"comments": {1: "Package a does it.", 6: "why", 11: "f returns one.", 14: "a block", 15: "of two lines"},
		"errors":   {18: "no name; too long;", 19: "shorten it; read %s: %w; no room"},
		"help":     {6: "Create a workspace.", 7: "Answer", 8: "yes."},
	} {
		text, err := extract(path, kind)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(text, "\n") {
			if line != want[i+1] {
				t.Errorf("%s, line %d: %q, want %q", kind, i+1, line, want[i+1])
			}
		}
	}
}

func TestScopes(t *testing.T) {
	for _, c := range []struct {
		dir, path string
		covered   bool
	}{
		{"internal/queue", "internal/queue/claim.go", true},
		{"internal/queue", "internal/queue/position/place.go", false},
		{"internal/queue/...", "internal/queue/position/place.go", true},
		{"internal/queue/...", "internal/queue/claim.go", true},
		{"internal/queue/...", "internal/queues/claim.go", false},
	} {
		if got := (scope{"comments", c.dir}).covers("comments", c.path); got != c.covered {
			t.Errorf("%s covers %s: %v", c.dir, c.path, got)
		}
	}
}
