package remote

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

func openCommand(a *command.Run) *command.Command {
	return &command.Command{
		Name: "open", RawUsage: true, Short: "Open a workspace in an editor, or an app in a browser",
		Subs: []*command.Command{openVSCodeCommand(a), openAppCommand(a)},
	}
}

// sessionPlaceholder is replaced by a session token of the user in the URL of
// an external app.
const sessionPlaceholder = "$SESSION_TOKEN"

func openAppCommand(a *command.Run) *command.Command {
	var region string
	return &command.Command{
		Name: "app", Args: "<workspace> <app slug>", Min: 1, Max: 2,
		Short: "Open a workspace app",
		Long:  "Without a browser, or inside a workspace, the URL is printed instead. Without a slug the apps are listed.",
		Examples: []command.Example{
			{Text: "Open the app with the slug code-server", Line: "coder open app dev code-server"},
		},
		Complete: build.Names(a),
		Options: []*option.Option{
			option.String(&region, "region", "Region whose proxy to use").Env("CODER_OPEN_APP_REGION").Def("primary"),
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

// workspaceAgent returns a workspace and, if ref names one, its agent.
func workspaceAgent(ctx context.Context, a *command.Run, ref string) (*codersdk.Client, codersdk.Workspace, string, error) {
	c, err := a.Client(ctx)
	if err != nil {
		return nil, codersdk.Workspace{}, "", err
	}
	w, agent, err := build.Workspace(ctx, a, c, ref)
	return c, w, agent, err
}

// agentApp is an app with its agent.
type agentApp struct {
	codersdk.WorkspaceApp
	agent string
}

// pickApp returns the app with that slug.
func pickApp(w codersdk.Workspace, agent, slug string) (agentApp, error) {
	if w.LatestBuild.Transition != codersdk.WorkspaceTransitionStart {
		return agentApp{}, codersdk.Errorf(codersdk.CodePrecondition, "workspace %s is stopped; start it with 'coder start %s'", w.Name, w.Name)
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
		return agentApp{}, codersdk.Errorf(codersdk.CodeNotFound, "workspace %s has no apps", w.Name)
	case slug == "":
		return agentApp{}, command.Failure("no app given; use one of %s", strings.Join(slugs, ", "))
	}
	return agentApp{}, codersdk.Errorf(codersdk.CodeNotFound, "workspace %s has no app %q; it has %s", w.Name, slug, strings.Join(slugs, ", "))
}

// appAddress returns the URL of an app for a browser.
func appAddress(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, p agentApp, region string) (string, error) {
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
			return "", fmt.Errorf("region %s has no URL: %w", region, err)
		}
		below := "/@" + w.OwnerName + "/" + w.Name + "." + p.agent
		switch {
		case p.Command != "":
			at = at.JoinPath(below, "terminal")
			at.RawQuery = url.Values{"app": {p.Slug}}.Encode()
		case p.Subdomain && r.WildcardHostname == "":
			return "", codersdk.Errorf(codersdk.CodePrecondition, "app %s requires a subdomain, but region %s has no wildcard host; set --wildcard-access-url on its "+
				"server", p.Slug, region)
		case p.Subdomain:
			at.Host, at.Path = strings.Replace(r.WildcardHostname, "*", p.SubdomainName, 1), "/"
		default:
			at = at.JoinPath(below, "apps", p.Slug, "/")
		}
		return at.String(), nil
	}
	return "", codersdk.Errorf(codersdk.CodeNotFound, "region %q not found; the regions are: %s", region, strings.Join(names, ", "))
}

// externalAddress inserts a new token of the user where the URL contains the
// placeholder. Web pages get no token: it would be sent to the server of the
// page.
func externalAddress(ctx context.Context, c *codersdk.Client, text string) (string, error) {
	u, err := url.Parse(strings.ReplaceAll(text, sessionPlaceholder, ""))
	if err != nil || u.Scheme == "" {
		return "", codersdk.Errorf(codersdk.CodeInvalid, "the app has an invalid URL: %q", text)
	}
	if !strings.Contains(text, sessionPlaceholder) {
		return text, nil
	}
	if scheme := strings.ToLower(u.Scheme); scheme == "http" || scheme == "https" {
		return "", codersdk.Errorf(codersdk.CodeForbidden, "the app's URL contains the session token placeholder, but is a web page, which must not receive the "+
			"token: %s", text)
	}
	key, err := c.CreateSessionKey(ctx, "me")
	if err != nil {
		return "", err
	}
	return strings.ReplaceAll(text, sessionPlaceholder, url.QueryEscape(key.Key)), nil
}

// open opens a URL with the default program of the desktop, or prints it when
// there is none. The URL is never passed to a shell.
func open(ctx context.Context, a *command.Run, at string) error {
	var command []string
	switch {
	case a.Env["CODER"] == "true" && a.Env["CODER_WORKSPACE_NAME"] != "": // a workspace has no desktop
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
			fmt.Fprintln(a.Stderr, "Opened the URL.")
			return nil
		}
		fmt.Fprintln(a.Stderr, "Cannot open a URL on this machine. Open it yourself:")
	}
	fmt.Fprintln(a.Stdout, at)
	return nil
}
