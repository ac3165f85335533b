package cli

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/autostart"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// followBuild shows the log of a build until it is finished.
func (a *app) followBuild(ctx context.Context, c *client.Client, b coder.WorkspaceBuild) error {
	id := b.ID
	err := a.follow(ctx, watch{
		client: c, logs: "/workspacebuilds/" + id.String() + "/logs",
		job: func(ctx context.Context) (coder.ProvisionerJob, error) {
			now, err := c.WorkspaceBuild(ctx, id)
			return now.Job, err
		},
		goesOn: "The build goes on; 'coder logs " + b.WorkspaceName + " -f' shows it.",
	})
	if err != nil {
		return fmt.Errorf("%s of workspace %s: %w", b.Transition, b.WorkspaceName, err)
	}
	return nil
}

// build starts a build and follows it.
func (a *app) runBuild(ctx context.Context, c *client.Client, w coder.Workspace, req coder.CreateWorkspaceBuildRequest) error {
	if req.Reason == "" {
		req.Reason = coder.CreateWorkspaceBuildReasonCLI
	}
	b, err := c.CreateWorkspaceBuild(ctx, w.ID, req)
	if err != nil {
		return err
	}
	return a.followBuild(ctx, c, b)
}

// awaitBuild follows the unfinished build of a workspace, if there is one, and
// gives the workspace as it is then.
func (a *app) awaitBuild(ctx context.Context, c *client.Client, w coder.Workspace) (coder.Workspace, error) {
	if finished(w.LatestBuild.Job.Status) {
		return w, nil
	}
	fmt.Fprintf(a.stderr, "Waiting for the build of %s that is under way.\n", w.Name)
	if err := a.followBuild(ctx, c, w.LatestBuild); err != nil {
		return w, err
	}
	return c.Workspace(ctx, w.ID, nil)
}

// createOptions are the flags of create.
type createOptions struct {
	template, version, preset, startAt string
	stopAfter                          time.Duration
	updates, copyFrom, org             string
	yes                                bool
	in                                 inputs
}

func (a *app) createCommand() *command {
	var o createOptions
	return &command{
		name: "create", args: "[workspace]", max: 1,
		short: "Make a workspace from a template.",
		examples: []example{
			{"Make one and be asked for what the template wants to know", "coder create --template docker dev"},
			{"Make one without being asked", "coder create --template docker dev --parameter region=eu --use-parameter-defaults --yes"},
			{"Make one for somebody else, which needs the right to", "coder create alice/dev --template docker"},
		},
		options: []*option.Option{
			option.String(&o.template, "template", "Template to make it from.").Short("t").Env("CODER_TEMPLATE_NAME"),
			option.String(&o.version, "template-version", "Version of the template; the active one otherwise.").Env("CODER_TEMPLATE_VERSION"),
			option.String(&o.preset, "preset", "Preset of parameter values, or \"none\".").Env("CODER_PRESET_NAME"),
			option.String(&o.startAt, "start-at", "When it starts by itself, such as \"9:30AM Mon-Fri Europe/Lisbon\".").Env("CODER_WORKSPACE_START_AT"),
			option.Duration(&o.stopAfter, "stop-after", "How long it runs after a start, such as 8h.").Env("CODER_WORKSPACE_STOP_AFTER"),
			option.String(&o.updates, "automatic-updates", "Whether it moves to the active version at each start: always or never.").Env("CODER_WORKSPACE_AUTOMATIC_UPDATES").Def("never"),
			option.String(&o.copyFrom, "copy-parameters-from", "Workspace to take parameter values from.").Env("CODER_WORKSPACE_COPY_PARAMETERS_FROM"),
			option.Bool(&o.in.useDefaults, "use-parameter-defaults", "Take the default of every parameter that has one, without being asked.").Env("CODER_WORKSPACE_USE_PARAMETER_DEFAULTS"),
			yes(&o.yes),
			o.in.parameterOption(), o.in.fileOption(), o.in.defaultOption(),
			org(&o.org),
		},
		run: func(ctx context.Context, args []string) error { return a.create(ctx, args, &o) },
	}
}

