// Package wire converts the inputs of builds to messages for provisioners.
package wire

import (
	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Roles returns all roles of an owner, including the implicit ones.
func Roles(site []string, memberships []sqlc.BuildOwnerMembershipsRow) []*provisioner.Role {
	roles := []*provisioner.Role{{Name: "member"}}
	for _, r := range site {
		roles = append(roles, &provisioner.Role{Name: r})
	}
	for _, m := range memberships {
		org := m.OrganizationID.String()
		roles = append(roles, &provisioner.Role{Name: "organization-member", OrgId: org})
		for _, r := range m.Roles {
			roles = append(roles, &provisioner.Role{Name: r, OrgId: org})
		}
	}
	return roles
}

// Transition returns the transition of a build.
func Transition(t string) provisioner.WorkspaceTransition {
	switch codersdk.WorkspaceTransition(t) {
	case codersdk.WorkspaceTransitionStop:
		return provisioner.WorkspaceTransition_STOP
	case codersdk.WorkspaceTransitionDelete:
		return provisioner.WorkspaceTransition_DESTROY
	}
	return provisioner.WorkspaceTransition_START
}

// Parameters returns the values of parameters.
func Parameters(ps []codersdk.WorkspaceBuildParameter) []*provisioner.RichParameterValue {
	out := make([]*provisioner.RichParameterValue, 0, len(ps))
	for _, p := range ps {
		out = append(out, &provisioner.RichParameterValue{Name: p.Name, Value: p.Value})
	}
	return out
}

// Variables returns the values of the variables that are set.
func Variables(vs []codersdk.TemplateVersionVariable) []*provisioner.VariableValue {
	out := make([]*provisioner.VariableValue, 0, len(vs))
	for _, v := range vs {
		if !v.IsSet() {
			continue
		}
		out = append(out, &provisioner.VariableValue{Name: v.Name, Value: v.Value, Sensitive: v.Sensitive})
	}
	return out
}
