package dispatch_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/notification/dispatch"
)

// TestReportOfFailedBuilds: the first period begins with the first call, each
// period has one report whichever server writes it, and a report names what
// failed in its period only.
func TestReportOfFailedBuilds(t *testing.T) {
	h := agenttest.New(t)
	servers := []*dispatch.Service{dispatch.New(dispatch.Config{Store: h.Store}), dispatch.New(dispatch.Config{Store: h.Store})}
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := h.Store.Pool().Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	reports := func() (out []dispatch.Report) {
		t.Helper()
		for _, s := range servers {
			if err := s.Report(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := h.Store.Pool().Query(t.Context(), `DELETE FROM notification_events WHERE kind = $1 RETURNING data`, notification.TemplateBuildsFailed)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var raw []byte
			var r dispatch.Report
			if err := rows.Scan(&raw); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(raw, &r); err != nil {
				t.Fatal(err)
			}
			out = append(out, r)
		}
		return out
	}
	weekLater := func() { exec(`UPDATE site_settings SET updated_at = updated_at - interval '7 days'`) }

	w := h.Workspace("dev").WorkspaceID
	h.Build(w, 2, codersdk.WorkspaceTransitionStop, "failed")
	if got := reports(); len(got) != 0 {
		t.Errorf("the first call wrote %v", got)
	}
	weekLater()
	var version, owner string
	if err := h.Store.Pool().QueryRow(t.Context(), `SELECT v.name, u.username FROM template_versions v, workspaces w JOIN users u ON u.id = w.owner_id`).Scan(&version, &owner); err != nil {
		t.Fatal(err)
	}
	want := []dispatch.Report{{Failed: "1", Versions: []dispatch.VersionReport{{Name: version, Builds: "2", Failed: "1", Latest: []string{owner + "/dev #2"}}}}}
	if got := reports(); !reflect.DeepEqual(got, want) {
		t.Errorf("the report is %+v, want %+v", got, want)
	}
	if got := reports(); len(got) != 0 {
		t.Errorf("a second report of the period: %v", got)
	}
	weekLater()
	exec(`UPDATE provisioner_jobs SET completed_at = $1 WHERE completed_at IS NOT NULL`, time.Now().Add(-dispatch.ReportPeriod-time.Hour))
	if got := reports(); len(got) != 0 {
		t.Errorf("a report of builds before the period: %v", got)
	}
}
