package codersdk

import "testing"

func TestPortShareLevelAtMost(t *testing.T) {
	for _, c := range []struct{ level, most, want WorkspaceAgentPortShareLevel }{
		{"public", "public", "public"},
		{"public", "authenticated", "authenticated"},
		{"public", "organization", "organization"},
		{"public", "owner", "owner"},
		{"authenticated", "organization", "organization"},
		{"organization", "authenticated", "organization"},
		{"owner", "public", "owner"},
		{"world", "public", "owner"},
		{"public", "world", "owner"},
		{"", "", "owner"},
	} {
		if got := c.level.AtMost(c.most); got != c.want {
			t.Errorf("%q at most %q is %q, want %q", c.level, c.most, got, c.want)
		}
	}
}
