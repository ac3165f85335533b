package insight

import (
	"context"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// activitySpan is the part of the connection log that is evidence.
const activitySpan = 7 * 24 * time.Hour

// Activity explains when a workspace stops automatically, or why it stopped. The facts
// are those that decide: the deadline of the build, the rules of the template, the last
// use, and the connection log, of which the explanation has only types and times. The
// caller has checked that the actor may read the workspace. (WS-15)
func (s *Service) Activity(ctx context.Context, w codersdk.Workspace) (codersdk.WorkspaceActivity, error) {
	t, err := s.c.Store.TemplateByID(ctx, w.TemplateID)
	if err != nil {
		return codersdk.WorkspaceActivity{}, err
	}
	now := s.c.Now()
	rows, err := s.c.Store.ActivityConnections(ctx, now, w.ID, now.Add(-activitySpan))
	if err != nil {
		return codersdk.WorkspaceActivity{}, err
	}
	f := facts{workspace: w, bump: time.Duration(t.Template.ActivityBumpMs) * time.Millisecond, now: now}
	for _, kind := range codersdk.ConnectionTypes() {
		e := codersdk.ActivityEvidence{Type: kind, Counts: counts(kind)}
		for _, row := range rows {
			if row.Type == string(kind) {
				e.Open, e.LastAt = row.Open, &row.LastAt
			}
		}
		f.evidence = append(f.evidence, e)
	}
	return f.explain(), nil
}

// counts reports whether open connections of a type extend the deadline: those that
// agents report as sessions.
func counts(kind codersdk.ConnectionType) bool {
	switch kind {
	case codersdk.ConnectionTypeSSH, codersdk.ConnectionTypeVSCode, codersdk.ConnectionTypeJetBrains, codersdk.ConnectionTypeReconnectingPTY:
		return true
	}
	return false
}
