package workspace

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/autostart"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/rule/handedover"
)

// createOptions holds the flags of create.
type createOptions struct {
	template, version, preset, startAt string
	stopAfter                          time.Duration
	updates, copyFrom, org             string
	yes                                bool
	in                                 build.Inputs
	// external refuses templates without an external agent.
	external bool
}

// options returns the flags of create and of external-workspaces create.
func (o *createOptions) options() []*option.Option {
	return append([]*option.Option{
		option.String(&o.template, "template", "Template of the workspace").Short("t").Env("CODER_TEMPLATE_NAME"),
		option.String(&o.version, "template-version", "Template version (default: the active version)").Env("CODER_TEMPLATE_VERSION"),
		option.String(&o.preset, "preset", "Preset of parameter values, or \"none\"").Env("CODER_PRESET_NAME"),
		option.String(&o.startAt, "start-at", "Autostart schedule, such as \"9:30AM Mon-Fri Europe/Lisbon\"").Env("CODER_WORKSPACE_START_AT"),
		option.Duration(&o.stopAfter, "stop-after", "Autostop after a start, such as 8h").Env("CODER_WORKSPACE_STOP_AFTER"),
		option.String(&o.updates, "automatic-updates", "Automatic updates: \"always\" to start on the active version, or \"never\"").
			Env("CODER_WORKSPACE_AUTOMATIC_UPDATES").
			Def("never"),
		option.String(&o.copyFrom, "copy-parameters-from", "Workspace whose parameter values to copy").Env("CODER_WORKSPACE_COPY_PARAMETERS_FROM"),
		option.Bool(&o.in.UseDefaults, "use-parameter-defaults", "Use the default of every parameter that has one, without prompting").
			Env("CODER_WORKSPACE_USE_PARAMETER_DEFAULTS"),
		command.Yes(&o.yes),
		o.in.ParameterOption(), o.in.FileOption(), o.in.DefaultOption(),
		command.Org(&o.org),
	}, o.in.EphemeralOptions()...)
}

func createCommand(a *command.Run) *command.Command {
	var o createOptions
	return &command.Command{
		Name: "create", Args: "[workspace]", Max: 1,
		Short: "Create a workspace",
		Examples: []command.Example{
			{Text: "Create a workspace and answer the prompts for parameters", Line: "coder create --template docker dev"},
			{Text: "Create a workspace without prompts", Line: "coder create --template docker dev --parameter region=eu --use-parameter-defaults --yes"},
			{Text: "Create a workspace for another user (requires permission)", Line: "coder create alice/dev --template docker"},
		},
		Options: o.options(),
		Run:     func(ctx context.Context, args []string) error { return create(ctx, a, args, &o) },
	}
}

func create(ctx context.Context, a *command.Run, args []string, o *createOptions) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	w, owner, err := createWorkspace(ctx, a, c, args, o)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "Created workspace %s. Open a shell with: coder ssh %s\n", a.Painter(a.Stdout).Bold(w.Name), shortRef(w, owner))
	return err
}

// createWorkspace prompts for missing values, creates the workspace, and
// follows its first build, unless its agents serve the owner before that.
func createWorkspace(ctx context.Context, a *command.Run, c *codersdk.Client, args []string, o *createOptions) (w codersdk.Workspace, owner string, err error) {
	name, owner, err := newWorkspaceName(ctx, a, c, args)
	if err != nil {
		return w, owner, err
	}
	req := codersdk.CreateWorkspaceRequest{Name: name}
	if err = o.schedule(a, &req); err != nil {
		return w, owner, err
	}
	var t codersdk.Template
	var from codersdk.Workspace
	if o.copyFrom != "" {
		if from, _, err = build.Workspace(ctx, a, c, o.copyFrom); err != nil {
			return w, owner, err
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
		return w, owner, err
	}
	version, err := o.pickVersion(ctx, a, c, t, &req)
	if err != nil {
		return w, owner, err
	}
	if o.external {
		if err := checkExternal(ctx, c, t, version); err != nil {
			return w, owner, err
		}
	}
	if err := linkProviders(ctx, a, c, version, owner); err != nil {
		return w, owner, err
	}
	form, err := build.FormFor(ctx, c, version, owner)
	if err != nil {
		return w, owner, err
	}
	r := build.Resolver{App: a, Form: form, In: &o.in, Create: true, Quiet: o.yes}
	if o.copyFrom != "" {
		if r.Copied, err = c.WorkspaceBuildParameters(ctx, from.LatestBuild.ID); err != nil {
			return w, owner, err
		}
	}
	if err := o.fillParameters(ctx, c, version, r, &req); err != nil {
		return w, owner, err
	}
	if err := a.Confirm(fmt.Sprintf("Create workspace %s from template %s?", name, t.Name), o.yes); err != nil {
		return w, owner, err
	}
	if w, err = c.CreateWorkspace(ctx, owner, req); err != nil || handedover.Serves(w.LatestBuild) {
		return w, owner, err
	}
	return w, owner, build.Follow(ctx, a, c, w.LatestBuild)
}

// shortRef returns the name of a workspace, without the owner if that is the
// current user.
func shortRef(w codersdk.Workspace, owner string) string {
	if owner == "me" {
		return w.Name
	}
	return w.OwnerName + "/" + w.Name
}

// newWorkspaceName returns the owner and an unused name, from the argument or a
// prompt.
func newWorkspaceName(ctx context.Context, a *command.Run, c *codersdk.Client, args []string) (name, owner string, err error) {
	owner = "me"
	if len(args) == 1 {
		t, err := build.ParseTarget(args[0])
		if err != nil || t.Agent != "" {
			return "", "", command.Failure("%q is not a valid workspace name", args[0])
		}
		name, owner = t.Workspace, t.Owner
		if err := codersdk.CheckName("name", name); err != nil {
			return "", "", err
		}
	} else {
		name, err = a.Ask("Workspace name:", codersdk.RandomName(), "use 'coder create <workspace>'", func(s string) error {
			return codersdk.CheckName("name", s)
		})
		if err != nil {
			return "", "", err
		}
	}
	_, err = c.WorkspaceByOwnerAndName(ctx, owner, name, nil)
	switch {
	case err == nil:
		return "", "", codersdk.Errorf(codersdk.CodeConflict, "workspace %q already exists; choose another name", name)
	case codersdk.Is(err, codersdk.CodeNotFound):
		return name, owner, nil
	}
	return "", "", err
}

func (o *createOptions) schedule(a *command.Run, req *codersdk.CreateWorkspaceRequest) error {
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
		return command.Failure("--automatic-updates: %s", err)
	}
	req.AutomaticUpdates = codersdk.AutomaticUpdates(policy)
	return nil
}

