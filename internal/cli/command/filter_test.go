package command

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// TestOutputIsFiltered checks that commands write text of others to a terminal
// without escape sequences other than colors, and files as they are.
func TestOutputIsFiltered(t *testing.T) {
	var out, failures strings.Builder
	a := New(Streams{In: strings.NewReader(""), Out: &out, Err: &failures}, nil, func(*Run) *Command { return &Command{Name: "coder"} })
	const hostile = "\x1b[31mred\x1b[0m\x1b[2J\x1b]52;c;ZXZpbA==\x07"
	fmt.Fprint(a.Stdout, hostile)
	if got := out.String(); got != "\x1b[31mred\x1b[0m" {
		t.Errorf("standard output is %q", got)
	}
	a.Explain(codersdk.Errorf(codersdk.CodeInvalid, "%s\rover", hostile))
	if got := failures.String(); strings.ContainsAny(got, "\x07\r") || strings.Contains(got, "[2J") || !strings.Contains(got, "over") {
		t.Errorf("an error is %q", got)
	}
	out.Reset()
	fmt.Fprint(a.Raw, hostile)
	if out.String() != hostile {
		t.Errorf("a file is %q", out.String())
	}
}
