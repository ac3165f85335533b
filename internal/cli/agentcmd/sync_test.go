package agentcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/startup"
)

func TestSync(t *testing.T) {
	dir, err := os.MkdirTemp("", "sync") // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path, id := filepath.Join(dir, "s"), uuid.New()
	s, err := startup.Serve(t.Context(), path, id, startup.NewUnits(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const socket = "CODER_AGENT_SOCKET_PATH="
	for _, tc := range []struct {
		args      string
		out, errs string // parts
	}{
		{"ping", "Agent " + id.String() + " is reachable.\n", ""},
		{"want build clone tools", "", ""},
		{"want clone build", "", `"clone" -> "build" -> "clone"`},
		{"start --timeout 1ms build", "", `waiting for "clone" (not registered), "tools" (not registered)`},
		{"start --timeout soon build", "", `soon`},
		{"start clone", "", ""},
		{"complete clone", "", ""},
		{"complete clone", "", ""},
		{"status build", "Unit: build\nStatus: pending\nReady: false\n\nDEPENDS ON", ""},
		{"status build -c satisfied", "SATISFIED\ntrue\nfalse", ""},
		{"status build -o json", `"required_status": "completed",`, ""},
		{"status clone", "Ready: true\n", ""},
		{"complete build", "", "is pending"},
		{"want build", "", "takes at least 2 arguments"},
		{"status", "", "takes 1 argument"},
		{"nonsense", "", "unknown command"},
		{"ping --socket-path /nowhere/at/all", "", "The agent does not answer at /nowhere/at/all"},
	} {
		out, errs, code := call(t, dir, []string{socket + path}, append([]string{"exp", "sync"}, strings.Fields(tc.args)...)...)
		if (code != 0) != (tc.errs != "") || !strings.Contains(strings.ReplaceAll(out, " \n", "\n"), tc.out) || !strings.Contains(errs, tc.errs) {
			t.Errorf("%s: %d\n%s%s", tc.args, code, out, errs)
		}
	}
	if _, errs, code := call(t, dir, nil, "exp", "sync", "ping"); code == 0 || !strings.Contains(errs, "--socket-path") {
		t.Errorf("outside of a workspace: %d %s", code, errs)
	}
	if _, errs, code := call(t, dir, nil, "exp", "other"); code == 0 || !strings.Contains(errs, "CODER_AGENT_URL is not set") {
		t.Errorf("another experiment: %d %s", code, errs)
	}
}
