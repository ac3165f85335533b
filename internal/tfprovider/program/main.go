// The program of this package is the provider and nothing else. Tests run it: a test binary, which can be
// the provider too, takes much longer to start, most of all with the race detector.
package main

import (
	"os"

	"github.com/seed-2a7f8fe7/coder/internal/tfprovider"
)

func main() { os.Exit(tfprovider.Serve(os.Args[1:])) }
