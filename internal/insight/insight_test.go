package insight_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/insight"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = t
}

var admin = access.Subject{UserID: uuid.New(), SiteRoles: []string{access.RoleTemplateAdmin, access.RoleUserAdmin}}

// TestUseBecomesInsights: what an agent reports of sessions and what is known
// of apps comes out as hours, users, and round trips.
func TestUseBecomesInsights(t *testing.T) {
	ctx := t.Context()
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -3)
	c := &clock{at: day.Add(10 * time.Hour)}
	h := agenttest.New(t, func(p *presence.Config) { p.Now = c.now })
	s := insight.New(insight.Config{Store: h.Store})
	a := h.Workspace("dev")
	agent, err := h.Presence.AuthenticateAgent(ctx, a.Token)
	must(t, err)
	conn := presence.Connection{ID: uuid.New(), Agent: agent}
	_, err = h.Presence.Hello(ctx, conn, presence.Hello{Certificate: []byte("c")})
	must(t, err)
	// An hour of SSH, the second half of it in an editor too, a report every 30 s.
	for i := range 120 {
		c.set(day.Add(10*time.Hour + time.Duration(i)*30*time.Second))
		st := presence.Stats{SSH: 1, RxBytes: int64(i) * 1000, TxBytes: int64(i) * 10, LatencyMS: float64(10 + i%2*10)}
		if i >= 60 {
			st.VSCode = 2
		}
		_, err := h.Presence.PutStats(ctx, agent, st)
		must(t, err)
		if i%10 == 9 {
			must(t, h.Presence.FlushUsage(ctx))
		}
	}
	must(t, h.Presence.FlushUsage(ctx))
	exec := func(sql string, args ...any) {
		t.Helper()
		_, err := h.Store.Pool().Exec(ctx, sql, args...)
		must(t, err)
	}
	// An app at a time without a session, over the hour's edge, and a port
	// that a visitor opened without signing in.
	exec(`INSERT INTO workspace_apps (id, agent_id, slug, display_name, icon, created_at) VALUES (gen_random_uuid(), $1, 'ide', 'IDE', '/i.svg', now())`, a.ID)
	add := `INSERT INTO workspace_app_stats (session_id, user_id, workspace_id, agent_id, access_method, slug_or_port, started_at, ended_at, requests)
		VALUES (gen_random_uuid(), $1, $2, $3, 'subdomain', $4, $5, $6, 9)`
	exec(add, h.Owner.UserID, a.WorkspaceID, a.ID, "ide", day.Add(12*time.Hour+50*time.Minute), day.Add(13*time.Hour+10*time.Minute))
	exec(add, nil, a.WorkspaceID, a.ID, "8080", day.Add(14*time.Hour), day.Add(14*time.Hour+time.Minute))
	exec(`UPDATE workspace_builds SET parameters = '[{"name":"region","value":"eu"}]', created_at = $2 WHERE workspace_id = $1`, a.WorkspaceID, day.Add(9*time.Hour))
	exec(`UPDATE workspaces SET created_at = $1`, day)
	exec(`UPDATE template_versions SET parameters = '[{"name":"region","display_name":"Region","type":"string","options":[{"name":"Europe","value":"eu"}]}]'`)

	q := insight.Query{Start: day, End: day.AddDate(0, 0, 2), Limit: 100}
	got, err := s.Templates(ctx, admin, q, codersdk.InsightsReportIntervalDay)
	must(t, err)
	if len(got.IntervalReports) != 2 || got.IntervalReports[0].ActiveUsers != 1 || got.IntervalReports[1].ActiveUsers != 0 || got.Report.ActiveUsers != 1 {
		t.Errorf("people by the day: %+v, in all %d", got.IntervalReports, got.Report.ActiveUsers)
	}
	seconds := map[string]int64{}
	for _, app := range got.Report.AppsUsage {
		seconds[app.Slug] = app.Seconds
	}
	for slug, want := range map[string]int64{"ssh": 3600, "vscode": 1800, "jetbrains": 0, "ide": 1200, "8080": 60} {
		if seconds[slug] != want {
			t.Errorf("%s was used %d s, want %d", slug, seconds[slug], want)
		}
	}
	p := got.Report.ParametersUsage
	if len(p) != 1 || p[0].DisplayName != "Region" || len(p[0].Values) != 1 || p[0].Values[0] != (codersdk.TemplateParameterValue{Value: "eu", Count: 1}) || len(p[0].Options) != 1 {
		t.Errorf("parameters: %+v", p)
	}

	activity, err := s.UserActivity(ctx, admin, q)
	must(t, err)
	if u := activity.Report.Users; len(u) != 1 || u[0].Seconds != 3600+1200 || u[0].Username != "ann" || len(u[0].TemplateIDs) != 1 {
		t.Errorf("activity: %+v", u)
	}
	latency, err := s.UserLatency(ctx, admin, q)
	must(t, err)
	if u := latency.Report.Users; len(u) != 1 || u[0].LatencyMS.P50 < 10 || u[0].LatencyMS.P95 > 20 || u[0].LatencyMS.P50 > u[0].LatencyMS.P95 {
		t.Errorf("latency: %+v", u)
	}
	daus, err := s.DAUs(ctx, admin, uuid.Nil, 0)
	must(t, err)
	if e := daus.Entries; len(e) != 60 || e[56] != (codersdk.DAUEntry{Date: day.Format(time.DateOnly), Amount: 1}) || e[57].Amount != 0 {
		t.Errorf("people by the day: %+v", e[55:])
	}
	// Use between two reports of a second life is counted, nothing twice.
	exec(`DELETE FROM agent_usage`)
	_, err = h.Presence.PutStats(ctx, agent, presence.Stats{SSH: 1, RxBytes: 500, TxBytes: 5})
	must(t, err)
	must(t, h.Presence.FlushUsage(ctx))
	var rx int64
	must(t, h.Store.Pool().QueryRow(ctx, `SELECT sum(rx_bytes) FROM agent_usage`).Scan(&rx))
	if rx != 500 {
		t.Errorf("an agent that began anew has carried %d bytes, want 500", rx)
	}
}

