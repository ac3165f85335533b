package workspace

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/autostart"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// createOptions are the flags of create.
type createOptions struct {
	template, version, preset, startAt string
	stopAfter                          time.Duration
	updates, copyFrom, org             string
	yes                                bool
	in                                 build.Inputs
}

func createCommand(a *app.Run) *app.Command {
	var o createOptions
	return &app.Command{
		Name: "create", Args: "[workspace]", Max: 1,
		Short: "Make a workspace from a template.",
		Examples: []app.Example{
			{Text: "Make one and be asked for what the template wants to know", Line: "coder create --template docker dev"},
			{Text: "Make one without being asked", Line: "coder create --template docker dev --parameter region=eu --use-parameter-defaults --yes"},
			{Text: "Make one for somebody else, which needs the right to", Line: "coder create alice/dev --template docker"},
		},
		Options: []*option.Option{
			option.String(&o.template, "template", "Template to make it from.").Short("t").Env("CODER_TEMPLATE_NAME"),
			option.String(&o.version, "template-version", "Version of the template; the active one otherwise.").Env("CODER_TEMPLATE_VERSION"),
			option.String(&o.preset, "preset", "Preset of parameter values, or \"none\".").Env("CODER_PRESET_NAME"),
			option.String(&o.startAt, "start-at", "When it starts by itself, such as \"9:30AM Mon-Fri Europe/Lisbon\".").Env("CODER_WORKSPACE_START_AT"),
			option.Duration(&o.stopAfter, "stop-after", "How long it runs after a start, such as 8h.").Env("CODER_WORKSPACE_STOP_AFTER"),
			option.String(&o.updates, "automatic-updates", "Whether it moves to the active version at each start: always or never.").Env("CODER_WORKSPACE_AUTOMATIC_UPDATES").Def("never"),
			option.String(&o.copyFrom, "copy-parameters-from", "Workspace to take parameter values from.").Env("CODER_WORKSPACE_COPY_PARAMETERS_FROM"),
			option.Bool(&o.in.UseDefaults, "use-parameter-defaults", "Take the default of every parameter that has one, without being asked.").Env("CODER_WORKSPACE_USE_PARAMETER_DEFAULTS"),
			app.Yes(&o.yes),
			o.in.ParameterOption(), o.in.FileOption(), o.in.DefaultOption(),
			app.Org(&o.org),
		},
		Run: func(ctx context.Context, args []string) error { return create(ctx, a, args, &o) },
	}
}

func create(ctx context.Context, a *app.Run, args []string, o *createOptions) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	name, owner, err := newWorkspaceName(ctx, a, c, args)
	if err != nil {
		return err
	}
	req := coder.CreateWorkspaceRequest{Name: name}
	if err := o.schedule(a, &req); err != nil {
		return err
	}
	var t coder.Template
	var from coder.Workspace
	if o.copyFrom != "" {
		if from, _, err = build.Workspace(ctx, a, c, o.copyFrom); err != nil {
			return err
		}
	}
	switch {
	case o.template != "":
		t, err = build.Template(ctx, a, c, o.org, o.template)
	case o.copyFrom != "":
		t, err = c.Template(ctx, from.TemplateID)
	default:
		t, err = build.PickTemplate(ctx, a, c, o.org, "use --template")
	}
	if err != nil {
		return err
	}
	version, err := o.pickVersion(ctx, a, c, t, &req)
	if err != nil {
		return err
	}
	if err := o.fillParameters(ctx, a, c, version, owner, from, &req); err != nil {
		return err
	}
	if err := a.Confirm(fmt.Sprintf("Make the workspace %s from template %s?", name, t.Name), o.yes); err != nil {
		return err
	}
	w, err := c.CreateWorkspace(ctx, owner, req)
	if err != nil {
		return err
	}
	if err := build.Follow(ctx, a, c, w.LatestBuild); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "The workspace %s is made. Open a shell in it with: coder ssh %s\n", a.Painter(a.Stdout).Bold(w.Name), shortRef(w, owner))
	return err
}

// shortRef names a workspace as its user would: without the owner when that
// is themself.
func shortRef(w coder.Workspace, owner string) string {
	if owner == "me" {
		return w.Name
	}
	return w.OwnerName + "/" + w.Name
}

// newWorkspaceName reads or asks for a name that nobody has.
func newWorkspaceName(ctx context.Context, a *app.Run, c *client.Client, args []string) (name, owner string, err error) {
	owner = "me"
	if len(args) == 1 {
		t, err := build.ParseTarget(args[0])
		if err != nil || t.Agent != "" {
			return "", "", app.Failure("%q is no name for a workspace", args[0])
		}
		name, owner = t.Workspace, t.Owner
		if err := coder.CheckName("name", name); err != nil {
			return "", "", err
		}
	} else {
		name, err = a.Ask("Name of the workspace:", coder.RandomName(), "name it: coder create <workspace>", func(s string) error {
			return coder.CheckName("name", s)
		})
		if err != nil {
			return "", "", err
		}
	}
	_, err = c.WorkspaceByOwnerAndName(ctx, owner, name, nil)
	switch {
	case err == nil:
		return "", "", coder.Errorf(coder.CodeConflict, "there is a workspace %q already", name)
	case coder.Is(err, coder.CodeNotFound):
		return name, owner, nil
	}
	return "", "", err
}

