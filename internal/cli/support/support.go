// Package support is the command group for support. "coder support bundle"
// collects diagnostic data about a deployment or a workspace into one zip file.
//
// The command requests each part separately from the server, and from the
// workspace's agent through a tunnel. A part may fail because the user has no
// permission, the server is degraded or the agent is gone. Such a part becomes
// an entry in the bundle's manifest.json; the other parts are still collected.
// Every file passes package redact before it is written. (SUP-01)
package support

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/cli/support/files"
	"github.com/seed-2a7f8fe7/coder/internal/netcheck"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/redact"
	"github.com/seed-2a7f8fe7/coder/internal/supportbundle"
)

// Commands returns the commands of this package.
func Commands(a *command.Run) []*command.Command {
	return []*command.Command{{
		Name:  "support",
		Short: "Collect diagnostic data",
		Subs:  []*command.Command{bundleCommand(a)},
	}}
}

// defaultWorkspaces is the default cap of listed workspaces.
const defaultWorkspaces = 10

// flags holds the flags of bundle.
type flags struct {
	yes            bool
	output         string
	override       *url.URL
	workspaces     int // the cap; 0 means unlimited
	template       string
	pprof          bool
	workspaceFiles []string
	extraPaths     []string
}

func bundleCommand(a *command.Run) *command.Command {
	var f flags
	most := option.Int(&f.workspaces, "workspaces-total-cap", "Maximum number of workspaces to list (default: 10); 0 means unlimited").
		Env("CODER_SUPPORT_BUNDLE_WORKSPACES_TOTAL_CAP")
	return &command.Command{
		Name: "bundle", Args: "<workspace> [<agent>]", Max: 2,
		Short: "Create a support bundle, a zip file with diagnostic data about the deployment and optionally a workspace",
		Long: "The bundle contains health, configuration without secrets, provisioners and their queue, recent " +
			"logs, metrics and a network check. For a workspace it also contains the builds, agent logs and " +
			"connections. Parts that you cannot access, or that do not answer, are omitted and listed in " +
			"manifest.json. Secrets are removed when their form or name identifies them; review the bundle " +
			"before you share it.",
		Examples: []command.Example{
			{Text: "Create a bundle about the deployment", Line: "coder support bundle"},
			{Text: "Include a workspace, without prompts", Line: "coder support bundle dev --output-file dev.zip --yes"},
			{Text: "Include files of the workspace", Line: "coder support bundle dev --workspace-file '~/.local/state/app/*.log'"},
		},
		Options: []*option.Option{
			command.Yes(&f.yes),
			option.String(&f.output, "output-file", "File to write (default: coder-support-<time>.zip in the current directory)").
				Short("O").
				Env("CODER_SUPPORT_BUNDLE_OUTPUT_FILE"),
			option.ParsedURL(&f.override, command.ParseServer, "url-override", "URL of the server to query instead of the stored one; receives your session token").
				Env("CODER_SUPPORT_BUNDLE_URL_OVERRIDE").
				As("string"),
			most,
			option.String(&f.template, "template", "Template whose active version to include as source").Env("CODER_SUPPORT_BUNDLE_TEMPLATE"),
			option.Bool(&f.pprof, "pprof", "Include CPU and memory profiles of the server; takes about 10 seconds").Env("CODER_SUPPORT_BUNDLE_PPROF"),
			option.List(&f.workspaceFiles, "workspace-file", "File, directory or glob pattern in the workspace to include (repeatable)").
				Env("CODER_SUPPORT_BUNDLE_WORKSPACE_FILE"),
			option.List(&f.extraPaths, "workspace-extra-path", "Deprecated: use --workspace-file").Hide(),
		},
		Complete: build.Names(a),
		Run: func(ctx context.Context, args []string) error {
			if !most.Given() {
				f.workspaces = defaultWorkspaces
			}
			f.workspaceFiles = append(f.workspaceFiles, f.extraPaths...)
			return runBundle(ctx, a, args, &f)
		},
	}
}

