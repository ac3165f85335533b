package access

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// TokenScopes returns the scopes of a token that the actor requests, in either form. Without
// a request it returns the scopes of the actor.
func TokenScopes(actor Subject, req codersdk.CreateTokenRequest) ([]string, error) {
	asked := slices.Clone(req.Scopes)
	if len(asked) == 0 && req.Scope != "" {
		asked = []codersdk.APIKeyScope{req.Scope}
	}
	if len(asked) == 0 {
		asked = []codersdk.APIKeyScope{codersdk.APIKeyScopeCoderAll}
		if actor.Narrowed() && len(actor.Scopes) > 0 {
			asked = slices.Clone(actor.Scopes)
		}
	}
	var out []string
	for _, sc := range asked {
		switch sc {
		case codersdk.APIKeyScopeAll:
			sc = codersdk.APIKeyScopeCoderAll
		case codersdk.APIKeyScopeApplicationConnect:
			sc = codersdk.APIKeyScopeCoderApplicationConnect
		}
		if !KnownScope(sc) {
			return nil, codersdk.Invalid("scopes", "scope %.64q not found; GET /api/v2/auth/scopes lists the scopes", sc)
		}
		if actor.Narrowed() && len(actor.Scopes) > 0 && !slices.Contains(actor.Scopes, sc) && !slices.Contains(actor.Scopes, codersdk.APIKeyScopeCoderAll) {
			return nil, codersdk.Errorf(codersdk.CodeForbidden, "A token cannot create a token with a scope that it lacks: %s", sc)
		}
		out = append(out, string(sc))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// TokenAllowList returns the allow list of a token that the actor requests, as type:id.
// Without a request it returns that of the actor.
func TokenAllowList(actor Subject, asked []codersdk.APIAllowListTarget) ([]string, error) {
	if len(asked) == 0 {
		asked = actor.AllowList
	}
	if len(asked) == 0 {
		return []string{"*:*"}, nil
	}
	if len(asked) > 128 {
		return nil, codersdk.Invalid("allow_list", "has more than 128 entries")
	}
	all := len(actor.AllowList) == 0 || slices.Contains(actor.AllowList, codersdk.APIAllowListTarget{Type: codersdk.RBACResourceAny, ID: "*"})
	var out []string
	for _, t := range asked {
		if _, known := Actions[t.Type]; !known && t.Type != codersdk.RBACResourceAny {
			return nil, codersdk.Invalid("allow_list", "resource type %.64q not found", t.Type)
		}
		if id, err := uuid.Parse(t.ID); err == nil {
			t.ID = id.String()
		} else if t.ID != "*" {
			return nil, codersdk.Invalid("allow_list", "%.64q is neither a UUID nor *", t.ID)
		}
		if !all && !slices.Contains(actor.AllowList, t) && !slices.Contains(actor.AllowList, codersdk.APIAllowListTarget{Type: t.Type, ID: "*"}) {
			return nil, codersdk.Errorf(codersdk.CodeForbidden, "A token cannot create a token for resources that it cannot use: %s:%s", t.Type, t.ID)
		}
		out = append(out, string(t.Type)+":"+t.ID)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// ParseScopes converts stored scopes.
func ParseScopes(stored []string) []codersdk.APIKeyScope {
	out := make([]codersdk.APIKeyScope, len(stored))
	for i, v := range stored {
		out[i] = codersdk.APIKeyScope(v)
	}
	return out
}

// ParseAllowList parses entries of the form type:id. A row without entries allows nothing.
func ParseAllowList(stored []string) []codersdk.APIAllowListTarget {
	out := make([]codersdk.APIAllowListTarget, 0, max(1, len(stored)))
	for _, v := range stored {
		t, id, _ := strings.Cut(v, ":")
		out = append(out, codersdk.APIAllowListTarget{Type: codersdk.RBACResource(t), ID: id})
	}
	if len(out) == 0 {
		out = append(out, codersdk.APIAllowListTarget{})
	}
	return out
}

// ParseObject returns the object of a permission check. The owner "me" is the user with the
// ID me. A malformed object is CodeInvalid.
func ParseObject(a codersdk.AuthorizationObject, me uuid.UUID) (Object, error) {
	o := Object{Type: a.ResourceType}
	if _, known := Actions[a.ResourceType]; !known && a.ResourceType != codersdk.RBACResourceAny {
		return o, codersdk.Invalid("resource_type", "resource type %.64q not found", a.ResourceType)
	}
	for _, f := range []struct {
		name, text string
		id         *uuid.UUID
	}{{"owner_id", a.OwnerID, &o.OwnerID}, {"organization_id", a.OrganizationID, &o.OrganizationID}, {"resource_id", a.ResourceID, &o.ID}} {
		if f.text == "" {
			continue
		}
		if f.name == "owner_id" && f.text == "me" {
			*f.id = me
			continue
		}
		id, err := uuid.Parse(f.text)
		if err != nil {
			return o, codersdk.Invalid(f.name, "%.64q is not a UUID", f.text)
		}
		*f.id = id
	}
	return o, nil
}
