package mirrorcmd

import (
	"bytes"
	"context"
	"fmt"

	"github.com/seed-2a7f8fe7/coder/internal/archive"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
)

// modulePath returns the path of a version of a module below /api/v2.
func modulePath(address, version string) (string, providermirror.Target, error) {
	a, err := providermirror.ParseModule(address)
	if err != nil {
		return "", providermirror.Target{}, err
	}
	t := providermirror.Target{Address: a, Version: version}
	return "/mirror/modules/" + a.String() + "/" + version, t, t.Check()
}

func publishCommand(a *command.Run) *command.Command {
	var dir string
	return &command.Command{
		Name: "publish", Args: "<address> <version>", Min: 2, Max: 2, Short: "Publish a module for the templates of the deployment",
		Long: "The address is hostname/namespace/name/system. Templates use it as the source of a module; the hostname needs no " +
			"registry. A version is never replaced, and not removed when the mirror is full.",
		Examples: []command.Example{
			{Text: "Publish the directory modules/home", Line: "coder mirror publish coder.example.com/platform/home/docker 1.0.0 --directory modules/home"},
		},
		Options: []*option.Option{option.String(&dir, "directory", "Directory of the module").Short("d").Def(".")},
		Run: func(ctx context.Context, args []string) error {
			path, t, err := modulePath(args[0], args[1])
			if err != nil {
				return err
			}
			files, err := archive.Pack(dir, archive.Modules())
			if err != nil {
				return err
			}
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			var p providermirror.Package
			if err := call(ctx, c, "POST "+path, nil, bytes.NewReader(files), &p); err != nil {
				return err
			}
			fmt.Fprintf(a.Stdout, "Published %s: %d bytes, sha256 %s.\n", t, p.Size, p.SHA256)
			return nil
		},
	}
}

func removeCommand(a *command.Run) *command.Command {
	return &command.Command{
		Name: "remove", Args: "<address> <version>", Min: 2, Max: 2, Short: "Remove a module from the mirror",
		Long: "Builds of template versions that were imported with the module keep working.",
		Run: func(ctx context.Context, args []string) error {
			path, t, err := modulePath(args[0], args[1])
			if err != nil {
				return err
			}
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			if err := call(ctx, c, "DELETE "+path, nil, nil, nil); err != nil {
				return err
			}
			fmt.Fprintf(a.Stdout, "Removed %s.\n", t)
			return nil
		},
	}
}
