package build

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
)

// Form gives the parameters that there are when some of them have values.
type Form func(values map[string]string) ([]coder.TemplateVersionParameter, error)

// FormOf is the form of a version for the owner of a workspace; Nil is whoever
// runs the command. A server that knows no forms, or does not show that of
// somebody else, tells the parameters that the
// version was imported with.
func FormOf(ctx context.Context, c *client.Client, version, owner uuid.UUID) Form {
	return func(values map[string]string) ([]coder.TemplateVersionParameter, error) {
		form, err := c.PreviewParameters(ctx, version, coder.DynamicParametersRequest{ID: 1, Inputs: values, OwnerID: owner})
		if coder.Is(err, coder.CodeNotFound) || coder.Is(err, coder.CodeForbidden) {
			return c.TemplateVersionParameters(ctx, version)
		}
		if err != nil {
			return nil, err
		}
		defs := make([]coder.TemplateVersionParameter, 0, len(form.Parameters))
		for _, p := range form.Parameters {
			defs = append(defs, p.Definition())
		}
		return defs, nil
	}
}

// FormFor is FormOf for an owner by name, or "me".
func FormFor(ctx context.Context, c *client.Client, version uuid.UUID, owner string) (Form, error) {
	if owner == "me" {
		return FormOf(ctx, c, version, uuid.Nil), nil
	}
	u, err := c.User(ctx, owner)
	return FormOf(ctx, c, version, u.ID), err
}
