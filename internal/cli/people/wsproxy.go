package people

import (
	"context"
	"fmt"
	"net/url"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// ProxyCommand is all that is done with workspace proxies: what owners do, and
// subs of other families.
func ProxyCommand(a *app.Run, subs ...*app.Command) *app.Command {
	return &app.Command{
		Name: "wsproxy", Aliases: []string{"workspace-proxy"},
		Short: "Manage workspace proxies: servers elsewhere that people reach workspaces through.",
		Subs:  append(subs, wsproxyCreateCommand(a), wsproxyListCommand(a), wsproxyEditCommand(a), wsproxyTokenCommand(a), wsproxyDeleteCommand(a)),
	}
}

// wsproxyWriter gives the options that say how to print a proxy and its token.
type wsproxyWriter struct {
	onlyToken bool
	format    string
}

func (w *wsproxyWriter) options() []*option.Option {
	return []*option.Option{
		option.Bool(&w.onlyToken, "only-token", "Print the token alone, for scripts."),
		option.Choice(&w.format, "output", "How to print: text or json.", "text", "json").Short("o").Def("text"),
	}
}

func (w *wsproxyWriter) write(a *app.Run, server *url.URL, p coder.WorkspaceProxyToken, what string) error {
	var err error
	switch {
	case w.onlyToken:
		_, err = fmt.Fprintln(a.Stdout, p.Token)
	case w.format == "json":
		return app.WriteJSON(a.Stdout, p)
	default:
		_, err = fmt.Fprintf(a.Stdout, "%s workspace proxy %s. Its token is shown this once:\n\n%s\n\nRun the proxy with it: CODER_PROXY_SESSION_TOKEN=... coder wsproxy server --primary-access-url %s --access-url URL\n", what, p.Proxy.Name, p.Token, server)
	}
	return err
}

func wsproxyCreateCommand(a *app.Run) *app.Command {
	var req coder.CreateWorkspaceProxyRequest
	var w wsproxyWriter
	return &app.Command{
		Name: "create", Max: 0,
		Short: "Make a workspace proxy known, and its token.",
		Options: append([]*option.Option{
			option.String(&req.Name, "name", "Name of the proxy."),
			option.String(&req.DisplayName, "display-name", "Name to show."),
			option.String(&req.Icon, "icon", "Path or URL of a picture to show."),
		}, w.options()...),
		Run: func(ctx context.Context, _ []string) error {
			if req.Name == "" {
				return app.Failure("give the proxy a name: --name sydney")
			}
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			p, err := c.CreateWorkspaceProxy(ctx, req)
			if err != nil {
				return err
			}
			return w.write(a, c.URL, p, "Made")
		},
	}
}

func wsproxyListCommand(a *app.Run) *app.Command {
	l := &app.Listing[coder.WorkspaceProxy]{
		All: []app.Column[coder.WorkspaceProxy]{
			{Name: "name", Show: func(p coder.WorkspaceProxy) string { return p.Name }},
			{Name: "display name", Show: func(p coder.WorkspaceProxy) string { return p.DisplayName }},
			{Name: "url", Show: func(p coder.WorkspaceProxy) string { return p.PathAppURL }},
			{Name: "wildcard", Show: func(p coder.WorkspaceProxy) string { return p.WildcardHostname }},
			{Name: "status", Show: func(p coder.WorkspaceProxy) string { return string(p.Status.Status) }},
			{Name: "version", Show: func(p coder.WorkspaceProxy) string { return p.Version }},
			{Name: "id", Show: func(p coder.WorkspaceProxy) string { return p.ID.String() }},
		},
		NoMatch: "No workspace proxies.",
	}
	return &app.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short:   "List the server itself and its workspace proxies, and how they do.",
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

func findProxy(ctx context.Context, a *app.Run, ref string) (*client.Client, coder.WorkspaceProxy, error) {
	c, err := a.Client(ctx)
	if err != nil {
		return nil, coder.WorkspaceProxy{}, err
	}
	p, err := c.WorkspaceProxy(ctx, ref)
	if coder.Is(err, coder.CodeNotFound) {
		err = app.Failure("there is no workspace proxy %q; coder wsproxy list shows them", ref)
	}
	return c, p, err
}

func wsproxyEditCommand(a *app.Run) *app.Command {
	var name, display, icon string
	displayOption := option.String(&display, "display-name", "New name to show.")
	iconOption := option.String(&icon, "icon", "New path or URL of a picture to show.")
	return &app.Command{
		Name: "edit", Args: "<name|id>", Min: 1, Max: 1,
		Short:   "Change a workspace proxy; what is not given stays as it is.",
		Options: []*option.Option{option.String(&name, "name", "New name."), displayOption, iconOption},
		Run: func(ctx context.Context, args []string) error {
			if name == "" && !displayOption.Given() && !iconOption.Given() {
				return app.Failure("nothing to change: give --name, --display-name or --icon")
			}
			c, p, err := findProxy(ctx, a, args[0])
			if err != nil {
				return err
			}
			req := coder.PatchWorkspaceProxy{ID: p.ID, Name: name, DisplayName: p.DisplayName, Icon: p.IconURL}
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
			_, err = fmt.Fprintf(a.Stdout, "Workspace proxy %s is changed.\n", changed.Proxy.Name)
			return err
		},
	}
}

func wsproxyTokenCommand(a *app.Run) *app.Command {
	var w wsproxyWriter
	return &app.Command{
		Name: "regenerate-token", Args: "<name|id>", Min: 1, Max: 1,
		Short:   "Make a workspace proxy's token anew; the old one is good no more.",
		Options: w.options(),
		Run: func(ctx context.Context, args []string) error {
			c, p, err := findProxy(ctx, a, args[0])
			if err != nil {
				return err
			}
			changed, err := c.UpdateWorkspaceProxy(ctx, coder.PatchWorkspaceProxy{ID: p.ID, Name: p.Name, DisplayName: p.DisplayName, Icon: p.IconURL, RegenerateToken: true})
			if err != nil {
				return err
			}
			return w.write(a, c.URL, changed, "There is a new token of")
		},
	}
}

func wsproxyDeleteCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name: "delete", Aliases: []string{"rm"}, Args: "<name|id>", Min: 1, Max: 1,
		Short: "Delete a workspace proxy; its token is good no more.",
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