func (o *createOptions) schedule(a *app.Run, req *coder.CreateWorkspaceRequest) error {
	if o.startAt != "" {
		cron, err := autostart.Cron(o.startAt, a.Env)
		if err != nil {
			return err
		}
		req.AutostartSchedule = &cron
	}
	if o.stopAfter != 0 {
		ms := o.stopAfter.Milliseconds()
		req.TTLMS = &ms
	}
	policy, err := option.OneOf(o.updates, []string{"always", "never"})
	if err != nil {
		return app.Failure("--automatic-updates: %s", err)
	}
	req.AutomaticUpdates = coder.AutomaticUpdates(policy)
	return nil
}

// pickVersion chooses the version, and puts into req what names it.
func (o *createOptions) pickVersion(ctx context.Context, a *app.Run, c *client.Client, t coder.Template, req *coder.CreateWorkspaceRequest) (uuid.UUID, error) {
	if o.version == "" {
		req.TemplateID = t.ID
		return t.ActiveVersionID, nil
	}
	v, err := build.Version(ctx, a, c, t, o.version)
	if err != nil {
		return uuid.Nil, err
	}
	req.TemplateVersionID = v.ID
	return v.ID, nil
}

// fillParameters puts the preset and the parameter values into req.
func (o *createOptions) fillParameters(ctx context.Context, a *app.Run, c *client.Client, version uuid.UUID, owner string, from coder.Workspace, req *coder.CreateWorkspaceRequest) error {
	preset, err := build.PickPreset(ctx, a, c, version, o.preset, o.yes || o.in.UseDefaults)
	if err != nil {
		return err
	}
	form, err := build.FormFor(ctx, c, version, owner)
	if err != nil {
		return err
	}
	r := build.Resolver{App: a, Form: form, In: &o.in, Create: true, Quiet: o.yes}
	if preset != nil {
		req.TemplateVersionPresetID = &preset.ID
		r.Preset = preset.Parameters
	}
	if o.copyFrom != "" {
		if r.Copied, err = c.WorkspaceBuildParameters(ctx, from.LatestBuild.ID); err != nil {
			return err
		}
	}
	req.RichParameterValues, err = r.Resolve()
	return err
}

func deleteCommand(a *app.Run) *app.Command {
	var orphan, sure bool
	return build.OnWorkspace(a, app.Command{
		Name: "delete", Aliases: []string{"rm"}, Args: "<workspace>",
		Short: "Delete a workspace and what it is made of.",
		Options: []*option.Option{
			option.Bool(&orphan, "orphan", "Delete the workspace alone and leave its infrastructure behind, which needs the right to manage its template."),
			app.Yes(&sure),
		},
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, _ []string) error {
		question := fmt.Sprintf("Delete the workspace %s and everything in it?", w.Name)
		if orphan {
			question = fmt.Sprintf("Delete the workspace %s, and leave what it is made of behind?", w.Name)
		}
		if err := a.Confirm(question, sure); err != nil {
			return err
		}
		req := coder.CreateWorkspaceBuildRequest{Transition: coder.WorkspaceTransitionDelete, Orphan: orphan}
		if err := build.Run(ctx, a, c, w, req); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.Stdout, "Deleted workspace %s.\n", w.Name)
		return err
	})
}

// logsCommand shows the log of a build, and then those of the agents.
func logsCommand(a *app.Run) *app.Command {
	var number int32
	var follow bool
	return build.OnWorkspace(a, app.Command{
		Name: "logs", Args: "<workspace>",
		Short: "Show the log of a workspace's build and of its agents' scripts.",
		Options: []*option.Option{
			option.Int(&number, "build-number", "Which build; 0 is the latest, -1 the one before it.").Short("n").Def("0"),
			option.Bool(&follow, "follow", "Go on as the log grows.").Short("f").Def("false"),
		},
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, _ []string) error {
		b := w.LatestBuild
		if number != 0 {
			if number < 0 {
				number += b.BuildNumber
			}
			var err error
			if b, err = c.WorkspaceBuildByNumber(ctx, w.OwnerName, w.Name, number); err != nil {
				return err
			}
		}
		if follow && !app.Finished(b.Job.Status) {
			if err := build.Follow(ctx, a, c, b); err != nil {
				return err
			}
			b, err := c.WorkspaceBuild(ctx, b.ID)
			if err != nil {
				return err
			}
			return agentLogs(ctx, a, c, b, true)
		}
		lines, err := c.WorkspaceBuildLogs(ctx, b.ID, nil)
		if err != nil {
			return err
		}
		for _, l := range lines {
			text := l.Stage
			if l.Output != "" { // a stage begins with an empty line of its own
				text += ": " + l.Output
			}
			fmt.Fprintf(a.Stdout, "%s [%s] %s\n", app.Date(l.CreatedAt), l.LogLevel, text)
		}
		return agentLogs(ctx, a, c, b, follow)
	})
}

// agentLogs shows what the agents of a build wrote, and goes on with follow.
func agentLogs(ctx context.Context, a *app.Run, c *client.Client, b coder.WorkspaceBuild, follow bool) error {
	group := make(chan error)
	running := 0
	for _, r := range b.Resources {
		for _, agent := range r.Agents {
			print := func(lines []coder.WorkspaceAgentLog) {
				for _, l := range lines {
					fmt.Fprintf(a.Stdout, "%s [%s] agent %s: %s\n", app.Date(l.CreatedAt), l.Level, agent.Name, l.Output)
				}
			}
			if !follow {
				lines, err := c.WorkspaceAgentLogs(ctx, agent.ID, nil)
				if err != nil {
					return err
				}
				print(lines)
				continue
			}
			running++
			go func() { group <- build.FollowAgent(ctx, c, agent.ID, print) }()
		}
	}
	var err error
	for range running {
		if e := <-group; e != nil {
			err = e
		}
	}
	return err
}
