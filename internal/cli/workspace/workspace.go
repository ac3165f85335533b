// Package workspace is the family of commands about workspaces that need no
// connection into one: make, start, stop, update, delete, list, schedules,
// logs and states. Builds and parameters are the affair of package build.
package workspace

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// Commands are the commands of this family.
func Commands(a *app.Run) []*app.Command {
	return []*app.Command{
		createCommand(a), startCommand(a), stopCommand(a), restartCommand(a), updateCommand(a),
		deleteCommand(a), renameCommand(a), listCommand(a), showCommand(a),
		favoriteCommand(a), unfavoriteCommand(a), autoupdateCommand(a),
		scheduleCommand(a), stateCommand(a), logsCommand(a),
	}
}

func favoriteCommand(a *app.Run) *app.Command {
	return build.OnWorkspace(a, app.Command{
		Name: "favorite", Aliases: []string{"fav", "favourite"}, Args: "<workspace>",
		Short: "List a workspace before the others.",
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, _ []string) error {
		if err := c.FavoriteWorkspace(ctx, w.ID); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.Stdout, "%s is now a favorite.\n", w.Name)
		return err
	})
}

func unfavoriteCommand(a *app.Run) *app.Command {
	return build.OnWorkspace(a, app.Command{
		Name: "unfavorite", Aliases: []string{"unfav", "unfavourite"}, Args: "<workspace>",
		Short: "List a workspace among the others again.",
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, _ []string) error {
		if err := c.UnfavoriteWorkspace(ctx, w.ID); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.Stdout, "%s is no longer a favorite.\n", w.Name)
		return err
	})
}

func autoupdateCommand(a *app.Run) *app.Command {
	var sure bool
	return build.OnWorkspace(a, app.Command{
		Name: "autoupdate", Args: "<workspace> <always|never>", Min: 2, Max: 2,
		Short:   "Say whether a workspace moves to the active version at each start.",
		Options: []*option.Option{app.Yes(&sure)},
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, args []string) error {
		policy, err := option.OneOf(args[0], []string{"always", "never"})
		if err != nil {
			return app.Failure("%s", err)
		}
		if err := a.Confirm(fmt.Sprintf("Update %s automatically: %s?", w.Name, policy), sure); err != nil {
			return err
		}
		if err := c.UpdateWorkspaceAutomaticUpdates(ctx, w.ID, coder.UpdateWorkspaceAutomaticUpdatesRequest{AutomaticUpdates: coder.AutomaticUpdates(policy)}); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Stdout, "Automatic updates of %s: %s.\n", w.Name, policy)
		return err
	})
}

func renameCommand(a *app.Run) *app.Command {
	var sure bool
	return build.OnWorkspace(a, app.Command{
		Name: "rename", Args: "<workspace> <new name>", Min: 2, Max: 2,
		Short:   "Give a workspace another name.",
		Long:    "The server must allow it. A template may use the name for things that cannot be renamed, and would then make them anew at the next build.",
		Options: []*option.Option{app.Yes(&sure)},
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, args []string) error {
		if err := coder.CheckName("name", args[0]); err != nil {
			return err
		}
		if err := a.Confirm(fmt.Sprintf("Rename %s to %s? What the template names after it may be made anew and lose data.", w.Name, args[0]), sure); err != nil {
			return err
		}
		if err := c.UpdateWorkspace(ctx, w.ID, coder.UpdateWorkspaceRequest{Name: args[0]}); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.Stdout, "%s is now named %s.\n", w.Name, args[0])
		return err
	})
}

