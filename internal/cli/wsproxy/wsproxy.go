// Package wsproxy is the command wsproxy: the registration of workspace proxies.
package wsproxy

import (
	"context"
	"fmt"
	"net/url"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Command returns the command group of workspace proxies. subs are added
// from other packages.
func Command(a *command.Run, subs ...*command.Command) *command.Command {
	return &command.Command{
		Name: "wsproxy", Aliases: []string{"workspace-proxy"},
		Short: "Manage workspace proxies",
		Subs:  append(subs, createcommand(a), listcommand(a), editcommand(a), tokencommand(a), deletecommand(a)),
	}
}

// writer prints a proxy and its token in the format of the flags.
type writer struct {
	onlyToken bool
	format    string
}

func (w *writer) options() []*option.Option {
	return []*option.Option{
		option.Bool(&w.onlyToken, "only-token", "Print the token only"),
		option.Choice(&w.format, "output", "Output format", "text", "json").Short("o").Def("text"),
	}
}

func (w *writer) write(a *command.Run, server *url.URL, p codersdk.WorkspaceProxyToken, what string) error {
	var err error
	switch {
	case w.onlyToken:
		_, err = fmt.Fprintln(a.Stdout, p.Token)
	case w.format == "json":
		return command.WriteJSON(a.Stdout, p)
	default:
		_, err = fmt.Fprintf(a.Stdout, "%s workspace proxy %s. Its token is shown only once:\n\n%s\n\nRun the proxy with: "+
			"CODER_PROXY_SESSION_TOKEN=... coder wsproxy server --primary-access-url %s --access-url URL\n", what, p.Proxy.Name, p.Token, server)
	}
	return err
}

func createcommand(a *command.Run) *command.Command {
	var req codersdk.CreateWorkspaceProxyRequest
	var w writer
	return &command.Command{
		Name: "create", Max: 0,
		Short: "Create a workspace proxy and its token",
		Options: append([]*option.Option{
			option.String(&req.Name, "name", "Name of the proxy"),
			option.String(&req.DisplayName, "display-name", "Display name"),
			option.String(&req.Icon, "icon", "Icon, as a path or URL"),
		}, w.options()...),
		Run: func(ctx context.Context, _ []string) error {
			if req.Name == "" {
				return command.Failure("the proxy needs a name; use for example --name sydney")
			}
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			p, err := c.CreateWorkspaceProxy(ctx, req)
			if err != nil {
				return err
			}
			return w.write(a, c.URL, p, "Created")
		},
	}
}

func listcommand(a *command.Run) *command.Command {
	l := &command.Listing[codersdk.WorkspaceProxy]{
		All: []command.Column[codersdk.WorkspaceProxy]{
			{Name: "name", Show: func(p codersdk.WorkspaceProxy) string { return p.Name }},
			{Name: "display name", Show: func(p codersdk.WorkspaceProxy) string { return p.DisplayName }},
			{Name: "url", Show: func(p codersdk.WorkspaceProxy) string { return p.PathAppURL }},
			{Name: "wildcard", Show: func(p codersdk.WorkspaceProxy) string { return p.WildcardHostname }},
			{Name: "status", Show: func(p codersdk.WorkspaceProxy) string { return string(p.Status.Status) }},
			{Name: "version", Show: func(p codersdk.WorkspaceProxy) string { return p.Version }},
			{Name: "id", Show: func(p codersdk.WorkspaceProxy) string { return p.ID.String() }},
		},
		NoMatch: "No workspace proxies found.",
	}
	return &command.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short:   "List the server and its workspace proxies with their health",
		Options: []*option.Option{l.ColumnOption("name,url,status,version"), l.FormatOption()},
		Run: func(ctx context.Context, _ []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			all, err := c.WorkspaceProxies(ctx)
			if err != nil {
				return err
			}
			return l.Write(a, all)
		},
	}
}

func findProxy(ctx context.Context, a *command.Run, ref string) (*codersdk.Client, codersdk.WorkspaceProxy, error) {
	c, err := a.Client(ctx)
	if err != nil {
		return nil, codersdk.WorkspaceProxy{}, err
	}
	p, err := c.WorkspaceProxy(ctx, ref)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		err = command.Failure("workspace proxy %q not found; 'coder wsproxy list' shows the existing ones", ref)
	}
	return c, p, err
}

func editcommand(a *command.Run) *command.Command {
	var name, display, icon string
	displayOption := option.String(&display, "display-name", "New display name")
	iconOption := option.String(&icon, "icon", "New icon, as a path or URL")
	return &command.Command{
		Name: "edit", Args: "<name|id>", Min: 1, Max: 1,
		Short:   "Edit a workspace proxy",
		Options: []*option.Option{option.String(&name, "name", "New name"), displayOption, iconOption},
		Run: func(ctx context.Context, args []string) error {
			if name == "" && !displayOption.Given() && !iconOption.Given() {
				return command.Failure("nothing to change: use --name, --display-name or --icon")
			}
			c, p, err := findProxy(ctx, a, args[0])
			if err != nil {
				return err
			}
			req := codersdk.PatchWorkspaceProxy{ID: p.ID, Name: name, DisplayName: p.DisplayName, Icon: p.IconURL}
			if displayOption.Given() {
				req.DisplayName = display
			}
			if iconOption.Given() {
				req.Icon = icon
			}
			changed, err := c.UpdateWorkspaceProxy(ctx, req)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Changed workspace proxy %s.\n", changed.Proxy.Name)
			return err
		},
	}
}

func tokencommand(a *command.Run) *command.Command {
	var w writer
	return &command.Command{
		Name: "regenerate-token", Args: "<name|id>", Min: 1, Max: 1,
		Short:   "Regenerate the token of a workspace proxy and revoke the old one",
		Options: w.options(),
		Run: func(ctx context.Context, args []string) error {
			c, p, err := findProxy(ctx, a, args[0])
			if err != nil {
				return err
			}
			changed, err := c.UpdateWorkspaceProxy(
				ctx,
				codersdk.PatchWorkspaceProxy{ID: p.ID, Name: p.Name, DisplayName: p.DisplayName, Icon: p.IconURL, RegenerateToken: true},
			)
			if err != nil {
				return err
			}
			return w.write(a, c.URL, changed, "Regenerated the token of")
		},
	}
}

func deletecommand(a *command.Run) *command.Command {
	return &command.Command{
		Name: "delete", Aliases: []string{"rm"}, Args: "<name|id>", Min: 1, Max: 1,
		Short: "Delete a workspace proxy and revoke its token",
		Run: func(ctx context.Context, args []string) error {
			c, p, err := findProxy(ctx, a, args[0])
			if err != nil {
				return err
			}
			if err := c.DeleteWorkspaceProxy(ctx, p.ID.String()); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Deleted workspace proxy %s.\n", p.Name)
			return err
		},
	}
}