// TestNonsenseIsNotCounted: a workspace may report anything.
func TestNonsenseIsNotCounted(t *testing.T) {
	ctx := t.Context()
	h := agenttest.New(t)
	a := h.Workspace("dev")
	agent, err := h.Presence.AuthenticateAgent(ctx, a.Token)
	must(t, err)
	_, err = h.Presence.Hello(ctx, presence.Connection{ID: uuid.New(), Agent: agent}, presence.Hello{Certificate: []byte("c")})
	must(t, err)
	for _, st := range []presence.Stats{
		{SSH: -5, RxBytes: -1, TxBytes: -1, LatencyMS: -1}, {SSH: 1 << 62, VSCode: 1 << 62, RxBytes: 1 << 62, TxBytes: 1 << 62, LatencyMS: 1e300},
	} {
		_, err := h.Presence.PutStats(ctx, agent, st)
		must(t, err)
	}
	must(t, h.Presence.FlushUsage(ctx))
	var ssh, seconds, rx int64
	must(t, h.Store.Pool().QueryRow(ctx, `SELECT max(ssh), max(rx_bytes), (SELECT coalesce(sum(seconds), 0) FROM workspace_usage) FROM agent_usage`).Scan(&ssh, &rx, &seconds))
	if ssh > 10_000 || seconds > 60 || rx > 1<<44 {
		t.Errorf("%d sessions, %d s, %d bytes", ssh, seconds, rx)
	}
}

