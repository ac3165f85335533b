package cli

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// target is a workspace, and perhaps one of its agents, as people name them:
// [owner/]workspace[.agent].
type target struct{ owner, workspace, agent string }

// parseTarget reads a name. owner is "me" when it is not given. A host name
// has no slash: there owner--workspace--agent says the same.
func parseTarget(s string) (target, error) {
	t := target{owner: "me", workspace: s}
	if owner, rest, ok := strings.Cut(s, "/"); ok {
		t.owner, t.workspace = owner, rest
	} else if parts := strings.Split(s, "--"); len(parts) == 2 || len(parts) == 3 {
		t.owner, t.workspace = parts[0], strings.Join(parts[1:], ".")
	}
	var dotted bool
	t.workspace, t.agent, dotted = strings.Cut(t.workspace, ".")
	if t.owner == "" || t.workspace == "" || dotted && t.agent == "" || strings.ContainsAny(t.workspace+t.agent, "/ ") {
		return t, failure("%q does not name a workspace; write [owner/]workspace[.agent]", s)
	}
	return t, nil
}

// workspace finds a workspace by [owner/]name, and gives the agent's part too.
func (a *app) workspace(ctx context.Context, c *client.Client, ref string) (coder.Workspace, string, error) {
	t, err := parseTarget(ref)
	if err != nil {
		return coder.Workspace{}, "", err
	}
	w, err := c.WorkspaceByOwnerAndName(ctx, t.owner, t.workspace, nil)
	if coder.Is(err, coder.CodeNotFound) {
		whose := "you have no workspace " + t.workspace
		if t.owner != "me" {
			whose = t.owner + " has no workspace " + t.workspace + ", or you may not see it"
		}
		return w, "", coder.Errorf(coder.CodeNotFound, "%s; 'coder list' shows those that are there", whose)
	}
	return w, t.agent, err
}

// clientAndWorkspace is what most commands of a workspace begin with.
func (a *app) clientAndWorkspace(ctx context.Context, ref string) (*client.Client, coder.Workspace, error) {
	c, err := a.client(ctx)
	if err != nil {
		return nil, coder.Workspace{}, err
	}
	w, _, err := a.workspace(ctx, c, ref)
	return c, w, err
}

// workspaceNames completes the user's own workspaces.
func (a *app) workspaceNames(ctx context.Context) []string {
	c, err := a.client(ctx)
	if err != nil {
		return nil
	}
	page, err := c.Workspaces(ctx, url.Values{"q": {"owner:me"}, "limit": {"100"}})
	if err != nil {
		return nil
	}
	var names []string
	for _, w := range page.Workspaces {
		names = append(names, w.Name)
	}
	return names
}

// simple is a command of one workspace whose work is one request.
func (a *app) simple(c command, do func(context.Context, *client.Client, coder.Workspace, []string) error) *command {
	c.complete = a.workspaceNames
	if c.min == 0 {
		c.min, c.max = 1, 1
	}
	c.run = func(ctx context.Context, args []string) error {
		cl, w, err := a.clientAndWorkspace(ctx, args[0])
		if err != nil {
			return err
		}
		return do(ctx, cl, w, args[1:])
	}
	return &c
}

func (a *app) favoriteCommand() *command {
	return a.simple(command{
		name: "favorite", aliases: []string{"fav", "favourite"}, args: "<workspace>",
		short: "List a workspace before the others.",
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, _ []string) error {
		if err := c.FavoriteWorkspace(ctx, w.ID); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.stdout, "%s is now a favorite.\n", w.Name)
		return err
	})
}

func (a *app) unfavoriteCommand() *command {
	return a.simple(command{
		name: "unfavorite", aliases: []string{"unfav", "unfavourite"}, args: "<workspace>",
		short: "List a workspace among the others again.",
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, _ []string) error {
		if err := c.UnfavoriteWorkspace(ctx, w.ID); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.stdout, "%s is no longer a favorite.\n", w.Name)
		return err
	})
}

func (a *app) autoupdateCommand() *command {
	var sure bool
	return a.simple(command{
		name: "autoupdate", args: "<workspace> <always|never>", min: 2, max: 2,
		short:   "Say whether a workspace moves to the active version at each start.",
		options: []*option.Option{yes(&sure)},
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, args []string) error {
		policy, err := option.OneOf(args[0], []string{"always", "never"})
		if err != nil {
			return failure("%s", err)
		}
		if err := a.confirm(fmt.Sprintf("Update %s automatically: %s?", w.Name, policy), sure); err != nil {
			return err
		}
		if err := c.UpdateWorkspaceAutomaticUpdates(ctx, w.ID, coder.UpdateWorkspaceAutomaticUpdatesRequest{AutomaticUpdates: coder.AutomaticUpdates(policy)}); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "Automatic updates of %s: %s.\n", w.Name, policy)
		return err
	})
}

func (a *app) renameCommand() *command {
	var sure bool
	return a.simple(command{
		name: "rename", args: "<workspace> <new name>", min: 2, max: 2,
		short:   "Give a workspace another name.",
		long:    "The server must allow it. A template may use the name for things that cannot be renamed, and would then make them anew at the next build.",
		options: []*option.Option{yes(&sure)},
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, args []string) error {
		if err := coder.CheckName("name", args[0]); err != nil {
			return err
		}
		if err := a.confirm(fmt.Sprintf("Rename %s to %s? What the template names after it may be made anew and lose data.", w.Name, args[0]), sure); err != nil {
			return err
		}
		if err := c.UpdateWorkspace(ctx, w.ID, coder.UpdateWorkspaceRequest{Name: args[0]}); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.stdout, "%s is now named %s.\n", w.Name, args[0])
		return err
	})
}

