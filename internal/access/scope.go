package access

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Narrowed reports whether a token restricts the user's rights.
func (s Subject) Narrowed() bool {
	for _, sc := range s.Scopes {
		if sc == codersdk.APIKeyScopeAll || sc == codersdk.APIKeyScopeCoderAll {
			return !s.listsAll()
		}
	}
	return len(s.Scopes) > 0 || !s.listsAll()
}

func (s Subject) listsAll() bool {
	return len(s.AllowList) == 0 || slices.ContainsFunc(s.AllowList, func(t codersdk.APIAllowListTarget) bool {
		return t.Type == codersdk.RBACResourceAny && t.ID == "*"
	})
}

// knowsItself reports whether the object is the subject's own account or organization. Every token can
// read these, because clients need them.
func (s Subject) knowsItself(action codersdk.RBACAction, o Object) bool {
	if action != codersdk.RBACActionRead {
		return false
	}
	return o.Type == codersdk.RBACResourceOrganization ||
		o.Type == codersdk.RBACResourceUser && (o.ID == s.UserID || o.OwnerID == s.UserID) && s.UserID != uuid.Nil
}

// scopesPermit reports whether at least one scope of the token permits the action on the type.
func (s Subject) scopesPermit(action codersdk.RBACAction, o Object) bool {
	if len(s.Scopes) == 0 || s.knowsItself(action, o) {
		return true
	}
	return slices.ContainsFunc(s.Scopes, func(sc codersdk.APIKeyScope) bool { return scopePermits(sc, action, o.Type) })
}

func scopePermits(sc codersdk.APIKeyScope, action codersdk.RBACAction, t codersdk.RBACResource) bool {
	if composite, ok := compositeScopes[sc]; ok {
		return judge(composite, action, t) == permitted
	}
	resource, verb, ok := strings.Cut(string(sc), ":")
	return ok && resource == string(t) && (verb == "*" || verb == string(action))
}

// listPermits reports whether the token's allow list names the object. To create an object, the list must
// name all objects of its type.
func (s Subject) listPermits(t codersdk.RBACResource, id uuid.UUID, action codersdk.RBACAction, o Object) bool {
	if s.listsAll() || s.knowsItself(action, o) {
		return true
	}
	return slices.ContainsFunc(s.AllowList, func(e codersdk.APIAllowListTarget) bool {
		return (e.Type == t || e.Type == codersdk.RBACResourceAny) && (e.ID == "*" || id != uuid.Nil && e.ID == id.String())
	})
}

// listedIDs returns the IDs of a type in the allow list: nil for all of them; false if there are none.
func (s Subject) listedIDs(t codersdk.RBACResource) ([]uuid.UUID, bool) {
	if s.listsAll() || t == codersdk.RBACResourceOrganization {
		return nil, true
	}
	var ids []uuid.UUID
	for _, e := range s.AllowList {
		if e.Type != t && e.Type != codersdk.RBACResourceAny {
			continue
		}
		if e.ID == "*" {
			return nil, true
		}
		if id, err := uuid.Parse(e.ID); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, len(ids) > 0
}

// KnownScope reports whether a token can be created with the scope.
func KnownScope(sc codersdk.APIKeyScope) bool {
	if _, ok := compositeScopes[sc]; ok {
		return true
	}
	resource, verb, ok := strings.Cut(string(sc), ":")
	if !ok {
		return false
	}
	actions, known := Actions[codersdk.RBACResource(resource)]
	return known && (verb == "*" || slices.Contains(actions, codersdk.RBACAction(verb)))
}

// ScopeCovers reports whether the scopes permit everything that another scope permits.
func ScopeCovers(scopes []codersdk.APIKeyScope, other codersdk.APIKeyScope) bool {
	if slices.Contains(scopes, other) {
		return true
	}
	s := Subject{Scopes: scopes}
	return len(scopes) > 0 && !slices.ContainsFunc(scopePermissions(other), func(p codersdk.Permission) bool {
		return !slices.ContainsFunc(s.Scopes, func(sc codersdk.APIKeyScope) bool { return scopePermits(sc, p.Action, p.ResourceType) })
	})
}

// scopePermissions returns the permissions of a known scope.
func scopePermissions(sc codersdk.APIKeyScope) []codersdk.Permission {
	if composite, ok := compositeScopes[sc]; ok {
		return composite
	}
	resource, verb, _ := strings.Cut(string(sc), ":")
	return grant(codersdk.RBACResource(resource), verb)
}

// PublicScopes returns the catalog of scopes for users: the composite scopes and those of common resource
// types.
func PublicScopes() []codersdk.APIKeyScope {
	out := []codersdk.APIKeyScope{}
	for sc := range compositeScopes {
		if strings.HasPrefix(string(sc), "coder:") {
			out = append(out, sc)
		}
	}
	for _, t := range []codersdk.RBACResource{
		codersdk.RBACResourceAPIKey, codersdk.RBACResourceFile, codersdk.RBACResourceOrganization, codersdk.RBACResourceTask,
		codersdk.RBACResourceTemplate, codersdk.RBACResourceUser, codersdk.RBACResourceUserSecret, codersdk.RBACResourceWorkspace,
	} {
		out = append(out, codersdk.APIKeyScope(t+":*"))
		for _, a := range Actions[t] {
			out = append(out, codersdk.APIKeyScope(string(t)+":"+string(a)))
		}
	}
	slices.Sort(out)
	return out
}
