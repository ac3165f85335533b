package remote

import (
	"context"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
)

// watchSize calls each with the new size of the terminal whenever it changes.
// Windows sends no signal, so watchSize polls twice a second.
func watchSize(ctx context.Context, f *os.File, each func(width, height int)) {
	width, height := 0, 0
	for command.Pause(ctx, 500*time.Millisecond) == nil {
		w, h, err := term.GetSize(int(f.Fd()))
		if err == nil && (w != width || h != height) {
			width, height = w, h
			each(w, h)
		}
	}
}
