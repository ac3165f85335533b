package codersdk_test

import (
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func TestUsageApps(t *testing.T) {
	for _, c := range []struct {
		name string
		want codersdk.UsageApp
		kind codersdk.ConnectionType
	}{
		{"ssh", codersdk.UsageAppSSH, codersdk.ConnectionTypeSSH},
		{"vscode", codersdk.UsageAppVSCode, codersdk.ConnectionTypeVSCode},
		{"cursor", codersdk.UsageAppVSCode, codersdk.ConnectionTypeVSCode},
		{"Windsurf - Next", codersdk.UsageAppVSCode, codersdk.ConnectionTypeVSCode},
		{"jetbrains", codersdk.UsageAppJetBrains, codersdk.ConnectionTypeJetBrains},
		{"JetBrains-Toolbox", codersdk.UsageAppJetBrains, codersdk.ConnectionTypeJetBrains},
		{"reconnecting-pty", codersdk.UsageAppReconnectingPTY, codersdk.ConnectionTypeReconnectingPTY},
		{"reconnecting_pty", codersdk.UsageAppReconnectingPTY, codersdk.ConnectionTypeReconnectingPTY},
		{"disable", codersdk.UsageAppDisable, codersdk.ConnectionTypeSSH},
	} {
		if got, ok := codersdk.ParseUsageApp(c.name); got != c.want || !ok || got.ConnectionType() != c.kind {
			t.Errorf("%q is %s, %v, in the log %s, want %s, %s", c.name, got, ok, got.ConnectionType(), c.want, c.kind)
		}
	}
	for _, name := range []string{"", " ", "a\nb", "-x", strings.Repeat("a", 65)} {
		if got, ok := codersdk.ParseUsageApp(name); ok {
			t.Errorf("%q is %s", name, got)
		}
	}
}
