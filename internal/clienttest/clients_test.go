package clienttest

import (
	"strings"
	"testing"
)

// clients returns all clients with their rows. Each kind of client has a file.
func clients() []client {
	return []client{
		visualStudioCode(), toolbox(), gateway(),
		registry(), provider(), deploymentProvider(), kubernetes(),
		envbuilder(), envbox(), logstream(),
		setupAction(), startWorkspaceAction(), createTaskAction(), ciScripts(),
		backstage(), mux(), gerrit(),
		desktopMac(), desktopWindows(), desktopLinux(),
		boundary(), agentAPI(), codeServer(), marketplace(), webhooks(), packagers(), observability(),
		thirdParty(), common(), differences(),
	}
}

// TestClients runs the rows of all clients. Clients run in parallel. The rows of a
// client run in order.
func TestClients(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a server and Terraform")
	}
	w := newWorld(t)
	for i, c := range clients() {
		name := shortName(c.name, i)
		base := w.session(t, name)
		base.memo = map[string]string{}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, r := range c.rows {
				t.Run(r.section+" "+r.entries[0], func(t *testing.T) { r.run(base.with(t)) })
			}
		})
	}
}

// shortName returns a short form of a client's name that is valid as a name in the
// product. i makes it unique.
func shortName(name string, i int) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	short := strings.Join(words[:min(2, len(words))], "-")
	return "c" + string(rune('a'+i/10)) + string(rune('0'+i%10)) + "-" + short[:min(16, len(short))]
}