func (a *app) showCommand() *command {
	var details bool
	return a.simple(command{
		name: "show", args: "<workspace>",
		short:   "Show a workspace, what it is made of, and how to reach it.",
		options: []*option.Option{option.Bool(&details, "details", "Metadata and hidden resources as well.").Def("false")},
	}, func(_ context.Context, _ *client.Client, w coder.Workspace, _ []string) error {
		p := a.painter(a.stdout)
		fmt.Fprintf(a.stdout, "%s  %s\n", p.Bold(w.OwnerName+"/"+w.Name), statusText(w))
		version := w.LatestBuild.TemplateVersionName
		if w.Outdated {
			version += ", a newer one is active: coder update " + w.Name
		}
		fmt.Fprintf(a.stdout, "Template %s, version %s. Build %d by %s, %s.\n", w.TemplateName, version,
			w.LatestBuild.BuildNumber, w.LatestBuild.InitiatorName, a.ago(w.LatestBuild.CreatedAt))
		if w.LatestBuild.Job.Error != "" {
			fmt.Fprintf(a.stdout, "%s %s\n", p.Red("The build failed:"), w.LatestBuild.Job.Error)
		}
		if d := w.LatestBuild.Deadline; d != nil && !d.IsZero() && w.LatestBuild.Transition == coder.WorkspaceTransitionStart {
			fmt.Fprintf(a.stdout, "It stops at %s.\n", date(*d))
		}
		fmt.Fprintln(a.stdout)
		return a.showResources(w, details)
	})
}

// statusText is a workspace's status with a capital letter.
func statusText(w coder.Workspace) string {
	s := string(w.LatestBuild.Status)
	if s == "" {
		return "Unknown"
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func (a *app) listCommand() *command {
	l := &listing[coder.Workspace]{all: a.workspaceColumns(), noMatch: "No workspaces. Make one with 'coder create <name>'."}
	var all bool
	var search string
	searchOption := option.String(&search, "search", "Only those that this search finds.").Def("owner:me")
	return &command{
		name: "list", aliases: []string{"ls"}, max: 0,
		short: "List workspaces.",
		examples: []example{
			{"Those of everybody that run", "coder list --all --search status:running"},
			{"Names alone, for scripts", "coder list -o json | jq -r '.[].name'"},
		},
		options: []*option.Option{
			option.Bool(&all, "all", "Those of everybody that you may see.").Short("a"), searchOption,
			l.columnOption("workspace,template,status,healthy,last built,current version,outdated,starts at,stops after"), l.formatOption(),
		},
		run: func(ctx context.Context, _ []string) error {
			c, err := a.client(ctx)
			if err != nil {
				return err
			}
			if all && !searchOption.Given() {
				search = ""
			}
			rows, err := allWorkspaces(ctx, c, search)
			if err != nil {
				return err
			}
			return l.write(a, rows)
		},
	}
}

// allWorkspaces reads every page of a search.
func allWorkspaces(ctx context.Context, c *client.Client, search string) ([]coder.Workspace, error) {
	var all []coder.Workspace
	for {
		q := url.Values{"limit": {"100"}, "offset": {fmt.Sprint(len(all))}}
		if search != "" {
			q.Set("q", search)
		}
		page, err := c.Workspaces(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Workspaces...)
		if len(page.Workspaces) == 0 || len(all) >= page.Count {
			return all, nil
		}
	}
}

func (a *app) workspaceColumns() []column[coder.Workspace] {
	type row = coder.Workspace
	return []column[row]{
		{"favorite", func(w row) string { return yesNo(w.Favorite) }},
		{"workspace", func(w row) string { return w.OwnerName + "/" + w.Name }},
		{"organization id", func(w row) string { return w.OrganizationID.String() }},
		{"organization name", func(w row) string { return w.OrganizationName }},
		{"template", func(w row) string { return w.TemplateName }},
		{"status", statusText},
		{"healthy", func(w row) string {
			if w.LatestBuild.Transition != coder.WorkspaceTransitionStart {
				return ""
			}
			return yesNo(w.Health.Healthy)
		}},
		{"last built", func(w row) string { return a.ago(w.LatestBuild.CreatedAt) }},
		{"current version", func(w row) string { return w.LatestBuild.TemplateVersionName }},
		{"outdated", func(w row) string { return yesNo(w.Outdated) }},
		{"starts at", func(w row) string { return startsAt(w) }},
		{"starts next", func(w row) string { return dateOf(w.NextStartAt) }},
		{"stops after", func(w row) string { return stopsAfter(w) }},
		{"stops next", func(w row) string { return a.stopsNext(w) }},
		{"daily cost", func(w row) string { return fmt.Sprint(w.LatestBuild.DailyCost) }},
	}
}

func stopsAfter(w coder.Workspace) string {
	if w.TTLMS == nil || *w.TTLMS == 0 {
		return ""
	}
	return terminal.Span(time.Duration(*w.TTLMS) * time.Millisecond)
}

func (a *app) stopsNext(w coder.Workspace) string {
	d := w.LatestBuild.Deadline
	if d == nil || d.IsZero() || w.LatestBuild.Transition != coder.WorkspaceTransitionStart {
		return ""
	}
	return date(*d) + " (in " + terminal.Span(d.Sub(a.now())) + ")"
}
