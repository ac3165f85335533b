// Package workspace is the command group for workspaces that needs no
// connection to one: create, start, stop, update, delete, list, schedules, logs
// and states. Builds and parameters are handled by package build.
package workspace

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Commands returns the commands of this package.
func Commands(a *command.Run) []*command.Command {
	return []*command.Command{
		createCommand(a), startCommand(a), stopCommand(a), restartCommand(a), updateCommand(a),
		deleteCommand(a), renameCommand(a), listCommand(a), showCommand(a),
		favoriteCommand(a), unfavoriteCommand(a), autoupdateCommand(a),
		scheduleCommand(a), logsCommand(a), externalCommand(a),
	}
}

func favoriteCommand(a *command.Run) *command.Command {
	return build.OnWorkspace(a, command.Command{
		Name: "favorite", Aliases: []string{"fav", "favourite"}, Args: "<workspace>",
		Short: "Add a workspace to your favorites",
	}, func(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, _ []string) error {
		if err := c.FavoriteWorkspace(ctx, w.ID); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.Stdout, "Added %s to your favorites.\n", w.Name)
		return err
	})
}

func unfavoriteCommand(a *command.Run) *command.Command {
	return build.OnWorkspace(a, command.Command{
		Name: "unfavorite", Aliases: []string{"unfav", "unfavourite"}, Args: "<workspace>",
		Short: "Remove a workspace from your favorites",
	}, func(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, _ []string) error {
		if err := c.UnfavoriteWorkspace(ctx, w.ID); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.Stdout, "Removed %s from your favorites.\n", w.Name)
		return err
	})
}

func autoupdateCommand(a *command.Run) *command.Command {
	var sure bool
	return build.OnWorkspace(a, command.Command{
		Name: "autoupdate", Args: "<workspace> <always|never>", Min: 2, Max: 2,
		Short:   "Set the automatic update policy of a workspace",
		Options: []*option.Option{command.Yes(&sure)},
	}, func(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, args []string) error {
		policy, err := option.OneOf(args[0], []string{"always", "never"})
		if err != nil {
			return command.Failure("%s", err)
		}
		if err := a.Confirm(fmt.Sprintf("Set automatic updates of %s to %s?", w.Name, policy), sure); err != nil {
			return err
		}
		req := codersdk.UpdateWorkspaceAutomaticUpdatesRequest{AutomaticUpdates: codersdk.AutomaticUpdates(policy)}
		if err := c.UpdateWorkspaceAutomaticUpdates(ctx, w.ID, req); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Stdout, "Set automatic updates of %s to %s.\n", w.Name, policy)
		return err
	})
}

func renameCommand(a *command.Run) *command.Command {
	var sure bool
	return build.OnWorkspace(a, command.Command{
		Name: "rename", Args: "<workspace> <new name>", Min: 2, Max: 2,
		Short: "Rename a workspace",
		Long: "Requires --allow-workspace-renames on the server. Resources that the template names after the " +
			"workspace may be replaced at the next build and lose their data.",
		Options: []*option.Option{command.Yes(&sure)},
	}, func(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, args []string) error {
		if err := codersdk.CheckName("name", args[0]); err != nil {
			return err
		}
		if err := a.Confirm(fmt.Sprintf("Rename %s to %s? Resources that the template names after the workspace may be replaced and lose their data.", w.Name,
			args[0]), sure); err != nil {
			return err
		}
		if err := c.UpdateWorkspace(ctx, w.ID, codersdk.UpdateWorkspaceRequest{Name: args[0]}); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.Stdout, "Renamed %s to %s.\n", w.Name, args[0])
		return err
	})
}

func showCommand(a *command.Run) *command.Command {
	var details bool
	return build.OnWorkspace(a, command.Command{
		Name: "show", Args: "<workspace>",
		Short:   "Show a workspace, its resources and how to connect to them",
		Options: []*option.Option{option.Bool(&details, "details", "Show metadata and hidden resources").Def("false")},
	}, func(_ context.Context, _ *codersdk.Client, w codersdk.Workspace, _ []string) error {
		p := a.Painter(a.Stdout)
		fmt.Fprintf(a.Stdout, "%s  %s\n", p.Bold(w.OwnerName+"/"+w.Name), statusText(w))
		version := w.LatestBuild.TemplateVersionName
		if w.Outdated {
			version += ", update available: coder update " + w.Name
		}
		fmt.Fprintf(a.Stdout, "Template %s, version %s. Build %d by %s, %s.\n", w.TemplateName, version,
			w.LatestBuild.BuildNumber, w.LatestBuild.InitiatorName, a.Ago(w.LatestBuild.CreatedAt))
		if w.LatestBuild.Job.Error != "" {
			fmt.Fprintf(a.Stdout, "%s %s\n", p.Red("The build failed:"), w.LatestBuild.Job.Error)
		}
		if d := w.LatestBuild.Deadline; d != nil && !d.IsZero() && w.LatestBuild.Transition == codersdk.WorkspaceTransitionStart {
			fmt.Fprintf(a.Stdout, "Stops at %s.\n", command.Date(*d))
		}
		fmt.Fprintln(a.Stdout)
		return showResources(a, w, details)
	})
}

