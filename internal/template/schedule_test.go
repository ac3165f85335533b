package template_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// TestSchedulesFollowTheTemplate: when workspaces start next and are deleted is
// true from the moment on that their template changes.
func TestSchedulesFollowTheTemplate(t *testing.T) {
	h := newHouse(t)
	now := time.Date(2026, 3, 25, 12, 0, 0, 0, time.UTC) // a Wednesday; summer time begins on the Sunday
	h.Now = func() time.Time { return now }
	tpl := h.template(t, "tpl")
	w := h.workspace(t, h.member, tpl, tpl.ActiveVersionID)
	h.exec(t, `UPDATE workspaces SET autostart_schedule = 'CRON_TZ=Europe/Lisbon 30 9 * * *', next_start_at = now() WHERE id = $1`, w)
	change := func(req codersdk.UpdateTemplateMeta) {
		t.Helper()
		if _, err := h.UpdateTemplate(t.Context(), h.admin, tpl.ID, req); err != nil {
			t.Fatal(err)
		}
	}
	next := func(of uuid.UUID, column string) (at *time.Time) {
		t.Helper()
		if err := h.store.Pool().QueryRow(t.Context(), `SELECT `+column+` FROM workspaces WHERE id = $1`, of).Scan(&at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	on := func(month time.Month, day int) {
		t.Helper()
		want := time.Date(2026, month, day, 8, 30, 0, 0, time.UTC) // half past nine in Lisbon
		if at := next(w, "next_start_at"); at == nil || !at.Equal(want) {
			t.Errorf("it starts next at %v, want %v", at, want)
		}
	}
	change(codersdk.UpdateTemplateMeta{AutostartRequirement: &codersdk.TemplateAutostartRequirement{DaysOfWeek: []string{"wednesday"}}})
	on(time.April, 1)
	change(codersdk.UpdateTemplateMeta{AllowUserAutostart: new(false)})
	if at := next(w, "next_start_at"); at != nil {
		t.Errorf("it starts at %v where the template does not let it", at)
	}
	change(codersdk.UpdateTemplateMeta{AllowUserAutostart: new(true), AutostartRequirement: &codersdk.TemplateAutostartRequirement{DaysOfWeek: []string{"sunday"}}})
	on(time.March, 29)

	h.exec(t, `UPDATE workspaces SET dormant_at = '2020-01-01Z', next_start_at = NULL WHERE id = $1`, w)
	change(codersdk.UpdateTemplateMeta{TimeTilDormantAutodeleteMS: new(int64(3600_000))})
	if at := next(w, "deleting_at"); at == nil || !at.Equal(time.Date(2020, 1, 1, 1, 0, 0, 0, time.UTC)) {
		t.Errorf("it is deleted at %v", at)
	}
	change(codersdk.UpdateTemplateMeta{AutostartRequirement: &codersdk.TemplateAutostartRequirement{DaysOfWeek: []string{"monday"}}})
	if at := next(w, "next_start_at"); at != nil {
		t.Errorf("a dormant workspace starts at %v", at)
	}
	change(codersdk.UpdateTemplateMeta{TimeTilDormantAutodeleteMS: new(int64(0))})
	if at := next(w, "deleting_at"); at != nil {
		t.Errorf("it is deleted at %v where the template says never", at)
	}
}
