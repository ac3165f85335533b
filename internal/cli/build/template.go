package build

import (
	"context"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
)

// Template finds a template by name, in the organization of ref or, when that
// is empty and the default one does not have it, in any other of the user's.
func Template(ctx context.Context, a *app.Run, c *client.Client, ref, name string) (coder.Template, error) {
	o, err := a.Organization(ctx, c, ref)
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
			return t, app.Failure("several organizations have a template %q; say which with --org", name)
		}
	}
	return t, coder.Errorf(coder.CodeNotFound, "there is no template %q in organization %s, or you may not see it", name, o.Name)
}

// PickTemplate asks for one of the templates that the user may see.
func PickTemplate(ctx context.Context, a *app.Run, c *client.Client, ref, instead string) (coder.Template, error) {
	if !a.Interactive() {
		return coder.Template{}, app.NoTerminal("Template", instead)
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
		return coder.Template{}, app.Failure("there are no templates yet; begin with 'coder templates init', then 'coder templates push'")
	}
	items := make([]app.Item, len(all))
	for i, t := range all {
		items[i] = app.Item{Label: t.Name, Note: t.Description}
	}
	i, err := a.Pick("Which template?", items, 0, instead)
	if err != nil {
		return coder.Template{}, err
	}
	return all[i], nil
}

// Version finds a version of a template by name.
func Version(ctx context.Context, a *app.Run, c *client.Client, t coder.Template, name string) (coder.TemplateVersion, error) {
	v, err := c.TemplateVersionByName(ctx, t.ID, name)
	if coder.Is(err, coder.CodeNotFound) {
		return v, coder.Errorf(coder.CodeNotFound, "template %s has no version %q", t.Name, name)
	}
	return v, err
}