func (a *app) create(ctx context.Context, args []string, o *createOptions) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	name, owner, err := a.newWorkspaceName(ctx, c, args)
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
		if from, _, err = a.workspace(ctx, c, o.copyFrom); err != nil {
			return err
		}
	}
	switch {
	case o.template != "":
		t, err = a.template(ctx, c, o.org, o.template)
	case o.copyFrom != "":
		t, err = c.Template(ctx, from.TemplateID)
	default:
		t, err = a.pickTemplate(ctx, c, o.org, "use --template")
	}
	if err != nil {
		return err
	}
	version, err := o.pickVersion(ctx, a, c, t, &req)
	if err != nil {
		return err
	}
	if err := o.fillParameters(ctx, a, c, version, from, &req); err != nil {
		return err
	}
	if err := a.confirm(fmt.Sprintf("Make the workspace %s from template %s?", name, t.Name), o.yes); err != nil {
		return err
	}
	w, err := c.CreateWorkspace(ctx, owner, req)
	if err != nil {
		return err
	}
	if err := a.followBuild(ctx, c, w.LatestBuild); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "The workspace %s is made. Open a shell in it with: coder ssh %s\n", a.painter(a.stdout).Bold(w.Name), shortRef(w, owner))
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
func (a *app) newWorkspaceName(ctx context.Context, c *client.Client, args []string) (name, owner string, err error) {
	owner = "me"
	if len(args) == 1 {
		t, err := parseTarget(args[0])
		if err != nil || t.agent != "" {
			return "", "", failure("%q is no name for a workspace", args[0])
		}
		name, owner = t.workspace, t.owner
		if err := coder.CheckName("name", name); err != nil {
			return "", "", err
		}
	} else {
		name, err = a.ask("Name of the workspace:", coder.RandomName(), "name it: coder create <workspace>", func(s string) error {
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

func (o *createOptions) schedule(a *app, req *coder.CreateWorkspaceRequest) error {
	if o.startAt != "" {
		cron, err := autostart.Cron(o.startAt, a.env)
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
		return failure("--automatic-updates: %s", err)
	}
	req.AutomaticUpdates = coder.AutomaticUpdates(policy)
	return nil
}

// pickVersion chooses the version, and puts into req what names it.
func (o *createOptions) pickVersion(ctx context.Context, a *app, c *client.Client, t coder.Template, req *coder.CreateWorkspaceRequest) (uuid.UUID, error) {
	if o.version == "" {
		req.TemplateID = t.ID
		return t.ActiveVersionID, nil
	}
	v, err := a.version(ctx, c, t, o.version)
	if err != nil {
		return uuid.Nil, err
	}
	req.TemplateVersionID = v.ID
	return v.ID, nil
}

// fillParameters puts the preset and the parameter values into req.
func (o *createOptions) fillParameters(ctx context.Context, a *app, c *client.Client, version uuid.UUID, from coder.Workspace, req *coder.CreateWorkspaceRequest) error {
	preset, err := a.pickPreset(ctx, c, version, o.preset, o.yes || o.in.useDefaults)
	if err != nil {
		return err
	}
	defs, err := c.TemplateVersionParameters(ctx, version)
	if err != nil {
		return err
	}
	r := resolver{app: a, defs: defs, in: &o.in, create: true, quiet: o.yes}
	if preset != nil {
		req.TemplateVersionPresetID = &preset.ID
		r.preset = preset.Parameters
	}
	if o.copyFrom != "" {
		if r.copied, err = c.WorkspaceBuildParameters(ctx, from.LatestBuild.ID); err != nil {
			return err
		}
	}
	req.RichParameterValues, err = r.resolve()
	return err
}

func (a *app) deleteCommand() *command {
	var orphan, sure bool
	return a.simple(command{
		name: "delete", aliases: []string{"rm"}, args: "<workspace>",
		short: "Delete a workspace and what it is made of.",
		options: []*option.Option{
			option.Bool(&orphan, "orphan", "Delete the workspace alone and leave its infrastructure behind, which needs the right to manage its template."),
			yes(&sure),
		},
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, _ []string) error {
		question := fmt.Sprintf("Delete the workspace %s and everything in it?", w.Name)
		if orphan {
			question = fmt.Sprintf("Delete the workspace %s, and leave what it is made of behind?", w.Name)
		}
		if err := a.confirm(question, sure); err != nil {
			return err
		}
		req := coder.CreateWorkspaceBuildRequest{Transition: coder.WorkspaceTransitionDelete, Orphan: orphan}
		if err := a.runBuild(ctx, c, w, req); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.stdout, "Deleted workspace %s.\n", w.Name)
		return err
	})
}

// logsCommand shows the log of a build, and then those of the agents.
func (a *app) logsCommand() *command {
	var number int32
	var follow bool
	return a.simple(command{
		name: "logs", args: "<workspace>",
		short: "Show the log of a workspace's build and of its agents' scripts.",
		options: []*option.Option{
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
		if follow && !finished(b.Job.Status) {
			if err := a.followBuild(ctx, c, b); err != nil {
				return err
			}
			b, err := c.WorkspaceBuild(ctx, b.ID)
			if err != nil {
				return err
			}
			return a.agentLogs(ctx, c, b, true)
		}
		lines, err := c.WorkspaceBuildLogs(ctx, b.ID, nil)
		if err != nil {
			return err
		}
		for _, l := range lines {
			fmt.Fprintf(a.stdout, "%s [%s] %s: %s\n", date(l.CreatedAt), l.LogLevel, l.Stage, l.Output)
		}
		return a.agentLogs(ctx, c, b, follow)
	})
}

// agentLogs shows what the agents of a build wrote, and goes on with follow.
func (a *app) agentLogs(ctx context.Context, c *client.Client, b coder.WorkspaceBuild, follow bool) error {
	group := make(chan error)
	running := 0
	for _, r := range b.Resources {
		for _, agent := range r.Agents {
			print := func(lines []coder.WorkspaceAgentLog) {
				for _, l := range lines {
					fmt.Fprintf(a.stdout, "%s [%s] agent %s: %s\n", date(l.CreatedAt), l.Level, agent.Name, l.Output)
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
			go func() { group <- followAgent(ctx, c, agent.ID, print) }()
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

// followAgent reads the log of an agent as it grows.
func followAgent(ctx context.Context, c *client.Client, agent uuid.UUID, each func([]coder.WorkspaceAgentLog)) error {
	return client.Follow(ctx, c, "/workspaceagents/"+agent.String()+"/logs", url.Values{"follow": {"true"}}, func(lines []coder.WorkspaceAgentLog) error {
		each(lines)
		return nil
	})
}
