package template

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// templateLimits are times of a template's life that create and edit set.
type templateLimits struct {
	ttl, failure, dormancy, deletion time.Duration
	requireActive, private           bool
}

func templatesCreateCommand(a *app.Run) *app.Command {
	var s source
	var l templateLimits
	options := append([]*option.Option{option.Bool(&l.private, "private", "Let only administrators use the template at first.")}, s.variableOptions()...)
	options = append(options,
		option.Duration(&l.ttl, "default-ttl", "How long a started workspace runs by default.").Def("24h"),
		option.Duration(&l.failure, "failure-ttl", "Stop workspaces whose start failed after this time; 0 does not.").Def("0h"),
		option.Duration(&l.dormancy, "dormancy-threshold", "Make workspaces dormant that are not used for this time; 0 does not.").Def("0h"),
		option.Duration(&l.deletion, "dormancy-auto-deletion", "Delete workspaces that are dormant for this time; 0 does not.").Def("0h"),
		option.Bool(&l.requireActive, "require-active-version", "Let workspaces be started on the active version only.").Def("false"),
		app.Yes(&s.yes), app.Org(&s.org))
	return &app.Command{
		Name: "create", Args: "[name]", Max: 1,
		Short:   "Make a template from a directory; 'push' and 'edit' do the same and more.",
		Options: append(options, s.directoryOptions()...),
		Run:     func(ctx context.Context, args []string) error { return templatesCreate(ctx, a, args, &s, &l) },
	}
}

func templatesCreate(ctx context.Context, a *app.Run, args []string, s *source, l *templateLimits) error {
	name, err := s.templateName(args)
	if err != nil {
		return err
	}
	c, o, err := a.ClientAndOrganization(ctx, s.org)
	if err != nil {
		return err
	}
	if _, err := c.TemplateByName(ctx, o.ID.String(), name); err == nil {
		return coder.Errorf(coder.CodeConflict, "there is a template %q already; upload a new version with 'coder templates push %s'", name, name)
	} else if !coder.Is(err, coder.CodeNotFound) {
		return err
	}
	v, err := importVersion(ctx, a, c, o, coder.Template{}, s)
	if err != nil {
		return err
	}
	if err := a.Confirm("Make the template "+name+"?", s.yes); err != nil {
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
	_, err = fmt.Fprintf(a.Stdout, "Made template %s. Make a workspace of it with: coder create --template %s\n", name, name)
	return err
}
