//go:build unix

package remote

import (
	"context"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// watchSize calls each with the new size of the terminal whenever it changes.
func watchSize(ctx context.Context, f *os.File, each func(width, height int)) {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, unix.SIGWINCH)
	defer signal.Stop(changed)
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			if w, h, err := term.GetSize(int(f.Fd())); err == nil {
				each(w, h)
			}
		}
	}
}
