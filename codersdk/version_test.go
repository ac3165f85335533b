package codersdk

import (
	"runtime/debug"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
)

func TestVersionOfABuild(t *testing.T) {
	const commit = "3097b5fa2c1d4e6f8091a2b3c4d5e6f708192a3b"
	stamped := func(modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: commit}, {Key: "vcs.modified", Value: modified}}}
	}
	ofModule := func(v string) *debug.BuildInfo { return &debug.BuildInfo{Main: debug.Module{Version: v}} }
	for _, c := range []struct {
		name, release string
		info          *debug.BuildInfo
		want          string
	}{
		{"no build information", "", nil, "v2.37.0-devel"},
		{"go run", "", ofModule("(devel)"), "v2.37.0-devel"},
		{"commit", "", stamped("false"), "v2.37.0-devel+3097b5fa2c1d"},
		{"changed files", "", stamped("true"), "v2.37.0-devel+3097b5fa2c1d.dirty"},
		{"go install", "", ofModule("v0.0.0-20261122110343-3097b5fa2c1d"), "v2.37.0-devel+3097b5fa2c1d"},
		{"go install of changed files", "", ofModule("v0.0.0-20261122110343-3097b5fa2c1d+dirty"), "v2.37.0-devel+3097b5fa2c1d"},
		{"tag", "v2.37.4", stamped("false"), "v2.37.4"},
		{"tag with changed files", "v2.37.4", stamped("true"), "v2.37.4+dirty"},
		{"image", "v2.37.0-devel+3097b5fa2c1d", nil, "v2.37.0-devel+3097b5fa2c1d"},
		{"no version", "latest", stamped("false"), "v2.37.0-devel+3097b5fa2c1d"},
		{"half a version", "v2.37", nil, "v2.37.0-devel"},
	} {
		got := version(c.release, c.info)
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if !semver.IsValid(got) || strings.HasPrefix(got, "v0") {
			t.Errorf("%s: %s is not a semantic version with a number", c.name, got)
		}
	}
}

func TestSameRelease(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"v2.37.0-devel+abc", "v2.37.0-devel+def", true},
		{"v2.37.0-devel", "v2.37.9", true},
		{"v2.37.0", "v2.36.9", false},
		{"v2.37.0", "v3.37.0", false},
		{"", "v2.37.0", true},
		{"v2.37.0", "devel", true},
	} {
		if got := SameRelease(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
