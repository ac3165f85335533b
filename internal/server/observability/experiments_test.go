package observability_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/server/observability"
)

func TestExperiments(t *testing.T) {
	for given, want := range map[string]string{
		"":                                  "",
		"workspace-usage":                   "workspace-usage",
		"oauth2,mcp-server-http":            "mcp-server-http oauth2",
		"workspace-usage,workspace-usage,*": "auto-fill-parameters mcp-server-http workspace-sharing workspace-usage",
		"*,oauth2":                          "auto-fill-parameters mcp-server-http oauth2 workspace-sharing workspace-usage",
	} {
		var c observability.Config
		if given != "" {
			c.Experiments = strings.Split(given, ",")
		}
		got, err := c.EnabledExperiments()
		if err != nil || !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q: %q, %v; want %q", given, got, err, want)
		}
	}
	c := observability.Config{Experiments: []string{"teleport"}}
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), `unknown experiment "teleport"`) {
		t.Errorf("an unknown experiment: %v", err)
	}
}
