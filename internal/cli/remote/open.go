package remote

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

func openCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name: "open", RawUsage: true, Short: "Open a workspace in an editor, or an app of it in a browser.",
		Subs: []*app.Command{openVSCodeCommand(a), openAppCommand(a)},
	}
}

// sessionPlaceholder in the URL of an app that is no page of the workspace
// stands for a token of the user's.
const sessionPlaceholder = "$SESSION_TOKEN"

func openAppCommand(a *app.Run) *app.Command {
	var region string
	return &app.Command{
		Name: "app", Args: "<workspace> <app slug>", Min: 1, Max: 2,
		Short: "Open an app of a workspace.",
		Long:  "Without a browser, or inside of a workspace, the address is printed instead. Without a slug the apps are listed.",
		Examples: []app.Example{
			{Text: "Open the editor that the template offers as code-server", Line: "coder open app dev code-server"},
		},
		Complete: build.Names(a),
		Options: []*option.Option{
			option.String(&region, "region", "Region by whose proxy to open it.").Env("CODER_OPEN_APP_REGION").Def("primary"),
		},
		Run: func(ctx context.Context, args []string) error {
			c, w, agent, err := workspaceAgent(ctx, a, args[0])
			if err != nil {
				return err
			}
			found, err := pickApp(w, agent, append(args, "")[1])
			if err != nil {
				return err
			}
			at, err := appAddress(ctx, c, w, found, region)
			if err != nil {
				return err
			}
			return open(ctx, a, at)
		},
	}
}

// workspaceAgent finds a workspace and, when ref says one, its agent.
func workspaceAgent(ctx context.Context, a *app.Run, ref string) (*client.Client, coder.Workspace, string, error) {
	c, err := a.Client(ctx)
	if err != nil {
		return nil, coder.Workspace{}, "", err
	}
	w, agent, err := build.Workspace(ctx, a, c, ref)
	return c, w, agent, err
}

// agentApp is an app and the agent that has it.
type agentApp struct {
	coder.WorkspaceApp
	agent string
}

// pickApp finds the app of that slug.
func pickApp(w coder.Workspace, agent, slug string) (agentApp, error) {
	if w.LatestBuild.Transition != coder.WorkspaceTransitionStart {
		return agentApp{}, coder.Errorf(coder.CodePrecondition, "the workspace %s is stopped; start it with 'coder start %s'", w.Name, w.Name)
	}
	var slugs []string
	for _, r := range w.LatestBuild.Resources {
		for _, g := range r.Agents {
			if agent != "" && g.Name != agent {
				continue
			}
			for _, p := range g.Apps {
				if p.Slug == slug {
					return agentApp{p, g.Name}, nil
				}
				slugs = append(slugs, p.Slug)
			}
		}
	}
	slices.Sort(slugs)
	switch {
	case len(slugs) == 0:
		return agentApp{}, coder.Errorf(coder.CodeNotFound, "the workspace %s has no apps", w.Name)
	case slug == "":
		return agentApp{}, app.Failure("say which app to open: %s", strings.Join(slugs, ", "))
	}
	return agentApp{}, coder.Errorf(coder.CodeNotFound, "the workspace %s has no app %q; it has %s", w.Name, slug, strings.Join(slugs, ", "))
}

