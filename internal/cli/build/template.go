package build

import (
	"context"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
)

// Template returns the template with that name in the organization ref. If ref
// is empty and the default organization does not have the template, Template
// searches the user's other organizations.
func Template(ctx context.Context, a *command.Run, c *codersdk.Client, ref, name string) (codersdk.Template, error) {
	o, err := a.Organization(ctx, c, ref)
	if err != nil {
		return codersdk.Template{}, err
	}
	t, err := c.TemplateByName(ctx, o.ID.String(), name)
	if !codersdk.Is(err, codersdk.CodeNotFound) {
		return t, err
	}
	if ref == "" {
		all, err := c.Templates(ctx, nil)
		if err != nil {
			return t, err
		}
		var found []codersdk.Template
		for _, other := range all {
			if other.Name == name {
				found = append(found, other)
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return t, command.Failure("several organizations have a template %q; select one with --org", name)
		}
	}
	return t, codersdk.Errorf(codersdk.CodeNotFound, "template %q not found in organization %s, or you cannot access it", name, o.Name)
}

// PickTemplate prompts for one of the templates that the user can access.
func PickTemplate(ctx context.Context, a *command.Run, c *codersdk.Client, ref, instead string) (codersdk.Template, error) {
	if !a.Interactive() {
		return codersdk.Template{}, command.NoTerminal("Template", instead)
	}
	var all []codersdk.Template
	var err error
	if ref == "" {
		all, err = c.Templates(ctx, nil)
	} else {
		all, err = c.OrganizationTemplates(ctx, ref)
	}
	if err != nil {
		return codersdk.Template{}, err
	}
	if len(all) == 0 {
		return codersdk.Template{}, command.Failure("no templates exist yet; create one with 'coder templates init', then 'coder templates push'")
	}
	items := make([]command.Item, len(all))
	for i, t := range all {
		items[i] = command.Item{Label: t.Name, Note: t.Description}
	}
	i, err := a.Pick("Which template?", items, 0, instead)
	if err != nil {
		return codersdk.Template{}, err
	}
	return all[i], nil
}

// Version returns the version of a template with that name.
func Version(ctx context.Context, a *command.Run, c *codersdk.Client, t codersdk.Template, name string) (codersdk.TemplateVersion, error) {
	v, err := c.TemplateVersionByName(ctx, t.ID, name)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return v, codersdk.Errorf(codersdk.CodeNotFound, "template %s has no version %q", t.Name, name)
	}
	return v, err
}
