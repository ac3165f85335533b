package agent_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// TestDatabaseAway stops the server's PostgreSQL for 5 seconds while agents
// make each of their calls: one connects and says hello meanwhile, another
// reports logs, metadata, the health of an app, script timings and its life
// cycle, and pings. All of it arrives, once.
func TestDatabaseAway(t *testing.T) {
	cluster := postgrestest.NewCluster(t)
	h := agenttest.NewOn(t, cluster.Store())
	dir := t.TempDir()
	website := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, err := os.Stat(filepath.Join(dir, "go")); err != nil {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		}
	}))
	defer website.Close()
	connected := h.Workspace("connected", func(p *provisioner.Agent) {
		p.Scripts = []*provisioner.Script{{DisplayName: "Start", RunOnStart: true, Script: `
			echo begin
			until test -e ` + dir + `/go; do sleep 0.05; done
			echo in the dark`}}
		p.Metadata = []*provisioner.Agent_Metadata{{Key: "dark", Script: "test -e " + dir + "/go && echo yes || echo no", Interval: 1}}
		p.Apps = []*provisioner.App{{Slug: "web", Url: website.URL, Healthcheck: &provisioner.Healthcheck{Url: website.URL, Interval: 1, Threshold: 1}}}
	})
	connecting := h.Workspace("connecting")
	u, _ := h.Serve("")
	defer process(t, u, connected.Token)()
	metadata := func() string {
		m, err := h.Presence.Metadata(t.Context(), h.Owner, connected.ID)
		if err != nil || len(m) != 1 {
			return ""
		}
		return m[0].Result.Value
	}
	reaches(t, h, connected.ID, codersdk.WorkspaceAgentLifecycleStarting)
	testwait.Until(t, "the agent reports", func() bool {
		return strings.Contains(logText(t, h, connected.ID), "begin") && metadata() == "no" && view(t, h, connected.ID).Apps[0].Health == codersdk.WorkspaceAppHealthUnhealthy
	})

	cluster.StopFor(5 * time.Second)
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defer process(t, u, connecting.Token)()
	cluster.WaitRunning()
	h.Store.Pool().Reset() // the test's own view of it is not what is tested
	testwait.Until(t, "the database answers", func() bool { _, err := h.Store.Pool().Exec(t.Context(), "SELECT 1"); return err == nil })
	reaches(t, h, connected.ID, codersdk.WorkspaceAgentLifecycleReady)
	reaches(t, h, connecting.ID, codersdk.WorkspaceAgentLifecycleReady)
	testwait.Until(t, "what the agent reported is there", func() bool {
		return metadata() == "yes" && view(t, h, connected.ID).Apps[0].Health == codersdk.WorkspaceAppHealthHealthy && strings.Contains(logText(t, h, connected.ID), "in the dark")
	})
	if text := logText(t, h, connected.ID); strings.Count(text, "in the dark") != 1 || strings.Count(text, "begin") != 1 {
		t.Errorf("lines are missing or there twice:\n%s", text)
	}
	hasOneTiming(t, h)
	for _, a := range []agenttest.Agent{connected, connecting} {
		testwait.Until(t, "the agent is connected", func() bool { return view(t, h, a.ID).Status == codersdk.WorkspaceAgentStatusConnected })
	}
}

// hasOneTiming waits for the timing of the script, which must be there once.
func hasOneTiming(t *testing.T, h *agenttest.Fixture) {
	t.Helper()
	var timings int
	testwait.Until(t, "the timing of the script is there", func() bool {
		err := h.Store.Pool().QueryRow(t.Context(), "SELECT count(*) FROM workspace_agent_script_timings").Scan(&timings)
		return err == nil && timings > 0
	})
	if timings != 1 {
		t.Errorf("the script has %d timings", timings)
	}
}
