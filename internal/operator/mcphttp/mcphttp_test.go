package mcphttp

import (
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"

	"k8s.io/client-go/rest"
)

func TestLastBytes(t *testing.T) {
	long := strings.Repeat("line\n", 100)
	for name, c := range map[string]struct {
		in   string
		n    int
		want string
		cut  bool
	}{
		"all":      {"one\ntwo\n", 100, "one\ntwo\n", false},
		"empty":    {"", 100, "", false},
		"end":      {long, 12, "line\nline\n", true},
		"one line": {strings.Repeat("x", 50), 5, "xxxxx", true},
		"binary":   {"a\xffb", 100, "a?b", false},
	} {
		got, cut, err := lastBytes(iotest.OneByteReader(strings.NewReader(c.in)), c.n)
		if err != nil || string(got) != c.want || cut != c.cut {
			t.Errorf("%s: %q, cut %t, %v", name, got, cut, err)
		}
	}
	if _, _, err := lastBytes(iotest.ErrReader(iotest.ErrTimeout), 5); err == nil {
		t.Error("a failure of the reader is lost")
	}
}

func TestAllowed(t *testing.T) {
	c := Config{Rest: &rest.Config{}, Log: slog.New(slog.DiscardHandler), Allowed: []string{"coder_nothing"}}
	if _, err := Handler(c); err == nil || !strings.Contains(err.Error(), "coder_nothing") {
		t.Errorf("names without a tool: %v", err)
	}
	c.Allowed = nil
	if tools, err := c.tools(); err != nil || len(tools) != len(all) {
		t.Errorf("without names it serves %d tools, %v", len(tools), err)
	}
	seen := map[string]bool{}
	for _, tool := range all {
		if seen[tool.Name] || !strings.HasPrefix(tool.Name, "coder_") {
			t.Errorf("the name %s", tool.Name)
		}
		seen[tool.Name] = true
	}
}