// runBundle writes the bundle. It fails only when there is no session, the
// named workspace does not exist, or the file cannot be written.
func runBundle(ctx context.Context, a *command.Run, args []string, f *flags) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	if f.override != nil {
		other := *c
		other.URL = f.override
		c = &other
	}
	if len(f.workspaceFiles) > files.MaxPatterns {
		return command.Failure("--workspace-file: %d patterns at most, got %d", files.MaxPatterns, len(f.workspaceFiles))
	}
	t := &target{app: a, client: c, flags: f}
	if err := t.find(ctx, workspaceArgs(a, args)); err != nil {
		return err
	}
	if len(f.workspaceFiles) > 0 && t.workspace == nil {
		return command.Failure("--workspace-file needs a workspace; use 'coder support bundle <workspace>'")
	}
	file, err := targetFile(a, f.output)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.Stderr, "The support bundle contains configuration, logs, and the names of users, workspaces and machines. "+
		"Secrets are removed when their form or name identifies them. Review the bundle before you share it.")
	if err := a.Confirm(fmt.Sprintf("Create the support bundle %s?", file), f.yes); err != nil {
		return err
	}
	m, err := t.write(ctx, file)
	if err != nil {
		return err
	}
	if n := len(m.Errors); n > 0 {
		fmt.Fprintf(a.Stderr, "%d part%s could not be collected; see manifest.json in the bundle for the reasons.\n", n, command.Plural(n))
	}
	_, err = fmt.Fprintf(a.Stdout, "Created the support bundle with %d files: %s\n", len(m.Files)+1, file)
	return err
}

// write collects a bundle in a temporary file beside the target, with mode 0600,
// and renames it.
func (t *target) write(ctx context.Context, file string) (m supportbundle.Manifest, err error) {
	out, err := os.CreateTemp(filepath.Dir(file), ".coder-support-*.zip") // mode 0600
	if err != nil {
		return m, fmt.Errorf("create the support bundle: %w", err)
	}
	m, err = supportbundle.Collect(ctx, out, t.config())
	canceled := ctx.Err()
	err = errors.Join(err, out.Close())
	if err == nil {
		err = os.Rename(out.Name(), file)
	}
	if err == nil {
		return m, nil
	}
	os.Remove(out.Name()) //nolint:errcheck // a temporary file is left behind at worst
	if canceled != nil {
		return m, canceled
	}
	return m, fmt.Errorf("write %s: %w", file, err)
}

// config describes the bundle of the command line: besides the data of the API it
// contains a network check of this machine, and the agent is reached by a tunnel.
func (t *target) config() supportbundle.Config {
	c := supportbundle.Config{
		Client: t.client, Redactor: redact.New(ownSecrets(t.app, t.client)...), Now: t.app.Now, LogName: "cli_logs.txt",
		Workspace: t.workspace, WorkspaceError: t.unknown, Agent: t.agent, Connect: t.connect,
		Profiles: t.flags.pprof, Workspaces: t.flags.workspaces,
		More: []supportbundle.Step{{Name: "network/netcheck.json", Run: func(ctx context.Context, b *supportbundle.Bundle) error {
			r := netcheck.Run(ctx, t.client, netcheck.Options{NoDirect: t.app.DisableDirect})
			if why := r.Failed(); why != "" {
				b.Fail("network/netcheck.json", codersdk.Errorf(codersdk.CodeUnavailable, "%s", why))
			}
			return b.AddJSON("network/netcheck.json", r)
		}}},
		Progress: func(p supportbundle.Progress) {
			note := ""
			if p.Err != nil {
				note = ": " + command.RootCause(p.Err).Error()
			}
			fmt.Fprintf(t.app.Stderr, "[%2d/%d] %s%s\n", p.Done, p.Total, p.Part, note)
		},
	}
	if t.flags.template != "" {
		c.Template = func(ctx context.Context) (codersdk.Template, error) {
			return build.Template(ctx, t.app, t.client, "", t.flags.template)
		}
	}
	return c
}

// workspaceArgs returns args. Inside a workspace, where the agent sets the
// environment, an empty args defaults to that workspace.
func workspaceArgs(a *command.Run, args []string) []string {
	name, owner := a.Env["CODER_WORKSPACE_NAME"], a.Env["CODER_WORKSPACE_OWNER_NAME"]
	if len(args) > 0 || name == "" || owner == "" {
		return args
	}
	return append([]string{owner + "/" + name}, strings.Fields(a.Env["CODER_WORKSPACE_AGENT_NAME"])...)
}

// targetFile returns the absolute path of the bundle.
func targetFile(a *command.Run, name string) (string, error) {
	if name == "" {
		name = fmt.Sprintf("coder-support-%d.zip", a.Now().Unix())
	}
	target, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(target); err == nil && info.IsDir() {
		return "", command.Failure("--output-file: %s is a directory; use the name of a file", target)
	}
	if _, err := os.Stat(filepath.Dir(target)); err != nil {
		return "", fmt.Errorf("--output-file: %w", err)
	}
	return target, nil
}

// ownSecrets returns the secrets that this process knows: the session, and
// those in the environment and the request headers.
func ownSecrets(a *command.Run, c *codersdk.Client) []string {
	out := []string{c.SessionToken, c.URL.String()}
	for _, values := range c.Header {
		out = append(out, values...)
	}
	for name, value := range a.Env {
		if redact.Telling(name) {
			out = append(out, value)
		}
	}
	return out
}
