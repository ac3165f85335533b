package build

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/rule/parametervalue"
)

// Form returns the parameters of a version, given some of their values.
type Form func(values map[string]string) ([]codersdk.TemplateVersionParameter, error)

// FormOf returns the form of a version for the owner of a workspace; uuid.Nil
// means the current user. A server without dynamic parameters, or one that
// hides those of other users, returns the parameters of the version's import.
func FormOf(ctx context.Context, c *codersdk.Client, version, owner uuid.UUID) Form {
	return func(values map[string]string) ([]codersdk.TemplateVersionParameter, error) {
		form, err := c.PreviewParameters(ctx, version, codersdk.DynamicParametersRequest{ID: 1, Inputs: values, OwnerID: owner})
		if codersdk.Is(err, codersdk.CodeNotFound) || codersdk.Is(err, codersdk.CodeForbidden) {
			return c.TemplateVersionParameters(ctx, version)
		}
		if err != nil {
			return nil, err
		}
		defs := make([]codersdk.TemplateVersionParameter, 0, len(form.Parameters))
		for _, p := range form.Parameters {
			defs = append(defs, parametervalue.Definition(p))
		}
		return defs, nil
	}
}

// FormFor is FormOf for an owner's name, or "me".
func FormFor(ctx context.Context, c *codersdk.Client, version uuid.UUID, owner string) (Form, error) {
	if owner == "me" {
		return FormOf(ctx, c, version, uuid.Nil), nil
	}
	u, err := c.User(ctx, owner)
	return FormOf(ctx, c, version, u.ID), err
}
