// Package mirrorcmd has the commands that fill the provider mirror of a server.
package mirrorcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
)

// Commands returns the command mirror.
func Commands(a *command.Run) []*command.Command {
	return []*command.Command{{
		Name:  "mirror",
		Short: "Manage the provider mirror of the server",
		Long: "With --mirror, the server stores Terraform, OpenTofu, and the providers and modules of templates. For a network without a way to " +
			"the registries, pull and export them on a server that has one, and import the file here.",
		Examples: []command.Example{
			{Text: "List what templates need", Line: "coder mirror list"},
			{Text: "Fetch them, and write them to a file", Line: "coder mirror pull && coder mirror export mirror.tar"},
			{Text: "Store them in another server", Line: "coder mirror import mirror.tar"},
		},
		Subs: []*command.Command{listCommand(a), pullCommand(a), exportCommand(a), importCommand(a), publishCommand(a), removeCommand(a)},
	}}
}

// needOptions select what templates need.
type needOptions struct {
	platforms []string
	registry  string
}

func (n *needOptions) options() []*option.Option {
	return []*option.Option{
		option.List(&n.platforms, "platform", "Platform of provisioners, such as linux_arm64 (repeatable; default: that of the server)"),
		option.String(&n.registry, "registry", "Registry of providers without a hostname").Def(providermirror.TerraformRegistry),
	}
}

// needs requests the archives that templates need.
func (n *needOptions) needs(ctx context.Context, c *codersdk.Client) ([]providermirror.Need, error) {
	var out []providermirror.Need
	err := call(ctx, c, "GET /mirror/needs", url.Values{"platform": n.platforms, "registry": {n.registry}}, nil, &out)
	return out, err
}

func listCommand(a *command.Run) *command.Command {
	type row = providermirror.Need
	l := &command.Listing[row]{
		All: []command.Column[row]{
			{Name: "package", Show: func(n row) string { return n.Address.String() }},
			{Name: "version", Show: func(n row) string { return n.Version }},
			{Name: "platform", Show: func(n row) string { return n.Platform.String() }},
			{Name: "stored", Show: func(n row) string { return strconv.FormatBool(n.Stored) }},
			{Name: "constraints", Show: func(n row) string { return n.Constraints }},
			{Name: "locked", Show: func(n row) string { return strconv.FormatBool(n.Locked) }},
			{Name: "templates", Show: func(n row) string { return strings.Join(n.Templates, ", ") }},
			{Name: "problem", Show: func(n row) string { return n.Problem }},
		},
		NoMatch: "No template needs a provider or a module.",
	}
	var n needOptions
	return &command.Command{
		Name: "list", Max: 0, Short: "List the providers and modules that the active versions of templates need",
		Long: "The version of a provider is that of the template's lock file, or else the newest known one that fulfills the constraints; " +
			"that of a module is the one that the import of the template installed.",
		Options: append(n.options(), l.ColumnOption("package,version,platform,stored,templates,problem"),
			l.FormatOption()),
		Run: func(ctx context.Context, _ []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			list, err := n.needs(ctx, c)
			if err != nil {
				return err
			}
			return l.Write(a, list)
		},
	}
}

func pullCommand(a *command.Run) *command.Command {
	var n needOptions
	return &command.Command{
		Name: "pull", Max: 0, Short: "Fetch the providers and modules that the active versions of templates need",
		Options: n.options(),
		Run: func(ctx context.Context, _ []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			list, err := n.needs(ctx, c)
			if err != nil {
				return err
			}
			return pull(ctx, a, c, list)
		},
	}
}

// pull fetches archives one after another. It continues after an error.
func pull(ctx context.Context, a *command.Run, c *codersdk.Client, list []providermirror.Need) error {
	failed := 0
	for _, need := range list {
		err := errors.New(need.Problem)
		if need.Problem == "" {
			var p providermirror.Package
			err = call(ctx, c, "POST /mirror/packages", nil, providermirror.PullRequest{Target: need.Target}, &p)
			if err == nil {
				fmt.Fprintf(a.Stdout, "%s: %d bytes, sha256 %s\n", need.Target, p.Size, p.SHA256)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed++
			a.Warn(need.Target.String() + ": " + err.Error())
		}
	}
	if failed > 0 {
		return command.Failure("%d of %d archives were not stored", failed, len(list))
	}
	return nil
}

func exportCommand(a *command.Run) *command.Command {
	return &command.Command{
		Name: "export", Args: "<file>", Min: 1, Max: 1, Short: "Write all stored archives to a tar file",
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			n, err := export(ctx, c, args[0])
			if err == nil {
				fmt.Fprintf(a.Stdout, "Wrote %d bytes to %s.\n", n, args[0])
			}
			return err
		},
	}
}

// export writes the file under another name until it is whole.
func export(ctx context.Context, c *codersdk.Client, name string) (n int64, err error) {
	resp, err := c.Request(ctx, "GET", "/mirror/archive", nil, nil)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		return 0, codersdk.ReadError(resp)
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".mirror-")
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(f, resp.Body)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return n, errors.Join(fmt.Errorf("export to %s: %w", name, err), os.Remove(f.Name()))
	}
	return n, nil
}

func importCommand(a *command.Run) *command.Command {
	return &command.Command{
		Name: "import", Args: "<file>", Min: 1, Max: 1, Short: "Store the archives of an exported file",
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			var out providermirror.Imported
			if err := call(ctx, c, "POST /mirror/archive", nil, f, &out); err != nil {
				return err
			}
			for _, p := range out.Stored {
				fmt.Fprintf(a.Stdout, "%s: %d bytes, sha256 %s\n", p.Target, p.Size, p.SHA256)
			}
			fmt.Fprintf(a.Stdout, "Stored %d archives; the mirror already had %d.\n", len(out.Stored), out.Known)
			return nil
		},
	}
}

// maxAnswer bounds an answer in bytes.
const maxAnswer = 64 << 20

// call sends one request to a route, such as "GET /mirror/needs", and decodes the answer unless out is nil.
func call(ctx context.Context, c *codersdk.Client, route string, q url.Values, body, out any) error {
	method, path, _ := strings.Cut(route, " ")
	resp, err := c.Request(ctx, method, path, q, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return codersdk.ReadError(resp)
	}
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(out); err != nil {
		return fmt.Errorf("decode the response of %s: %w", route, err)
	}
	return nil
}
