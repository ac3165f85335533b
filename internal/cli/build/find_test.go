package build

import "testing"

func TestTargets(t *testing.T) {
	for text, want := range map[string]Target{
		"dev": {"me", "dev", ""}, "dev.main": {"me", "dev", "main"}, "alice/dev": {"alice", "dev", ""},
		"alice/dev.main": {"alice", "dev", "main"}, "alice--dev": {"alice", "dev", ""}, "alice--dev--main": {"alice", "dev", "main"},
	} {
		if got, err := ParseTarget(text); err != nil || got != want {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "/", "a/", "/b", "a/b/c", "a b", ".x", "x."} {
		if got, err := ParseTarget(text); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}