// statusText returns a workspace's status with an initial capital.
func statusText(w codersdk.Workspace) string {
	s := string(w.LatestBuild.Status)
	if s == "" {
		return "Unknown"
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func listCommand(a *command.Run) *command.Command {
	return workspaceList(a, command.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short: "List workspaces",
		Examples: []command.Example{
			{Text: "List the running workspaces of all users", Line: "coder list --all --search status:running"},
			{Text: "Print only the names", Line: "coder list -o json | jq -r '.[].name'"},
		},
	}, workspaceListing{
		columns: "workspace,template,status,healthy,last built,current version,outdated,starts at,stops after",
		noMatch: "No workspaces found. Create one with 'coder create <name>'.",
	})
}

// workspaceListing holds the differences between the commands that list
// workspaces.
type workspaceListing struct {
	columns string // shown by default
	noMatch string // printed on standard error when nothing is found
	// filter returns terms that are added to every search; nil means none.
	filter func(context.Context, *codersdk.Client) (string, error)
}

// workspaceList completes a command that lists workspaces.
func workspaceList(a *command.Run, c command.Command, how workspaceListing) *command.Command {
	l := &command.Listing[codersdk.Workspace]{All: workspaceColumns(a), NoMatch: how.noMatch}
	var all bool
	var search string
	searchOption := option.String(&search, "search", "Search query to filter by").Def("owner:me")
	c.Options = []*option.Option{
		option.Bool(&all, "all", "Include workspaces of all users that you can access").Short("a"), searchOption,
		l.ColumnOption(how.columns), l.FormatOption(),
	}
	c.Run = func(ctx context.Context, _ []string) error {
		cl, err := a.Client(ctx)
		if err != nil {
			return err
		}
		if all && !searchOption.Given() {
			search = ""
		}
		if how.filter != nil {
			terms, err := how.filter(ctx, cl)
			if err != nil {
				return err
			}
			search = strings.TrimSpace(search + " " + terms)
		}
		rows, err := allWorkspaces(ctx, cl, search)
		if err != nil {
			return err
		}
		return l.Write(a, rows)
	}
	return &c
}

// allWorkspaces reads every page of a search.
func allWorkspaces(ctx context.Context, c *codersdk.Client, search string) ([]codersdk.Workspace, error) {
	var all []codersdk.Workspace
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

func workspaceColumns(a *command.Run) []command.Column[codersdk.Workspace] {
	type row = codersdk.Workspace
	return []command.Column[row]{
		{Name: "favorite", Show: func(w row) string { return command.YesNo(w.Favorite) }},
		{Name: "workspace", Show: func(w row) string { return w.OwnerName + "/" + w.Name }},
		{Name: "organization id", Show: func(w row) string { return w.OrganizationID.String() }},
		{Name: "organization name", Show: func(w row) string { return w.OrganizationName }},
		{Name: "template", Show: func(w row) string { return w.TemplateName }},
		{Name: "status", Show: statusText},
		{Name: "healthy", Show: func(w row) string {
			if w.LatestBuild.Transition != codersdk.WorkspaceTransitionStart {
				return ""
			}
			return command.YesNo(w.Health.Healthy)
		}},
		{Name: "last built", Show: func(w row) string { return a.Ago(w.LatestBuild.CreatedAt) }},
		{Name: "current version", Show: func(w row) string { return w.LatestBuild.TemplateVersionName }},
		{Name: "outdated", Show: func(w row) string { return command.YesNo(w.Outdated) }},
		{Name: "starts at", Show: func(w row) string { return startsAt(w) }},
		{Name: "starts next", Show: func(w row) string { return command.DateOf(w.NextStartAt) }},
		{Name: "stops after", Show: func(w row) string { return stopsAfter(w) }},
		{Name: "stops next", Show: func(w row) string { return stopsNext(a, w) }},
		{Name: "daily cost", Show: func(w row) string { return fmt.Sprint(w.LatestBuild.DailyCost) }},
	}
}

func stopsAfter(w codersdk.Workspace) string {
	if w.TTLMS == nil || *w.TTLMS == 0 {
		return ""
	}
	return terminal.Span(time.Duration(*w.TTLMS) * time.Millisecond)
}

func stopsNext(a *command.Run, w codersdk.Workspace) string {
	d := w.LatestBuild.Deadline
	if d == nil || d.IsZero() || w.LatestBuild.Transition != codersdk.WorkspaceTransitionStart {
		return ""
	}
	return command.Date(*d) + " (in " + terminal.Span(d.Sub(a.Now())) + ")"
}