// pickVersion resolves the template version and sets it in req.
func (o *createOptions) pickVersion(
	ctx context.Context,
	a *command.Run,
	c *codersdk.Client,
	t codersdk.Template,
	req *codersdk.CreateWorkspaceRequest,
) (uuid.UUID, error) {
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

// fillParameters sets the preset and the parameter values in req.
func (o *createOptions) fillParameters(
	ctx context.Context, c *codersdk.Client, version uuid.UUID, r build.Resolver, req *codersdk.CreateWorkspaceRequest,
) error {
	preset, err := build.PickPreset(ctx, r.App, c, version, o.preset, o.yes || o.in.UseDefaults)
	if err != nil {
		return err
	}
	if preset != nil {
		req.TemplateVersionPresetID = &preset.ID
		r.Preset = preset.Parameters
	}
	req.RichParameterValues, err = r.Resolve()
	return err
}

func deleteCommand(a *command.Run) *command.Command {
	var orphan, sure bool
	return build.OnWorkspace(a, command.Command{
		Name: "delete", Aliases: []string{"rm"}, Args: "<workspace>",
		Short: "Delete a workspace and its resources",
		Options: []*option.Option{
			option.Bool(&orphan, "orphan", "Delete only the workspace record and leave its resources behind (requires permission to manage the template)"),
			command.Yes(&sure),
		},
	}, func(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, _ []string) error {
		question := fmt.Sprintf("Delete workspace %s and all its resources?", w.Name)
		if orphan {
			question = fmt.Sprintf("Delete workspace %s and leave its resources behind?", w.Name)
		}
		if err := a.Confirm(question, sure); err != nil {
			return err
		}
		req := codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionDelete, Orphan: orphan}
		if err := build.Run(ctx, a, c, w, req); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.Stdout, "Deleted workspace %s.\n", w.Name)
		return err
	})
}

// logsCommand returns the command that shows the logs of a build and of its
// agents.
func logsCommand(a *command.Run) *command.Command {
	var number int32
	var follow bool
	return build.OnWorkspace(a, command.Command{
		Name: "logs", Args: "<workspace>",
		Short: "Show the logs of a workspace build and of its agents",
		Options: []*option.Option{
			option.Int(&number, "build-number", "Build number; 0 means the latest build, -1 the one before it").Short("n").Def("0"),
			option.Bool(&follow, "follow", "Follow the log").Short("f").Def("false"),
		},
	}, func(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, _ []string) error {
		b := w.LatestBuild
		if number != 0 {
			if number < 0 {
				number += b.BuildNumber
			}
			var err error
			if b, err = c.WorkspaceBuildByNumber(ctx, w.OwnerName, w.Name, number); err != nil {
				if codersdk.Is(err, codersdk.CodeNotFound) {
					err = command.Failure("workspace %s has no build %d; its latest is %d", w.Name, number, w.LatestBuild.BuildNumber)
				}
				return err
			}
		}
		if follow && !command.Finished(b.Job.Status) {
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
			if l.Output != "" { // an empty line starts a stage
				text += ": " + l.Output
			}
			fmt.Fprintf(a.Stdout, "%s [%s] %s\n", command.Date(l.CreatedAt), l.LogLevel, text)
		}
		return agentLogs(ctx, a, c, b, follow)
	})
}

// agentLogs prints the logs of a build's agents, and follows them with
// --follow.
func agentLogs(ctx context.Context, a *command.Run, c *codersdk.Client, b codersdk.WorkspaceBuild, follow bool) error {
	group := make(chan error)
	running := 0
	for _, r := range b.Resources {
		for _, agent := range r.Agents {
			print := func(lines []codersdk.WorkspaceAgentLog) {
				for _, l := range lines {
					fmt.Fprintf(a.Stdout, "%s [%s] agent %s: %s\n", command.Date(l.CreatedAt), l.Level, agent.Name, l.Output)
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
