package coder

import (
	"runtime/debug"
	"strings"
)

// Version is the version of the running program as the Go toolchain stamped
// it: v1.2.3 for a release, v0.0.0-<time>-<commit> between releases, and
// v0.0.0-devel where nothing was stamped, as in tests.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || !strings.HasPrefix(info.Main.Version, "v") {
		return "v0.0.0-devel"
	}
	return info.Main.Version
}
