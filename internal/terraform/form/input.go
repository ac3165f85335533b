package form

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/form/bound"
)

// variables returns the values of a template's variables.
func variables(given []codersdk.TemplateVersionVariable) func(name string) (cty.Value, bool) {
	values := map[string]cty.Value{}
	for _, v := range given {
		values[v.Name] = variableValue(v)
	}
	return func(name string) (cty.Value, bool) {
		v, set := values[name]
		return v, set
	}
}

func variableValue(v codersdk.TemplateVersionVariable) cty.Value {
	if v.Sensitive { // users see the form
		return cty.DynamicVal
	}
	text := v.Value
	if text == "" {
		text = v.DefaultValue
	}
	value := cty.StringVal(text)
	switch v.Type {
	case "number":
		value = converted(value, cty.Number)
	case "bool":
		value = converted(value, cty.Bool)
	case "string", "":
	default:
		value = fromJSON(text)
	}
	if bound.Huge(value) {
		return cty.DynamicVal
	}
	return value
}

func converted(v cty.Value, t cty.Type) cty.Value {
	c, err := convert.Convert(v, t)
	if err != nil {
		return cty.UnknownVal(t)
	}
	return c
}

func fromJSON(text string) cty.Value {
	t, err := ctyjson.ImpliedType([]byte(text))
	if err != nil {
		return cty.DynamicVal
	}
	v, err := ctyjson.Unmarshal([]byte(text), t)
	if err != nil {
		return cty.DynamicVal
	}
	return v
}

// workspace returns the workspace as templates see it.
func workspace() cty.Value {
	text, number := cty.UnknownVal(cty.String), cty.UnknownVal(cty.Number)
	return cty.ObjectVal(map[string]cty.Value{
		"id": text, "name": text, "access_url": text, "access_port": number,
		"template_id": text, "template_name": text, "template_version": text,
		"transition": cty.StringVal("start"), "start_count": cty.NumberIntVal(1),
		"prebuild_count": cty.NumberIntVal(0), "is_prebuild": cty.False, "is_prebuild_claim": cty.False,
	})
}

// owner returns the workspace's owner as templates see it.
func owner(o Owner) cty.Value {
	roles := []cty.Value{}
	for _, r := range o.Roles {
		roles = append(roles, cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(r.Name), "org_id": cty.StringVal(r.OrganizationID)}))
	}
	roleType := cty.Object(map[string]cty.Type{"name": cty.String, "org_id": cty.String})
	groups := []cty.Value{}
	for _, g := range o.Groups {
		groups = append(groups, cty.StringVal(g))
	}
	return cty.ObjectVal(map[string]cty.Value{
		"id": cty.StringVal(o.ID), "name": cty.StringVal(o.Name), "full_name": cty.StringVal(o.FullName), "email": cty.StringVal(o.Email),
		"login_type": cty.StringVal(o.LoginType), "ssh_public_key": cty.StringVal(o.SSHPublicKey), "ssh_private_key": cty.UnknownVal(cty.String),
		"session_token": cty.UnknownVal(cty.String), "oidc_access_token": cty.UnknownVal(cty.String),
		"groups": listOf(cty.String, groups), "rbac_roles": listOf(roleType, roles),
	})
}

func listOf(t cty.Type, all []cty.Value) cty.Value {
	if len(all) == 0 {
		return cty.ListValEmpty(t)
	}
	return cty.ListVal(all)
}
