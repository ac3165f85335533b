package e2e

import (
	"runtime"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/bench/soak"
	"github.com/seed-2a7f8fe7/coder/internal/testport"
)

// TestNothingIsLost kills a provisioner, an agent and the server, and restarts
// PostgreSQL, once each while workspaces are built. Every acknowledged build must end,
// every workspace must be in the last requested state, and no goroutines or files may
// leak. `make soak` runs longer.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("proc(5), which counts files, exists on Linux only")
	}
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	r, err := soak.Run(t.Context(), soak.Config{
		Coder: bin, Dir: shortDir(t), Out: t.Output(), Progress: t.Output(), Every: 2 * time.Second, Pause: 500 * time.Millisecond,
		Addresses: [3]string{testport.FreeAddress(t), testport.FreeAddress(t), testport.FreeAddress(t)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range append(r.Lost, r.Leaked...) {
		t.Error(text)
	}
	for _, text := range r.Failed { // a build can fail, but must report the error
		t.Log(text)
	}
	if r.Builds == 0 || len(r.Kills) != 4 {
		t.Errorf("%d builds, killed: %v; want builds and four kinds of kills", r.Builds, r.Kills)
	}
}
