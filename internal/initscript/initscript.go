// Package initscript holds the text that a fresh machine runs to become a
// workspace: it fetches the agent from the access URL and executes it.
//
// A template starts it as coder_agent.init_script, a person as
// `curl $URL/init-script/linux/amd64 | sh`. It asks little of the machine: a
// POSIX shell and one of curl, wget or busybox, or on Windows PowerShell. It
// never ends because of the network; it tries again, less and less often. The
// agent's token is expected in CODER_AGENT_TOKEN. (AG-01)
//
// The text has two placeholders, ${ACCESS_URL} and ${AUTH_TYPE}, which the
// Terraform provider fills in; a URL with and without a slash at its end both
// work.
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

// Platform is an operating system and an architecture in the words of
// coder_agent, and how the kernel of such a machine names the architecture.
type Platform struct{ OS, Arch string }

// Platforms are all that an agent exists for.
func Platforms() []Platform {
	return []Platform{
		{"linux", "amd64"}, {"linux", "arm64"}, {"linux", "armv7"},
		{"darwin", "amd64"}, {"darwin", "arm64"},
		{"windows", "amd64"}, {"windows", "arm64"},
	}
}

// Script gives the text with its placeholders, and false for a platform that
// no agent exists for.
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

// Render gives the text with its placeholders filled in. auth is a value of
// coder_agent.auth, usually "token".
func Render(os, arch, accessURL, auth string) (string, error) {
	text, ok := Script(os, arch)
	if !ok {
		return "", fmt.Errorf("there is no agent for %s/%s", os, arch)
	}
	return strings.NewReplacer(
		"${ACCESS_URL}", strings.TrimRight(accessURL, "/")+"/",
		"${AUTH_TYPE}", auth,
	).Replace(text), nil
}
