package health_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/health"
)

// sectionOf returns the history of one section.
func sectionOf(t *testing.T, s *health.Service, section codersdk.HealthSection) codersdk.HealthSectionHistory {
	t.Helper()
	h, err := s.History(t.Context(), access.System())
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range h.Sections {
		if found.Section == section {
			return found
		}
	}
	t.Fatalf("the history has no section %s: %+v", section, h)
	return codersdk.HealthSectionHistory{}
}

func TestHistory(t *testing.T) {
	c := sound(t)
	now := time.Now().Truncate(time.Second)
	start, status := now, codersdk.NotificationStatus{WaitingMessages: 3}
	c.Now = func() time.Time { return now }
	c.Notifications = func(context.Context, access.Subject) (codersdk.NotificationStatus, error) { return status, nil }
	s := health.New(c)
	run := func(after time.Duration) {
		t.Helper()
		now = start.Add(after)
		if _, err := s.Report(t.Context(), access.System(), true); err != nil {
			t.Fatal(err)
		}
	}
	if h := sectionOf(t, s, codersdk.HealthSectionDatabase); len(h.Checks) != 0 || !h.SeveritySince.IsZero() {
		t.Errorf("before the first report: %+v", h)
	}
	run(0)
	run(10 * time.Second) // nothing changed within a minute
	status.FailedCount = 2
	run(20 * time.Second)
	run(10 * time.Minute)
	h := sectionOf(t, s, codersdk.HealthSectionNotifications)
	if len(h.Checks) != 3 || h.Unit != "waiting messages" || !h.SeveritySince.Equal(start.Add(20*time.Second)) {
		t.Fatalf("the history of notifications: %+v", h)
	}
	first, last := h.Checks[0], h.Checks[2]
	if first.Severity != codersdk.HealthSeverityOK || first.Value == nil || *first.Value != 3 || first.Hostname != "one" || first.ReplicaID != here {
		t.Errorf("the first check: %+v", first)
	}
	if last.Severity != codersdk.HealthSeverityWarning || !strings.HasPrefix(last.Finding, "ENOT01: 2 notifications") {
		t.Errorf("the last check: %+v", last)
	}
	if d := sectionOf(t, s, codersdk.HealthSectionDatabase); d.Unit != "ms" || d.Checks[0].Value == nil || !d.SeveritySince.Equal(start) {
		t.Errorf("the history of the database: %+v", d)
	}
	now = start.Add(24*time.Hour + time.Minute)
	if n, err := s.PurgeHistory(t.Context()); err != nil || n != 2 {
		t.Errorf("%d reports purged, %v", n, err)
	}
	if _, err := s.History(t.Context(), access.Subject{}); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("without a role: %v", err)
	}
}

// TestHistoryOfAnOutage checks that reports of an outage of the database are
// recorded after it.
func TestHistoryOfAnOutage(t *testing.T) {
	c := sound(t)
	now := time.Now().Truncate(time.Second)
	c.Now = func() time.Time { return now }
	s := health.New(c)
	exec := func(sql string) {
		t.Helper()
		if _, err := c.Store.Pool().Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec(`ALTER TABLE health_checks RENAME TO health_checks_gone`)
	for range 3 {
		if _, err := s.Report(t.Context(), access.System(), true); err != nil {
			t.Fatal(err)
		}
		now = now.Add(10 * time.Minute)
	}
	exec(`ALTER TABLE health_checks_gone RENAME TO health_checks`)
	if _, err := s.Report(t.Context(), access.System(), true); err != nil {
		t.Fatal(err)
	}
	if h := sectionOf(t, s, codersdk.HealthSectionAccessURL); len(h.Checks) != 4 {
		t.Errorf("%d checks after the outage, want 4", len(h.Checks))
	}
}

func TestNotificationsSection(t *testing.T) {
	c := sound(t)
	for name, k := range map[string]struct {
		status codersdk.NotificationStatus
		codes  string
	}{
		"nothing waits": {codersdk.NotificationStatus{}, ""},
		"paused":        {codersdk.NotificationStatus{Paused: true, WaitingEvents: 1, OldestSeconds: 9000}, "ENOT03"},
		"late":          {codersdk.NotificationStatus{WaitingMessages: 1, OldestSeconds: 9000}, "ENOT02"},
		"failed":        {codersdk.NotificationStatus{FailedCount: 1}, "ENOT01"},
	} {
		c.Notifications = func(context.Context, access.Subject) (codersdk.NotificationStatus, error) { return k.status, nil }
		if got := report(t, c).Notifications; codes(got.Warnings) != k.codes || !got.Healthy {
			t.Errorf("%s: %+v, want %q", name, got, k.codes)
		}
	}
}
