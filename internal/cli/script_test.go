package cli

import (
	"context"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/seed-2a7f8fe7/coder/internal/tfprovider"
)

func TestMain(m *testing.M) {
	if tfprovider.Requested(os.Args, os.Getenv) { // as the provider of Terraform in TestTemplatePush
		os.Exit(tfprovider.Serve(os.Args[1:]))
	}
	testscript.Main(m, map[string]func(){
		"coder": func() {
			os.Exit(Main(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr, os.Environ()))
		},
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			return nil
		},
	})
}
