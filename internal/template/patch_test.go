package template

import (
	"encoding/json"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// TestChangeReadsBothForms applies updates as clients really send them: the old
// form leaves out false and 0, the new form leaves out what stays.
func TestChangeReadsBothForms(t *testing.T) {
	before := sqlc.Template{
		Name: "docker", DisplayName: "Docker", Description: "before", AutostartDays: weekdays(), AutostopDays: []string{}, AutostopWeeks: 1,
		AllowUserAutostart: true, AllowUserAutostop: true, AllowUserCancelWorkspaceJobs: true, RequireActiveVersion: true,
		DefaultTTLMS: 3600_000, ActivityBumpMs: 3600_000, FailureTtlMs: 60_000, TimeTilDormantMs: 120_000, TimeTilDormantAutodeleteMs: 180_000,
		DeprecationMessage: "old", DisableModuleCache: true,
	}
	const whole = `"name":"docker","display_name":"Docker","description":"after","icon":"","autostart_requirement":{"days_of_week":["all"]},"autostop_requirement":{"days_of_week":[],"weeks":1}`
	on, off := before, before
	on.Description, off.Description = "after", "after"
	off.AllowUserAutostart, off.AllowUserAutostop, off.AllowUserCancelWorkspaceJobs, off.RequireActiveVersion = false, false, false, false
	off.DefaultTTLMS, off.ActivityBumpMs, off.FailureTtlMs, off.TimeTilDormantMs, off.TimeTilDormantAutodeleteMs = 0, 0, 0, 0, 0
	some := off
	some.AllowUserAutostop, some.DefaultTTLMS = true, 7200_000
	unscheduled := on
	unscheduled.DefaultTTLMS = 0
	const markers = `,"update_workspace_last_used_at":false,"update_workspace_dormant_at":false,"disable_everyone_group_access":false`
	for name, c := range map[string]struct {
		body string
		want sqlc.Template
	}{
		"old form, all off":              {`{` + whole + markers + `}`, off},
		"old form, some on":              {`{` + whole + markers + `,"allow_user_autostop":true,"default_ttl_ms":7200000}`, some},
		"new form, all off":              {`{` + whole + `,"allow_user_autostart":false,"allow_user_autostop":false,"allow_user_cancel_workspace_jobs":false,"require_active_version":false,"default_ttl_ms":0,"activity_bump_ms":0,"failure_ttl_ms":0,"time_til_dormant_ms":0,"time_til_dormant_autodelete_ms":0}`, off},
		"new form, one zero":             {`{` + whole + `,"default_ttl_ms":0}`, unscheduled},
		"new form, the description only": {`{"description":"after"}`, on},
		"new form, name and description": {`{"name":"docker","display_name":"Docker","description":"after","icon":""` + markers + `}`, on},
		"null is absent":                 {`{"description":"after","default_ttl_ms":null,"allow_user_autostart":null}`, on},
	} {
		var req codersdk.UpdateTemplateMeta
		if err := json.Unmarshal([]byte(c.body), &req); err != nil {
			t.Fatal(name, err)
		}
		got, _ := json.Marshal(change(before, req))
		want, _ := json.Marshal(c.want)
		if string(got) != string(want) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}
