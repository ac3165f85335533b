package template

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// templateLimits holds the schedule settings that templates create sets.
type templateLimits struct {
	ttl, failure, dormancy, deletion time.Duration
	requireActive, private           bool
}

func templatesCreateCommand(a *command.Run) *command.Command {
	var s source
	var l templateLimits
	options := append([]*option.Option{option.Bool(&l.private, "private", "Restrict access to administrators at first")}, s.variableOptions()...)
	options = append(options,
		option.Duration(&l.ttl, "default-ttl", "Default autostop after a start").Def("24h"),
		option.Duration(&l.failure, "failure-ttl", "Time after which workspaces with a failed start are stopped; 0 disables").Def("0h"),
		option.Duration(&l.dormancy, "dormancy-threshold", "Time without use after which workspaces become dormant; 0 disables").Def("0h"),
		option.Duration(&l.deletion, "dormancy-auto-deletion", "Time after which dormant workspaces are deleted; 0 disables").Def("0h"),
		option.Bool(&l.requireActive, "require-active-version", "Require workspaces to start on the active version").Def("false"),
		command.Yes(&s.yes), command.Org(&s.org))
	return &command.Command{
		Name: "create", Args: "[name]", Max: 1,
		Short:   "Create a template from a directory (deprecated: use push and edit)",
		Options: append(options, s.directoryOptions()...),
		Run:     func(ctx context.Context, args []string) error { return templatesCreate(ctx, a, args, &s, &l) },
	}
}

func templatesCreate(ctx context.Context, a *command.Run, args []string, s *source, l *templateLimits) error {
	name, err := s.templateName(args)
	if err != nil {
		return err
	}
	c, o, err := a.ClientAndOrganization(ctx, s.org)
	if err != nil {
		return err
	}
	if _, err := c.TemplateByName(ctx, o.ID.String(), name); err == nil {
		return codersdk.Errorf(codersdk.CodeConflict, "template %q already exists; upload a new version with 'coder templates push %s'", name, name)
	} else if !codersdk.Is(err, codersdk.CodeNotFound) {
		return err
	}
	v, err := importVersion(ctx, a, c, o, codersdk.Template{}, s)
	if err != nil {
		return err
	}
	if err := a.Confirm("Create template "+name+"?", s.yes); err != nil {
		return err
	}
	req := newTemplate(name, v.ID)
	req.DefaultTTLMS = l.ttl.Milliseconds()
	req.FailureTTLMS = l.failure.Milliseconds()
	req.DormantTTLMS = l.dormancy.Milliseconds()
	req.DeleteTTLMS = l.deletion.Milliseconds()
	req.RequireActiveVersion = l.requireActive
	req.DisableEveryoneGroupAccess = l.private
	if _, err := c.CreateTemplate(ctx, o.ID.String(), req); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "Created template %s. Create a workspace with: coder create --template %s\n", name, name)
	return err
}
