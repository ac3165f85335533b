package cli

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"

	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// fileOf gives the file behind a stream when that is a terminal.
func fileOf(stream any) (*os.File, bool) {
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil, false
	}
	return f, true
}

// interactive says whether questions can be asked: standard input is a
// terminal, or --force-tty says to treat it as one.
func (a *app) interactive() bool {
	_, ok := fileOf(a.stdin)
	return ok || a.forceTTY
}

// animated says whether w may be overwritten in place.
func (a *app) animated(w io.Writer) bool {
	_, ok := fileOf(w)
	return (ok || a.forceTTY) && a.env["TERM"] != "dumb" && a.env["CI"] == ""
}

// width is how many columns w has, 80 when it is no terminal.
func (a *app) width(w io.Writer) int {
	if f, ok := fileOf(w); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n >= 40 {
			return n
		}
	}
	if n, err := strconv.Atoi(a.env["COLUMNS"]); err == nil && n >= 40 {
		return n
	}
	return 80
}

// painter for w: on terminals only, and never under NO_COLOR.
func (a *app) painter(w io.Writer) terminal.Painter {
	_, ok := fileOf(w)
	return terminal.Painter((ok || a.forceTTY) && a.env["NO_COLOR"] == "" && a.env["TERM"] != "dumb")
}

// spin starts a spinner on standard error.
func (a *app) spin(text string) *terminal.Spinner {
	return terminal.Spin(a.stderr, a.painter(a.stderr), a.animated(a.stderr), a.width(a.stderr), a.now, text)
}
