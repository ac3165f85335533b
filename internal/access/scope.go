package access

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

// Narrowed says whether a token takes anything away from the user's rights.
func (s Subject) Narrowed() bool {
	for _, sc := range s.Scopes {
		if sc == coder.APIKeyScopeAll || sc == coder.APIKeyScopeCoderAll {
			return !s.listsAll()
		}
	}
	return len(s.Scopes) > 0 || !s.listsAll()
}

func (s Subject) listsAll() bool {
	return len(s.AllowList) == 0 || slices.ContainsFunc(s.AllowList, func(t coder.APIAllowListTarget) bool {
		return t.Type == coder.RBACResourceAny && t.ID == "*"
	})
}

// knowsItself says whether the question is who one is and where one belongs:
// that remains open to every token, or no client could say for whom it acts.
func (s Subject) knowsItself(action coder.RBACAction, o Object) bool {
	if action != coder.RBACActionRead {
		return false
	}
	return o.Type == coder.RBACResourceOrganization || o.Type == coder.RBACResourceUser && (o.ID == s.UserID || o.OwnerID == s.UserID) && s.UserID != uuid.Nil
}

// scopesPermit says whether at least one scope of the token permits the action
// on the type.
func (s Subject) scopesPermit(action coder.RBACAction, o Object) bool {
	if len(s.Scopes) == 0 || s.knowsItself(action, o) {
		return true
	}
	return slices.ContainsFunc(s.Scopes, func(sc coder.APIKeyScope) bool { return scopePermits(sc, action, o.Type) })
}

func scopePermits(sc coder.APIKeyScope, action coder.RBACAction, t coder.RBACResource) bool {
	if composite, ok := compositeScopes[sc]; ok {
		return judge(composite, action, t) == permitted
	}
	resource, verb, ok := strings.Cut(string(sc), ":")
	return ok && resource == string(t) && (verb == "*" || verb == string(action))
}

// listPermits says whether the token's allow list names the object. To make
// something new, the list must name all of its type.
func (s Subject) listPermits(t coder.RBACResource, id uuid.UUID, action coder.RBACAction, o Object) bool {
	if s.listsAll() || s.knowsItself(action, o) {
		return true
	}
	return slices.ContainsFunc(s.AllowList, func(e coder.APIAllowListTarget) bool {
		return (e.Type == t || e.Type == coder.RBACResourceAny) && (e.ID == "*" || id != uuid.Nil && e.ID == id.String())
	})
}

// listedIDs gives the ids of a type that the allow list names: nil for all of
// them; false when there are none.
func (s Subject) listedIDs(t coder.RBACResource) ([]uuid.UUID, bool) {
	if s.listsAll() || t == coder.RBACResourceOrganization {
		return nil, true
	}
	var ids []uuid.UUID
	for _, e := range s.AllowList {
		if e.Type != t && e.Type != coder.RBACResourceAny {
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

// KnownScope says whether a token may be made with the scope.
func KnownScope(sc coder.APIKeyScope) bool {
	if _, ok := compositeScopes[sc]; ok {
		return true
	}
	resource, verb, ok := strings.Cut(string(sc), ":")
	if !ok {
		return false
	}
	actions, known := Actions[coder.RBACResource(resource)]
	return known && (verb == "*" || slices.Contains(actions, coder.RBACAction(verb)))
}

// PublicScopes gives the catalogue of scopes that people are offered: the
// composites and those of the resources that a person works with.
func PublicScopes() []coder.APIKeyScope {
	out := []coder.APIKeyScope{}
	for sc := range compositeScopes {
		if strings.HasPrefix(string(sc), "coder:") {
			out = append(out, sc)
		}
	}
	for _, t := range []coder.RBACResource{
		coder.RBACResourceAPIKey, coder.RBACResourceFile, coder.RBACResourceOrganization, coder.RBACResourceTask,
		coder.RBACResourceTemplate, coder.RBACResourceUser, coder.RBACResourceUserSecret, coder.RBACResourceWorkspace,
	} {
		out = append(out, coder.APIKeyScope(t+":*"))
		for _, a := range Actions[t] {
			out = append(out, coder.APIKeyScope(string(t)+":"+string(a)))
		}
	}
	slices.Sort(out)
	return out
}
