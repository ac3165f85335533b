package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// templateLimits are times of a template's life that create and edit set.
type templateLimits struct {
	ttl, failure, dormancy, deletion time.Duration
	requireActive, private           bool
}

func (a *app) templatesCreateCommand() *command {
	var s source
	var l templateLimits
	options := append([]*option.Option{option.Bool(&l.private, "private", "Let only administrators use the template at first.")}, s.variableOptions()...)
	options = append(options,
		option.Duration(&l.ttl, "default-ttl", "How long a started workspace runs by default.").Def("24h"),
		option.Duration(&l.failure, "failure-ttl", "Stop workspaces whose start failed after this time; 0 does not.").Def("0h"),
		option.Duration(&l.dormancy, "dormancy-threshold", "Make workspaces dormant that are not used for this time; 0 does not.").Def("0h"),
		option.Duration(&l.deletion, "dormancy-auto-deletion", "Delete workspaces that are dormant for this time; 0 does not.").Def("0h"),
		option.Bool(&l.requireActive, "require-active-version", "Let workspaces be started on the active version only.").Def("false"),
		yes(&s.yes), org(&s.org))
	return &command{
		name: "create", args: "[name]", max: 1,
		short:   "Make a template from a directory; 'push' and 'edit' do the same and more.",
		options: append(options, s.directoryOptions()...),
		run:     func(ctx context.Context, args []string) error { return a.templatesCreate(ctx, args, &s, &l) },
	}
}

func (a *app) templatesCreate(ctx context.Context, args []string, s *source, l *templateLimits) error {
	name, err := s.templateName(args)
	if err != nil {
		return err
	}
	c, o, err := a.clientAndOrganization(ctx, s.org)
	if err != nil {
		return err
	}
	if _, err := c.TemplateByName(ctx, o.ID.String(), name); err == nil {
		return coder.Errorf(coder.CodeConflict, "there is a template %q already; upload a new version with 'coder templates push %s'", name, name)
	} else if !coder.Is(err, coder.CodeNotFound) {
		return err
	}
	v, err := a.importVersion(ctx, c, o, coder.Template{}, s)
	if err != nil {
		return err
	}
	if err := a.confirm("Make the template "+name+"?", s.yes); err != nil {
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
	_, err = fmt.Fprintf(a.stdout, "Made template %s. Make a workspace of it with: coder create --template %s\n", name, name)
	return err
}
