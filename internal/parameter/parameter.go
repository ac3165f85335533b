// Package parameter returns the parameters of a template version: as its import found them
// or, if the source makes them depend on values or on the workspace's owner, evaluated for
// those. Forms and builds both use it, so that they agree. (TPL-10)
package parameter

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/rule/parametervalue"
	"github.com/seed-2a7f8fe7/coder/internal/terraform"
)

// Forms evaluates forms. The zero value is ready; it is safe for concurrent use.
type Forms struct {
	terraform.Forms
	Vault *dbcrypt.Vault // of sensitive variables
}

// Preview returns the form of a version for an owner and values by name. Diagnostics
// report problems of the form and values of unknown parameters.
func (f *Forms) Preview(
	ctx context.Context,
	q *sqlc.Queries,
	v sqlc.TemplateVersion,
	ownerID uuid.UUID,
	values map[string]string,
) ([]codersdk.PreviewParameter, []codersdk.FriendlyDiagnostic, error) {
	form, diags, err := f.evaluate(ctx, q, v, ownerID, values)
	if err != nil {
		return nil, nil, err
	}
	known := map[string]bool{}
	for _, p := range v.Parameters {
		known[p.Name] = true
	}
	out := make([]codersdk.PreviewParameter, 0, len(form))
	for i, p := range form {
		known[p.Name] = true
		var input *string
		if value, ok := values[p.Name]; ok {
			input = &value
		}
		view := parametervalue.Preview(p.TemplateVersionParameter, i, input)
		view.Styling = p.Styling
		out = append(out, view)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !known[name] {
			diags = append(diags, codersdk.FriendlyDiagnostic{
				Severity: codersdk.DiagnosticSeverityWarning, Summary: "Unknown parameter",
				Detail: fmt.Sprintf("This version of the template has no parameter %.100q.", name),
			})
		}
	}
	return out, diags, nil
}

// evaluate returns the parameters of a version for an owner and values by name, and
// diagnostics.
func (f *Forms) evaluate(
	ctx context.Context,
	q *sqlc.Queries,
	v sqlc.TemplateVersion,
	ownerID uuid.UUID,
	values map[string]string,
) ([]terraform.FormParameter, []codersdk.FriendlyDiagnostic, error) {
	source, err := q.ParameterSource(ctx, v.ID)
	if err != nil {
		return nil, nil, err
	}
	if !source.Classic && source.Provisioner == "terraform" {
		from := terraform.FormSource{Template: source.FileID}
		if v.ModuleFilesID != nil {
			from.Modules = *v.ModuleFilesID
		}
		form, err := f.Read(from, func(id uuid.UUID) ([]byte, error) { return q.FileData(ctx, id) })
		if err != nil {
			return nil, nil, err
		}
		if form.Dynamic() {
			owner, err := ownerOf(ctx, q, v.OrganizationID, ownerID)
			if err != nil {
				return nil, nil, err
			}
			variables, err := f.Vault.OpenVariables(v.ID, v.Variables, v.VariablesKeyID)
			if err != nil {
				return nil, nil, err
			}
			out, diags := form.Parameters(v.Parameters, terraform.FormInput{Owner: owner, Variables: variables, Values: values})
			return out, diags, nil
		}
	}
	out := make([]terraform.FormParameter, 0, len(v.Parameters))
	for i, p := range v.Parameters {
		out = append(out, terraform.FormParameter{TemplateVersionParameter: p, Order: int64(i)})
	}
	return out, nil, nil
}

// Values are the requested and previous parameter values of a build, see
// parametervalue.Options.
type Values struct {
	parametervalue.Options

	Given    []codersdk.WorkspaceBuildParameter
	Previous []codersdk.WorkspaceBuildParameter
}

// Resolve returns the values of all parameters that apply to a build. Given values of
// parameters that other values hide are dropped. The error is CodeInvalid if the values do
// not fit, see parametervalue.Resolve.
func (f *Forms) Resolve(ctx context.Context, q *sqlc.Queries, v sqlc.TemplateVersion, ownerID uuid.UUID, in Values) (
	[]codersdk.WorkspaceBuildParameter, error,
) {
	values := map[string]string{}
	for _, p := range slices.Concat(in.Previous, in.Given) {
		values[p.Name] = p.Value
	}
	for _, p := range in.Preset {
		values[p.Name] = p.Value
	}
	form, _, err := f.evaluate(ctx, q, v, ownerID, values)
	if err != nil {
		return nil, err
	}
	defs := make([]codersdk.TemplateVersionParameter, 0, len(form))
	for _, p := range form {
		defs = append(defs, p.TemplateVersionParameter)
	}
	named := func(defs []codersdk.TemplateVersionParameter, name string) bool {
		return slices.ContainsFunc(defs, func(d codersdk.TemplateVersionParameter) bool { return d.Name == name })
	}
	given := slices.DeleteFunc(slices.Clone(in.Given), func(p codersdk.WorkspaceBuildParameter) bool {
		return named(v.Parameters, p.Name) && !named(defs, p.Name)
	})
	return parametervalue.Resolve(defs, given, in.Previous, in.Options)
}

// ownerOf returns the data of an owner that templates can read.
func ownerOf(ctx context.Context, q *sqlc.Queries, organizationID, ownerID uuid.UUID) (terraform.FormOwner, error) {
	var out terraform.FormOwner
	u, err := q.ParameterOwner(ctx, organizationID, ownerID)
	if err != nil {
		return out, err
	}
	out = terraform.FormOwner{
		ID: u.ID.String(), Name: u.Username, FullName: u.Name, Email: u.Email, LoginType: u.LoginType, SSHPublicKey: u.SshPublicKey,
		Roles: []terraform.FormOwnerRole{{Name: "member"}},
	}
	for _, r := range u.Roles {
		out.Roles = append(out.Roles, terraform.FormOwnerRole{Name: r})
	}
	members, err := q.BuildOwnerMemberships(ctx, ownerID)
	if err != nil {
		return out, err
	}
	for _, m := range members {
		for _, r := range append([]string{"organization-member"}, m.Roles...) {
			out.Roles = append(out.Roles, terraform.FormOwnerRole{Name: r, OrganizationID: m.OrganizationID.String()})
		}
	}
	out.Groups, err = q.BuildOwnerGroups(ctx, ownerID, organizationID)
	return out, err
}