func showCommand(a *app.Run) *app.Command {
	var details bool
	return build.OnWorkspace(a, app.Command{
		Name: "show", Args: "<workspace>",
		Short:   "Show a workspace, what it is made of, and how to reach it.",
		Options: []*option.Option{option.Bool(&details, "details", "Metadata and hidden resources as well.").Def("false")},
	}, func(_ context.Context, _ *client.Client, w coder.Workspace, _ []string) error {
		p := a.Painter(a.Stdout)
		fmt.Fprintf(a.Stdout, "%s  %s\n", p.Bold(w.OwnerName+"/"+w.Name), statusText(w))
		version := w.LatestBuild.TemplateVersionName
		if w.Outdated {
			version += ", a newer one is active: coder update " + w.Name
		}
		fmt.Fprintf(a.Stdout, "Template %s, version %s. Build %d by %s, %s.\n", w.TemplateName, version,
			w.LatestBuild.BuildNumber, w.LatestBuild.InitiatorName, a.Ago(w.LatestBuild.CreatedAt))
		if w.LatestBuild.Job.Error != "" {
			fmt.Fprintf(a.Stdout, "%s %s\n", p.Red("The build failed:"), w.LatestBuild.Job.Error)
		}
		if d := w.LatestBuild.Deadline; d != nil && !d.IsZero() && w.LatestBuild.Transition == coder.WorkspaceTransitionStart {
			fmt.Fprintf(a.Stdout, "It stops at %s.\n", app.Date(*d))
		}
		fmt.Fprintln(a.Stdout)
		return showResources(a, w, details)
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

func listCommand(a *app.Run) *app.Command {
	l := &app.Listing[coder.Workspace]{All: workspaceColumns(a), NoMatch: "No workspaces. Make one with 'coder create <name>'."}
	var all bool
	var search string
	searchOption := option.String(&search, "search", "Only those that this search finds.").Def("owner:me")
	return &app.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short: "List workspaces.",
		Examples: []app.Example{
			{Text: "Those of everybody that run", Line: "coder list --all --search status:running"},
			{Text: "Names alone, for scripts", Line: "coder list -o json | jq -r '.[].name'"},
		},
		Options: []*option.Option{
			option.Bool(&all, "all", "Those of everybody that you may see.").Short("a"), searchOption,
			l.ColumnOption("workspace,template,status,healthy,last built,current version,outdated,starts at,stops after"), l.FormatOption(),
		},
		Run: func(ctx context.Context, _ []string) error {
			c, err := a.Client(ctx)
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
			return l.Write(a, rows)
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

func workspaceColumns(a *app.Run) []app.Column[coder.Workspace] {
	type row = coder.Workspace
	return []app.Column[row]{
		{Name: "favorite", Show: func(w row) string { return app.YesNo(w.Favorite) }},
		{Name: "workspace", Show: func(w row) string { return w.OwnerName + "/" + w.Name }},
		{Name: "organization id", Show: func(w row) string { return w.OrganizationID.String() }},
		{Name: "organization name", Show: func(w row) string { return w.OrganizationName }},
		{Name: "template", Show: func(w row) string { return w.TemplateName }},
		{Name: "status", Show: statusText},
		{Name: "healthy", Show: func(w row) string {
			if w.LatestBuild.Transition != coder.WorkspaceTransitionStart {
				return ""
			}
			return app.YesNo(w.Health.Healthy)
		}},
		{Name: "last built", Show: func(w row) string { return a.Ago(w.LatestBuild.CreatedAt) }},
		{Name: "current version", Show: func(w row) string { return w.LatestBuild.TemplateVersionName }},
		{Name: "outdated", Show: func(w row) string { return app.YesNo(w.Outdated) }},
		{Name: "starts at", Show: func(w row) string { return startsAt(w) }},
		{Name: "starts next", Show: func(w row) string { return app.DateOf(w.NextStartAt) }},
		{Name: "stops after", Show: func(w row) string { return stopsAfter(w) }},
		{Name: "stops next", Show: func(w row) string { return stopsNext(a, w) }},
		{Name: "daily cost", Show: func(w row) string { return fmt.Sprint(w.LatestBuild.DailyCost) }},
	}
}

func stopsAfter(w coder.Workspace) string {
	if w.TTLMS == nil || *w.TTLMS == 0 {
		return ""
	}
	return terminal.Span(time.Duration(*w.TTLMS) * time.Millisecond)
}

func stopsNext(a *app.Run, w coder.Workspace) string {
	d := w.LatestBuild.Deadline
	if d == nil || d.IsZero() || w.LatestBuild.Transition != coder.WorkspaceTransitionStart {
		return ""
	}
	return app.Date(*d) + " (in " + terminal.Span(d.Sub(a.Now())) + ")"
}