// TestUsersByStatus: the counts follow what happens to users.
func TestUsersByStatus(t *testing.T) {
	ctx := t.Context()
	h := agenttest.New(t) // two users
	s := insight.New(insight.Config{Store: h.Store})
	for _, sql := range []string{
		`UPDATE user_status_changes SET changed_at = now() - interval '100 days'`,
		`UPDATE users SET status = 'suspended' WHERE username = 'bob'`,
		`UPDATE users SET name = 'Bob' WHERE username = 'bob'`,
	} {
		_, err := h.Store.Pool().Exec(ctx, sql)
		must(t, err)
	}
	last := func() string {
		t.Helper()
		got, err := s.UserStatusCounts(ctx, admin, -5)
		must(t, err)
		var out []string
		for _, status := range []codersdk.UserStatus{codersdk.UserStatusActive, codersdk.UserStatusDormant, codersdk.UserStatusSuspended} {
			l := got.StatusCounts[status]
			if len(l) != 60 {
				t.Fatalf("%s: %d days", status, len(l))
			}
			out = append(out, fmt.Sprint(l[0].Count, " ", l[59].Count))
		}
		return strings.Join(out, ", ")
	}
	if got := last(); got != "2 1, 0 0, 0 1" {
		t.Errorf("then and now: %s", got)
	}
	_, err := h.Store.Pool().Exec(ctx, `UPDATE users SET deleted_at = now() WHERE username = 'bob'`)
	must(t, err)
	if got := last(); got != "2 1, 0 0, 0 0" {
		t.Errorf("after bob is deleted: %s", got)
	}
}

// TestWhoMaySeeInsights: users who may see all templates see the insights of all,
// administrators of one template those of that template, and others none.
func TestWhoMaySeeInsights(t *testing.T) {
	ctx := t.Context()
	h := agenttest.New(t)
	s := insight.New(insight.Config{Store: h.Store})
	var template uuid.UUID
	must(t, h.Store.Pool().QueryRow(ctx, `SELECT id FROM templates`).Scan(&template))
	start := time.Now().UTC().Truncate(24 * time.Hour)
	q := insight.Query{Start: start, End: start.AddDate(0, 0, 1), Limit: 10}
	one := q
	one.Templates = []uuid.UUID{template}
	ask := func(who access.Subject, q insight.Query) codersdk.Code {
		_, err := s.UserActivity(ctx, who, q)
		return codersdk.CodeOf(err)
	}
	for name, c := range map[string]struct {
		who  access.Subject
		q    insight.Query
		code codersdk.Code
	}{
		"all, template admin":   {admin, q, ""},
		"all, member":           {h.Owner, q, codersdk.CodeForbidden},
		"one, template admin":   {admin, one, ""},
		"one, stranger":         {h.Stranger, one, codersdk.CodeInvalid},
		"one that is not there": {admin, insight.Query{Start: q.Start, End: q.End, Templates: []uuid.UUID{uuid.New()}}, codersdk.CodeInvalid},
		"backwards":             {admin, insight.Query{Start: q.End, End: q.Start}, codersdk.CodeInvalid},
		"no start":              {admin, insight.Query{End: q.End}, codersdk.CodeInvalid},
		"too long":              {admin, insight.Query{Start: q.Start.AddDate(-2, 0, 0), End: q.End}, codersdk.CodeInvalid},
		"odd minute":            {admin, insight.Query{Start: q.Start.Add(time.Minute), End: q.End}, codersdk.CodeInvalid},
		"future":                {admin, insight.Query{Start: q.Start.AddDate(0, 0, 2), End: q.End.AddDate(0, 0, 2)}, codersdk.CodeInvalid},
	} {
		if got := ask(c.who, c.q); got != c.code {
			t.Errorf("%s: %q, want %q", name, got, c.code)
		}
	}
	if _, err := s.DAUs(ctx, h.Stranger, template, 0); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("a template of others: %v", err)
	}
	if _, err := s.UserStatusCounts(ctx, h.Owner, 0); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("a member counts users: %v", err)
	}
	if _, err := s.DAUs(ctx, admin, uuid.Nil, 99); !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Errorf("an offset of 99 hours: %v", err)
	}
}
