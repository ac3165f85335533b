package oauth2provider

import (
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/oauth2provider/redirecturi"
)

// maxScopes bounds the scopes of a request and of an application.
const maxScopes = 250

// parseScopes reads scopes that are separated by spaces, sorted and without duplicates. The error begins with the name
// of the first scope that is unknown.
func parseScopes(text string) ([]codersdk.APIKeyScope, error) {
	var out []codersdk.APIKeyScope
	for _, word := range strings.Fields(text) {
		sc := codersdk.APIKeyScope(word)
		switch sc {
		case codersdk.APIKeyScopeAll:
			sc = codersdk.APIKeyScopeCoderAll
		case codersdk.APIKeyScopeApplicationConnect:
			sc = codersdk.APIKeyScopeCoderApplicationConnect
		}
		if !access.KnownScope(sc) {
			return nil, failure(InvalidScope, redirecturi.Clip(word)+": the scope is unknown")
		}
		out = append(out, sc)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) > maxScopes {
		return nil, failure(InvalidScope, "scope: at most 250 scopes are allowed")
	}
	return out, nil
}

// grantable returns the scopes of a request to an application. Without a request they are the scopes that the
// application lists, and coder:all if it lists none.
func grantable(app []codersdk.APIKeyScope, asked string) ([]codersdk.APIKeyScope, error) {
	scopes, err := parseScopes(asked)
	switch {
	case err != nil:
		return nil, err
	case len(scopes) > 0:
		return scopes, covered(app, scopes)
	case len(app) > 0:
		return app, nil
	}
	return []codersdk.APIKeyScope{codersdk.APIKeyScopeCoderAll}, nil
}

// covered checks that scopes are within those that an application lists; none mean all.
func covered(limit, scopes []codersdk.APIKeyScope) error {
	for _, sc := range scopes {
		if len(limit) > 0 && !access.ScopeCovers(limit, sc) {
			return failure(InvalidScope, string(sc)+": the scope is not allowed for this application")
		}
	}
	return nil
}

// joinScopes returns scopes as text.
func joinScopes(scopes []codersdk.APIKeyScope) string { return strings.Join(texts(scopes), " ") }

func texts(scopes []codersdk.APIKeyScope) []string {
	out := make([]string, len(scopes))
	for i, sc := range scopes {
		out[i] = string(sc)
	}
	return out
}

// composites describe the composite scopes on the consent page.
var composites = map[codersdk.APIKeyScope]string{
	codersdk.APIKeyScopeCoderAll:                "Full access to your account",
	codersdk.APIKeyScopeCoderApplicationConnect: "Open the apps of your workspaces",
	codersdk.APIKeyScopeCoderApikeysManageSelf:  "Manage your API tokens",
	codersdk.APIKeyScopeCoderTemplatesBuild:     "Read and update templates",
	codersdk.APIKeyScopeCoderTemplatesAuthor:    "Create, update and delete templates",
	codersdk.APIKeyScopeCoderWorkspacesCreate:   "Create workspaces",
	codersdk.APIKeyScopeCoderWorkspacesOperate:  "Start, stop and update your workspaces",
	codersdk.APIKeyScopeCoderWorkspacesDelete:   "Delete your workspaces",
	codersdk.APIKeyScopeCoderWorkspacesAccess:   "Connect to your workspaces and their apps",
}

// describeScope returns a scope in words.
func describeScope(sc codersdk.APIKeyScope) string {
	if text, ok := composites[sc]; ok {
		return text
	}
	resource, action, _ := strings.Cut(string(sc), ":")
	if action == "*" {
		action = "all actions"
	}
	return strings.ReplaceAll(resource, "_", " ") + ": " + strings.ReplaceAll(action, "_", " ")
}
