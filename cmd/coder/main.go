// Command coder is the whole system in one program: server, provisioner, agent
// and command line. Under the name terraform-provider-coder it is the Terraform
// provider that builds use.
package main

import (
	"context"
	"os"

	"github.com/seed-2a7f8fe7/coder/internal/cli"
	"github.com/seed-2a7f8fe7/coder/internal/tfprovider"
)

func main() {
	if tfprovider.Requested(os.Args, os.Getenv) {
		os.Exit(tfprovider.Serve(os.Args[1:]))
	}
	os.Exit(cli.Main(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
