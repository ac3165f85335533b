// Command coder-agent is a slim build: the agent and the commands that are used
// inside a workspace. It needs a fraction of the size and memory of coder. For
// any other command it downloads coder from the server and runs that.
package main

import (
	"context"
	"os"

	"github.com/seed-2a7f8fe7/coder/internal/cli/agentcmd"
)

func main() {
	os.Exit(agentcmd.Main(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
