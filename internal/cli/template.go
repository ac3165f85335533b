package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

func (a *app) templatesCommand() *command {
	return &command{
		name: "templates", aliases: []string{"template"},
		short: "Manage templates, from which workspaces are made.",
		long: "A template is a directory of Terraform files. Each upload makes a version; new workspaces, and " +
			"those that are updated, use the active one.",
		examples: []example{
			{"Begin with a starter", "coder templates init --id docker ./my-template"},
			{"Upload the directory, as a new template or a new version", "coder templates push my-template -d ./my-template"},
			{"Change settings", "coder templates edit my-template --default-ttl 8h"},
		},
		subs: []*command{
			a.templatesInitCommand(), a.templatesPushCommand(), a.templatesCreateCommand(), a.templatesPullCommand(),
			a.templatesListCommand(), a.templatesEditCommand(), a.templatesDeleteCommand(), a.templatesArchiveCommand(),
			a.templatesVersionsCommand(), a.templatesPresetsCommand(),
		},
	}
}

// template finds a template by name, in the organization of ref or, when that
// is empty and the default one does not have it, in any other of the user's.
func (a *app) template(ctx context.Context, c *client.Client, ref, name string) (coder.Template, error) {
	o, err := a.organization(ctx, c, ref)
	if err != nil {
		return coder.Template{}, err
	}
	t, err := c.TemplateByName(ctx, o.ID.String(), name)
	if !coder.Is(err, coder.CodeNotFound) {
		return t, err
	}
	if ref == "" {
		all, err := c.Templates(ctx, nil)
		if err != nil {
			return t, err
		}
		var found []coder.Template
		for _, other := range all {
			if other.Name == name {
				found = append(found, other)
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return t, failure("several organizations have a template %q; say which with --org", name)
		}
	}
	return t, coder.Errorf(coder.CodeNotFound, "there is no template %q in organization %s, or you may not see it", name, o.Name)
}

func (a *app) templatesListCommand() *command {
	type row = coder.Template
	l := &listing[row]{
		all: []column[row]{
			{"name", func(t row) string { return t.Name }},
			{"created at", func(t row) string { return date(t.CreatedAt) }},
			{"last updated", func(t row) string { return date(t.UpdatedAt) }},
			{"organization id", func(t row) string { return t.OrganizationID.String() }},
			{"organization name", func(t row) string { return t.OrganizationName }},
			{"provisioner", func(t row) string { return t.Provisioner }},
			{"active version id", func(t row) string { return t.ActiveVersionID.String() }},
			{"used by", func(t row) string {
				return fmt.Sprintf("%d developer%s", t.ActiveUserCount, plural(t.ActiveUserCount))
			}},
			{"default ttl", func(t row) string { return terminal.Span(time.Duration(t.DefaultTTLMS) * time.Millisecond) }},
		},
		noMatch: "No templates. Begin with 'coder templates init', then 'coder templates push'.",
	}
	return &command{
		name: "list", aliases: []string{"ls"}, max: 0,
		short:   "List the templates that you may use.",
		options: []*option.Option{l.columnOption("name,organization name,last updated,used by"), l.formatOption()},
		run: func(ctx context.Context, _ []string) error {
			c, err := a.client(ctx)
			if err != nil {
				return err
			}
			all, err := c.Templates(ctx, nil)
			if err != nil {
				return err
			}
			return l.write(a, all)
		},
	}
}

func (a *app) templatesDeleteCommand() *command {
	var sure bool
	var ref string
	return &command{
		name: "delete", aliases: []string{"rm"}, args: "[name...]", max: -1,
		short:   "Delete templates, which no workspace may use any more.",
		options: []*option.Option{yes(&sure), org(&ref)},
		run: func(ctx context.Context, args []string) error {
			c, err := a.client(ctx)
			if err != nil {
				return err
			}
			templates, err := a.templatesNamed(ctx, c, ref, args)
			if err != nil {
				return err
			}
			for _, t := range templates {
				if err := a.confirm("Delete the template "+t.Name+"?", sure); err != nil {
					return err
				}
				if err := c.DeleteTemplate(ctx, t.ID); err != nil {
					return fmt.Errorf("template %s: %w", t.Name, err)
				}
				fmt.Fprintf(a.stdout, "Deleted template %s.\n", t.Name)
			}
			return nil
		},
	}
}

// templatesNamed finds templates by name, or asks for one when there are no names.
func (a *app) templatesNamed(ctx context.Context, c *client.Client, ref string, names []string) ([]coder.Template, error) {
	if len(names) == 0 {
		t, err := a.pickTemplate(ctx, c, ref, "name the template")
		return []coder.Template{t}, err
	}
	var out []coder.Template
	for _, n := range names {
		t, err := a.template(ctx, c, ref, n)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// pickTemplate asks for one of the templates that the user may see.
func (a *app) pickTemplate(ctx context.Context, c *client.Client, ref, instead string) (coder.Template, error) {
	if !a.interactive() {
		return coder.Template{}, errNoTerminal("Template", instead)
	}
	var all []coder.Template
	var err error
	if ref == "" {
		all, err = c.Templates(ctx, nil)
	} else {
		all, err = c.OrganizationTemplates(ctx, ref)
	}
	if err != nil {
		return coder.Template{}, err
	}
	if len(all) == 0 {
		return coder.Template{}, failure("there are no templates yet; begin with 'coder templates init', then 'coder templates push'")
	}
	items := make([]item, len(all))
	for i, t := range all {
		items[i] = item{t.Name, t.Description}
	}
	i, err := a.pick("Which template?", items, 0, instead)
	if err != nil {
		return coder.Template{}, err
	}
	return all[i], nil
}

func (a *app) templatesArchiveCommand() *command {
	var sure, all bool
	var ref string
	return &command{
		name: "archive", args: "[template-name...]", max: -1,
		short: "Archive the failed versions of templates, or all that nothing uses.",
		options: []*option.Option{
			yes(&sure), option.Bool(&all, "all", "Archive every version that no workspace uses, not only those that failed."), org(&ref),
		},
		run: func(ctx context.Context, args []string) error {
			c, err := a.client(ctx)
			if err != nil {
				return err
			}
			templates, err := a.templatesNamed(ctx, c, ref, args)
			if err != nil {
				return err
			}
			for _, t := range templates {
				if err := a.confirm("Archive unused versions of "+t.Name+"?", sure); err != nil {
					return err
				}
				if err := c.ArchiveTemplateVersions(ctx, t.ID, coder.ArchiveTemplateVersionsRequest{All: all}); err != nil {
					return err
				}
				fmt.Fprintf(a.stdout, "Archived versions of %s that nothing uses.\n", t.Name)
			}
			return nil
		},
	}
}

func (a *app) templatesPresetsCommand() *command {
	return &command{
		name: "presets", aliases: []string{"preset"},
		short: "Show presets, the named sets of parameter values of a template.",
		subs:  []*command{a.templatesPresetsListCommand()},
	}
}

func (a *app) templatesPresetsListCommand() *command {
	type row = coder.Preset
	l := &listing[row]{
		all: []column[row]{
			{"name", func(p row) string { return p.Name }},
			{"description", func(p row) string { return p.Description }},
			{"parameters", func(p row) string {
				s := ""
				for i, v := range p.Parameters {
					if i > 0 {
						s += ","
					}
					s += v.Name + "=" + v.Value
				}
				return s
			}},
			{"default", func(p row) string { return yesNo(p.Default) }},
			{"desired prebuild instances", func(p row) string { return fmt.Sprint(p.DesiredPrebuildInstances) }},
		},
		noMatch: "This version has no presets.",
	}
	var version, ref string
	return &command{
		name: "list", args: "<template>", min: 1, max: 1,
		short: "List the presets of a template's version.",
		options: []*option.Option{
			option.String(&version, "template-version", "Version; the active one otherwise."), org(&ref),
			l.columnOption("name,description,parameters,default,desired prebuild instances"), l.formatOption(),
		},
		run: func(ctx context.Context, args []string) error {
			c, err := a.client(ctx)
			if err != nil {
				return err
			}
			t, err := a.template(ctx, c, ref, args[0])
			if err != nil {
				return err
			}
			id := t.ActiveVersionID
			if version != "" {
				v, err := a.version(ctx, c, t, version)
				if err != nil {
					return err
				}
				id = v.ID
			}
			all, err := c.TemplateVersionPresets(ctx, id)
			if err != nil {
				return err
			}
			return l.write(a, all)
		},
	}
}
