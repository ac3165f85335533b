package codersdk

import (
	"runtime/debug"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// Development is the version of every build without a tag. Its number is the
// API level that clients may rely on: they compare it with thresholds of their
// own. Releases are tagged v2.37.N.
const Development = "v2.37.0-devel"

// ExternalURL is the address of the project.
const ExternalURL = "https://github.com/seed-2a7f8fe7/coder"

// release is the version that the linker sets (-X), from a tag or where the
// source has no repository beside it, as in the build of an image.
var release string

// Version returns the version of the running program as a semantic version with
// a leading v: that of the release, such as v2.37.1, and otherwise Development,
// followed by + and the commit where it is known, and .dirty where files
// differed from the commit.
func Version() string {
	info, _ := debug.ReadBuildInfo()
	return version(release, info)
}

// version returns the version of a build with info, which may be nil, and the
// release that the linker set.
func version(release string, info *debug.BuildInfo) string {
	commit, modified := revision(info)
	if semver.IsValid(release) && semver.Canonical(release)+semver.Build(release) == release {
		if modified && semver.Build(release) == "" {
			release += "+dirty"
		}
		return release
	}
	if commit == "" {
		return Development
	}
	if modified {
		commit += ".dirty"
	}
	return Development + "+" + commit
}

// revision returns the first 12 digits of the commit that info names, as the
// toolchain stamped it or as part of a module's pseudo-version, and whether
// files differed from it.
func revision(info *debug.BuildInfo) (commit string, modified bool) {
	if info == nil {
		return "", false
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if commit == "" {
		// An error means that the version is no pseudo-version and names no commit.
		main, _, _ := strings.Cut(info.Main.Version, "+")
		commit, _ = module.PseudoVersionRev(main)
	}
	return commit[:min(12, len(commit))], modified
}

// SameRelease reports whether a and b are versions of one release line: major
// and minor number are equal. Versions that cannot be compared, such as an empty
// one, count as the same.
func SameRelease(a, b string) bool {
	return !semver.IsValid(a) || !semver.IsValid(b) || semver.MajorMinor(a) == semver.MajorMinor(b)
}
