// Command coder-agent is the part of coder that a workspace needs: the agent,
// and the commands that are used inside of a workspace. It is a fraction of the
// whole in size and memory; what it does not know, it fetches the whole for.
package main

import (
	"context"
	"os"

	"github.com/seed-2a7f8fe7/coder/internal/cli/inside"
)

func main() {
	os.Exit(inside.Main(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
