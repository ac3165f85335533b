// Package parameter says which parameters a version of a template asks for: as
// its import found them or, where the source makes them depend on values or on
// the workspace's owner, as they are with those. Whoever shows a form and
// whoever resolves the values of a build asks here, so that both see the same.
// (TPL-10)
package parameter

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/terraform"
)

// Forms knows forms. The zero value is ready; it is safe for concurrent use.
type Forms struct{ terraform.Forms }

// Of gives the parameters of a version for an owner with some values, by name,
// and what there is to say of them.
func (f *Forms) Of(ctx context.Context, q *sqlc.Queries, v sqlc.TemplateVersion, ownerID uuid.UUID, values map[string]string) ([]terraform.FormParameter, []coder.FriendlyDiagnostic, error) {
	source, err := q.ParameterSource(ctx, v.ID)
	if err != nil {
		return nil, nil, err
	}
	if !source.Classic && source.Provisioner == "terraform" {
		form, err := f.Read(source.FileID, func() ([]byte, error) { return q.FileData(ctx, source.FileID) })
		if err != nil {
			return nil, nil, err
		}
		if form.Dynamic() {
			owner, err := ownerOf(ctx, q, v.OrganizationID, ownerID)
			if err != nil {
				return nil, nil, err
			}
			out, diags := form.Parameters(v.Parameters, terraform.FormInput{Owner: owner, Variables: v.Variables, Values: values})
			return out, diags, nil
		}
	}
	out := make([]terraform.FormParameter, 0, len(v.Parameters))
	for i, p := range v.Parameters {
		out = append(out, terraform.FormParameter{TemplateVersionParameter: p, Order: int64(i)})
	}
	return out, nil, nil
}

// Resolve gives the definitions that a build's values are held to, and the
// given values without those of parameters that the others have made go away.
func (f *Forms) Resolve(ctx context.Context, q *sqlc.Queries, v sqlc.TemplateVersion, ownerID uuid.UUID,
	given, previous []coder.WorkspaceBuildParameter, preset []coder.PresetParameter,
) ([]coder.TemplateVersionParameter, []coder.WorkspaceBuildParameter, error) {
	values := map[string]string{}
	for _, p := range slices.Concat(previous, given) {
		values[p.Name] = p.Value
	}
	for _, p := range preset {
		values[p.Name] = p.Value
	}
	form, _, err := f.Of(ctx, q, v, ownerID, values)
	if err != nil {
		return nil, nil, err
	}
	defs := make([]coder.TemplateVersionParameter, 0, len(form))
	for _, p := range form {
		defs = append(defs, p.TemplateVersionParameter)
	}
	named := func(defs []coder.TemplateVersionParameter, name string) bool {
		return slices.ContainsFunc(defs, func(d coder.TemplateVersionParameter) bool { return d.Name == name })
	}
	given = slices.DeleteFunc(slices.Clone(given), func(p coder.WorkspaceBuildParameter) bool {
		return named(v.Parameters, p.Name) && !named(defs, p.Name)
	})
	return defs, given, nil
}

// ownerOf gives what templates may ask about an owner.
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
