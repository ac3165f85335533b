package command

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"

	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// TerminalOf returns the file behind a stream, and whether it is a terminal.
func TerminalOf(stream any) (*os.File, bool) {
	if filter, ok := stream.(*terminal.Filter); ok {
		stream = filter.Unwrap()
	}
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil, false
	}
	return f, true
}

// Interactive reports whether the user can be prompted: standard input is a
// terminal, or --force-tty is given.
func (a *Run) Interactive() bool {
	_, ok := TerminalOf(a.Stdin)
	return ok || a.forceTTY
}

// animated reports whether lines on w may be overwritten in place.
func (a *Run) animated(w io.Writer) bool {
	_, ok := TerminalOf(w)
	return (ok || a.forceTTY) && a.Env["TERM"] != "dumb" && a.Env["CI"] == ""
}

// width returns the number of columns of w, or 80 when w is not a terminal.
func (a *Run) width(w io.Writer) int {
	if f, ok := TerminalOf(w); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n >= 40 {
			return n
		}
	}
	if n, err := strconv.Atoi(a.Env["COLUMNS"]); err == nil && n >= 40 {
		return n
	}
	return 80
}

// Painter returns the painter for w. It adds colors on terminals only, and
// never with NO_COLOR set.
func (a *Run) Painter(w io.Writer) terminal.Painter {
	_, ok := TerminalOf(w)
	return terminal.Painter((ok || a.forceTTY) && a.Env["NO_COLOR"] == "" && a.Env["TERM"] != "dumb")
}

// Spin starts a spinner on standard error.
func (a *Run) Spin(text string) *terminal.Spinner {
	return terminal.Spin(a.Stderr, a.Painter(a.Stderr), a.animated(a.Stderr), a.width(a.Stderr), a.Now, text)
}