// appAddress gives where a browser finds an app.
func appAddress(ctx context.Context, c *client.Client, w coder.Workspace, p agentApp, region string) (string, error) {
	if p.External {
		return externalAddress(ctx, c, p.URL)
	}
	regions, err := c.Regions(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	for _, r := range regions.Regions {
		names = append(names, r.Name)
		if r.Name != region {
			continue
		}
		at, err := url.Parse(r.PathAppURL)
		if err != nil {
			return "", fmt.Errorf("the region %s has no address: %w", region, err)
		}
		below := "/@" + w.OwnerName + "/" + w.Name + "." + p.agent
		switch {
		case p.Command != "":
			at = at.JoinPath(below, "terminal")
			at.RawQuery = url.Values{"app": {p.Slug}}.Encode()
		case p.Subdomain && r.WildcardHostname == "":
			return "", coder.Errorf(coder.CodePrecondition, "the app %s needs a host name of its own, and the region %s has none; its administrator can set --wildcard-access-url", p.Slug, region)
		case p.Subdomain:
			at.Host, at.Path = strings.Replace(r.WildcardHostname, "*", p.SubdomainName, 1), "/"
		default:
			at = at.JoinPath(below, "apps", p.Slug, "/")
		}
		return at.String(), nil
	}
	return "", coder.Errorf(coder.CodeNotFound, "there is no region %q; there are: %s", region, strings.Join(names, ", "))
}

// externalAddress puts a new token of the user's where the URL wants one. A web
// page is not given one: it would go to whoever serves the page.
func externalAddress(ctx context.Context, c *client.Client, text string) (string, error) {
	u, err := url.Parse(strings.ReplaceAll(text, sessionPlaceholder, ""))
	if err != nil || u.Scheme == "" {
		return "", coder.Errorf(coder.CodeInvalid, "the app has no URL that can be opened: %q", text)
	}
	if !strings.Contains(text, sessionPlaceholder) {
		return text, nil
	}
	if scheme := strings.ToLower(u.Scheme); scheme == "http" || scheme == "https" {
		return "", coder.Errorf(coder.CodeForbidden, "the app's URL asks for your session token, and is a web page, which must not get one: %s", text)
	}
	key, err := c.CreateSessionKey(ctx, "me")
	if err != nil {
		return "", err
	}
	return strings.ReplaceAll(text, sessionPlaceholder, url.QueryEscape(key.Key)), nil
}

func openVSCodeCommand(a *app.Run) *app.Command {
	var token bool
	return &app.Command{
		Name: "vscode", Args: "<workspace> [<directory in workspace>]", Min: 1, Max: 2,
		Short: "Open a workspace in VS Code.",
		Long: "VS Code opens on this machine and connects to the workspace, which is started if it is stopped. " +
			"Without a desktop, or inside of a workspace, the address is printed instead.",
		Complete: build.Names(a),
		Options: []*option.Option{
			option.Bool(&token, "generate-token", "Give VS Code a token of its own, so that it need not ask to sign in.").Env("CODER_OPEN_VSCODE_GENERATE_TOKEN"),
		},
		Run: func(ctx context.Context, args []string) error {
			c, w, name, err := workspaceAgent(ctx, a, args[0])
			if err != nil {
				return err
			}
			if w, err = running(ctx, a, c, w, connecting{}); err != nil {
				return err
			}
			agent, err := pickAgent(w, name)
			if err != nil {
				return err
			}
			q := url.Values{"url": {c.URL.String()}, "owner": {w.OwnerName}, "workspace": {w.Name}, "agent": {agent.Name}}
			if dir := directory(agent, append(args, "")[1]); dir != "" {
				q.Set("folder", dir)
			}
			if token {
				key, err := c.CreateSessionKey(ctx, "me")
				if err != nil {
					return err
				}
				q.Set("token", key.Key)
			}
			return open(ctx, a, "vscode://coder.coder-remote/open?"+q.Encode())
		},
	}
}

// directory gives a directory of a workspace as VS Code wants it: whole. One
// that is not is below the agent's own.
func directory(agent coder.WorkspaceAgent, dir string) string {
	own := agent.ExpandedDirectory
	if agent.OperatingSystem == "windows" {
		own, dir = strings.ReplaceAll(own, `\`, "/"), strings.ReplaceAll(dir, `\`, "/")
		if drive, _, ok := strings.Cut(dir, ":"); ok && len(drive) == 1 {
			own = ""
		}
		if own+dir == "" {
			return ""
		}
		return "/" + strings.TrimPrefix(path.Join(own, dir), "/")
	}
	switch {
	case dir == "":
		return own
	case path.IsAbs(dir) || strings.HasPrefix(dir, "~") || own == "":
		return dir
	}
	return path.Join(own, dir)
}

// open opens an address with the program that the desktop has for it. Where
// there is none, it prints it. It is never given to a shell.
func open(ctx context.Context, a *app.Run, at string) error {
	var command []string
	switch {
	case a.Env["CODER"] == "true" && a.Env["CODER_WORKSPACE_NAME"] != "": // nobody looks at the screen of a workspace
	case runtime.GOOS == "darwin":
		command = []string{"open"}
	case runtime.GOOS == "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	case a.Env["DISPLAY"] != "" || a.Env["WAYLAND_DISPLAY"] != "":
		command = []string{"xdg-open"}
	}
	if command != nil {
		cmd := exec.CommandContext(context.WithoutCancel(ctx), command[0], append(command[1:], at)...)
		cmd.Env = a.Environ()
		if err := cmd.Run(); err == nil {
			fmt.Fprintln(a.Stderr, "Opened it.")
			return nil
		}
		fmt.Fprintln(a.Stderr, "It could not be opened from here; open this yourself:")
	}
	fmt.Fprintln(a.Stdout, at)
	return nil
}
