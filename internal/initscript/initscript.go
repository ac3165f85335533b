// Package initscript contains the script with which a new machine becomes a
// workspace: it downloads the agent from the access URL and runs it.
//
// Templates run it as coder_agent.init_script, users with `curl
// $URL/init-script/linux/amd64 | sh`. It requires a POSIX shell and one of
// curl, wget or busybox, or PowerShell on Windows. It retries network failures
// with increasing delays and never gives up. The agent's token must be in
// CODER_AGENT_TOKEN. (AG-01)
//
// The script has two placeholders, ${ACCESS_URL} and ${AUTH_TYPE}, which the
// Terraform provider fills in. The URL may end in a slash.
package initscript

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed unix.sh
var unix string

//go:embed windows.ps1
var windows string

// Platform is an operating system and an architecture as coder_agent names
// them.
type Platform struct{ OS, Arch string }

// Platforms lists all platforms with an agent.
func Platforms() []Platform {
	return []Platform{
		{"linux", "amd64"}, {"linux", "arm64"}, {"linux", "armv7"},
		{"darwin", "amd64"}, {"darwin", "arm64"},
		{"windows", "amd64"}, {"windows", "arm64"},
	}
}

// Script returns the script with its placeholders, and false for a platform
// without an agent.
func Script(os, arch string) (text string, ok bool) {
	for _, p := range Platforms() {
		if p.OS != os || p.Arch != arch {
			continue
		}
		text = unix
		if os == "windows" {
			text = windows
		}
		machines := map[string]string{
			"amd64": "x86_64|amd64",
			"arm64": "aarch64|arm64",
			"armv7": "armv7*|armv8*|aarch64|arm64",
		}
		return strings.NewReplacer("@OS@", os, "@ARCH@", arch, "@MACHINES@", machines[arch]).Replace(text), true
	}
	return "", false
}

// Render returns the script with its placeholders filled in. auth is a value of
// coder_agent.auth, usually "token".
func Render(os, arch, accessURL, auth string) (string, error) {
	text, ok := Script(os, arch)
	if !ok {
		return "", fmt.Errorf("no agent exists for %s/%s", os, arch)
	}
	return strings.NewReplacer(
		"${ACCESS_URL}", strings.TrimRight(accessURL, "/")+"/",
		"${AUTH_TYPE}", auth,
	).Replace(text), nil
}
