package codersdk

import (
	"regexp"
	"strings"
)

// UsageApp is the use of a session in a workspace, as counted in the connection
// log, in agent statistics and in insights.
type UsageApp string

// Values of UsageApp, as `coder ssh --usage-app`, CODER_SSH_SESSION_TYPE and POST
// /workspaces/{workspace}/usage name them.
const (
	UsageAppSSH             UsageApp = "ssh"
	UsageAppVSCode          UsageApp = "vscode"
	UsageAppJetBrains       UsageApp = "jetbrains"
	UsageAppReconnectingPTY UsageApp = "reconnecting-pty"
	UsageAppDisable         UsageApp = "disable" // the session is not counted as use
)

// editorName matches what an editor may call itself.
var editorName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._ -]{0,63}$`)

// ParseUsageApp returns the UsageApp that an editor's client means by name.
// JetBrains products count as JetBrains. Any other name of an editor counts as VS
// Code: only that family of editors (cursor, windsurf, kiro and others) passes
// its own names. ok is false when name cannot be the name of an editor.
func ParseUsageApp(name string) (app UsageApp, ok bool) {
	switch name = strings.ToLower(name); {
	case name == "reconnecting_pty":
		return UsageAppReconnectingPTY, true
	case strings.HasPrefix(name, "jetbrains"):
		return UsageAppJetBrains, true
	}
	switch app = UsageApp(name); app {
	case UsageAppSSH, UsageAppReconnectingPTY, UsageAppDisable:
		return app, true
	}
	return UsageAppVSCode, editorName.MatchString(name)
}

// ConnectionType returns the type of the app's connections in the connection log.
// It records connections that are not counted as use too, as SSH.
func (u UsageApp) ConnectionType() ConnectionType {
	switch u {
	case UsageAppVSCode:
		return ConnectionTypeVSCode
	case UsageAppJetBrains:
		return ConnectionTypeJetBrains
	case UsageAppReconnectingPTY:
		return ConnectionTypeReconnectingPTY
	}
	return ConnectionTypeSSH
}
