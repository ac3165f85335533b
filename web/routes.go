package web

import "strings"

// routes are the paths of the dashboard's pages, as the router in src declares
// them: a segment $name stands for any value, @{$name} for one behind an @.
// A test holds this list to the router.
func routes() []string {
	return []string{
		"/", "/setup", "/login", "/login/device", "/reset-password", "/cli-auth",
		"/settings", "/settings/$tab",
		"/workspaces", "/@{$owner}/$workspace", "/@{$owner}/$workspace/builds/$number", "/@{$owner}/$workspace/terminal",
		"/@{$owner}/$workspace/settings", "/$owner/$workspace/terminal",
		"/templates", "/templates/new", "/templates/$template", "/templates/$organization/$template", "/templates/$organization/$template/versions/$version",
		"/templates/$organization/$template/edit", "/templates/$organization/$template/workspace",
		"/organizations", "/organizations/$organization", "/organizations/$organization/$tab", "/organizations/$organization/groups/$group",
		"/notifications", "/users", "/audit", "/audit/connections",
		"/deployment", "/deployment/$tab", "/deployment/health/$section", "/deployment/oauth2/$app",
	}
}

// isPage reports whether the dashboard has a page at the path. A trailing slash
// does not matter.
func isPage(path string) bool {
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	for _, route := range routes() {
		if matches(route, path) {
			return true
		}
	}
	return false
}

func matches(route, path string) bool {
	want, got := strings.Split(route, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i, w := range want {
		prefix, _, variable := strings.Cut(strings.ReplaceAll(w, "{", ""), "$")
		switch {
		case !variable && w != got[i]:
			return false
		case variable && (!strings.HasPrefix(got[i], prefix) || len(got[i]) == len(prefix)):
			return false
		}
	}
	return true
}
