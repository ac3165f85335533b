package breakdown_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/insight/breakdown"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
)

// id returns the ID that the rows of fill have for a name.
func id(name string) uuid.UUID {
	var u uuid.UUID
	copy(u[:], fmt.Sprintf("%16s", name))
	return u
}

// fill runs statements without the checks of references. An ID is written as <name>.
func fill(t testing.TB, store *postgres.Store, statements ...string) {
	t.Helper()
	var all strings.Builder
	for _, s := range append([]string{"SET LOCAL session_replication_role = replica"}, statements...) {
		for {
			before, rest, ok := strings.Cut(s, "<")
			name, after, closed := strings.Cut(rest, ">")
			if !ok || !closed {
				break
			}
			s = before + "'" + id(name).String() + "'" + after
		}
		all.WriteString(s + ";\n")
	}
	if _, err := store.Pool().Exec(t.Context(), "BEGIN;"+all.String()+"COMMIT"); err != nil {
		t.Fatal(err)
	}
}

// names are two organizations with a template and a user each.
func names(t testing.TB) *postgres.Store {
	t.Helper()
	store := postgrestest.New(t)
	for _, n := range []string{"1", "2"} {
		fill(t, store,
			fmt.Sprintf(`INSERT INTO organizations (id, name, display_name, created_at, updated_at) VALUES (<o%s>, 'team-%s', 'Team %s', now(), now())`, n, n, n),
			fmt.Sprintf(`INSERT INTO users (id, email, username, login_type, status, created_at, updated_at) VALUES (<u%s>, 'user%s@example.com', 'user%s', 'none', 'active', now(), now())`, n, n, n),
			fmt.Sprintf(`INSERT INTO templates (id, organization_id, name, provisioner, active_version_id, created_by, created_at, updated_at)
				VALUES (<t%s>, <o%s>, 'template-%s', 'echo', <v%s>, <u1>, now(), now())`, n, n, n, n))
	}
	return store
}

// workspace returns the statement that inserts workspace w<n> with its latest build.
func workspace(n, build string) string {
	return fmt.Sprintf(`INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, latest_build_id, created_at, updated_at, last_used_at)
		VALUES (<w%s>, <o%s>, <u%s>, <t%s>, 'dev-%s', <%s>, '2026-10-20T00:00:00Z', now(), now())`, n, n, n, n, n, build)
}

// build returns the statement that inserts a build of workspace w<n>.
func build(name, n string, number int, at string, cost int) string {
	return fmt.Sprintf(`INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, daily_cost, created_at, updated_at)
		VALUES (<%s>, <w%s>, <v%s>, %d, 'start', <u%s>, 'initiator', <j%s>, %d, '%s', now())`, name, n, n, number, n, name, cost, at)
}

func near(a, b float64) bool { return math.Abs(a-b) < 0.001 }

func shares(list []codersdk.InsightsShare) string {
	var all []string
	for _, s := range list {
		all = append(all, fmt.Sprintf("%s %d %.0f %.3f", s.Name, s.ActiveUsers, s.ActiveSeconds, s.Credits))
	}
	return strings.Join(all, "; ")
}

// TestUsage checks a week in which a day has 25 hours: use and costs by day and group.
func TestUsage(t *testing.T) {
	store := names(t)
	fill(t, store,
		workspace("1", "b2"), build("b1", "1", 1, "2026-10-20T10:00:00Z", 10), build("b2", "1", 2, "2026-10-26T11:00:00Z", 4),
		workspace("2", "b3"), build("b3", "2", 1, "2026-10-25T11:00:00Z", 24),
		`INSERT INTO workspace_usage (hour, workspace_id, user_id, template_id, seconds, ssh_seconds, vscode_seconds, jetbrains_seconds, reconnecting_pty_seconds) VALUES
			('2026-10-24T21:00:00Z', <w1>, <u1>, <t1>, 3600, 0, 0, 0, 0),
			('2026-10-24T22:00:00Z', <w1>, <u1>, <t1>, 1800, 0, 0, 0, 0),
			('2026-10-25T22:00:00Z', <w2>, <u2>, <t2>, 600, 0, 0, 0, 0),
			('2026-10-27T12:00:00Z', <w2>, <u2>, <t2>, 600, 0, 0, 0, 0)`,
		`INSERT INTO workspace_app_stats (session_id, user_id, workspace_id, agent_id, access_method, slug_or_port, started_at, ended_at, requests)
			VALUES (<s1>, <u1>, <w1>, <a1>, 'path', 'ide', '2026-10-26T09:30:00Z', '2026-10-26T10:30:00Z', 1)`)
	now := time.Date(2026, 10, 27, 11, 0, 0, 0, time.UTC)
	s := breakdown.New(breakdown.Config{Store: store, Now: func() time.Time { return now }})
	q := breakdown.Query{StartDate: "2026-10-24", EndDate: "2026-10-31", Timezone: "Europe/Berlin"}
	got, err := s.Usage(t.Context(), access.System(), q)
	if err != nil {
		t.Fatal(err)
	}
	want := []codersdk.InsightsDay{
		{Date: "2026-10-24", InsightsAmounts: codersdk.InsightsAmounts{ActiveUsers: 1, ActiveSeconds: 3600, Credits: 10}},
		{Date: "2026-10-25", InsightsAmounts: codersdk.InsightsAmounts{ActiveUsers: 2, ActiveSeconds: 2400, Credits: 10*25.0/24 + 12}},
		{Date: "2026-10-26", InsightsAmounts: codersdk.InsightsAmounts{ActiveUsers: 1, ActiveSeconds: 3600, Credits: 7 + 24}},
		{Date: "2026-10-27", InsightsAmounts: codersdk.InsightsAmounts{Credits: 14}}, // until noon
	}
	if len(got.Days) != len(want) || got.EndDate != "2026-10-27" {
		t.Fatalf("days: %+v", got)
	}
	sum := 0.0
	for i, w := range want {
		d := got.Days[i]
		if d.Date != w.Date || d.ActiveUsers != w.ActiveUsers || d.ActiveSeconds != w.ActiveSeconds || !near(d.Credits, w.Credits) {
			t.Errorf("day %d: %+v, want %+v", i, d, w)
		}
		sum += d.Credits
	}
	if got.ActiveUsers != 2 || got.ActiveSeconds != 9600 || !near(got.Credits, sum) {
		t.Errorf("the sums: %+v, want %f credits", got.InsightsAmounts, sum)
	}
	for list, want := range map[string]string{
		shares(got.Users):         "user2 1 600 48.000; user1 1 9000 29.417",
		shares(got.Templates):     "template-2 1 600 48.000; template-1 1 9000 29.417",
		shares(got.Organizations): "team-2 1 600 48.000; team-1 1 9000 29.417",
	} {
		if list != want {
			t.Errorf("groups: %s, want %s", list, want)
		}
	}
	for name, scope := range map[string]breakdown.Scope{
		"organization": {Organization: id("o1")}, "template": {Template: id("t1")}, "user": {User: id("u1")},
	} {
		q.Scope = scope
		got, err := s.Usage(t.Context(), access.System(), q)
		if err != nil || shares(got.Users) != "user1 1 9000 29.417" || !near(got.Days[3].Credits, 2) {
			t.Errorf("one %s: %+v, %v", name, got, err)
		}
	}
	got, err = s.Usage(t.Context(), access.System(), breakdown.Query{StartDate: "2026-10-24", EndDate: "2026-10-25", Timezone: "Europe/Berlin"})
	if err != nil || len(got.Days) != 2 || !near(got.Credits, 10+10*25.0/24+12) || !near(got.Days[1].Credits, want[1].Credits) {
		t.Errorf("a period in the past: %+v, %v", got, err)
	}
}

func TestUsageRefuses(t *testing.T) {
	store := names(t)
	s := breakdown.New(breakdown.Config{Store: store, Now: func() time.Time { return time.Date(2026, 10, 27, 11, 0, 0, 0, time.UTC) }})
	member := access.Subject{UserID: uuid.New(), OrganizationRoles: map[uuid.UUID][]string{id("o1"): {access.RoleOrganizationTemplateAdmin}}}
	good := breakdown.Query{StartDate: "2026-10-01", EndDate: "2026-10-02"}
	with := func(change func(*breakdown.Query)) breakdown.Query {
		q := good
		change(&q)
		return q
	}
	for name, k := range map[string]struct {
		actor access.Subject
		query breakdown.Query
		code  codersdk.Code
	}{
		"no such zone":         {access.System(), with(func(q *breakdown.Query) { q.Timezone = "Mars/Base" }), codersdk.CodeInvalid},
		"the server's zone":    {access.System(), with(func(q *breakdown.Query) { q.Timezone = "Local" }), codersdk.CodeInvalid},
		"no start":             {access.System(), with(func(q *breakdown.Query) { q.StartDate = "" }), codersdk.CodeInvalid},
		"no end":               {access.System(), with(func(q *breakdown.Query) { q.EndDate = "tomorrow" }), codersdk.CodeInvalid},
		"end before start":     {access.System(), with(func(q *breakdown.Query) { q.EndDate = "2026-09-30" }), codersdk.CodeInvalid},
		"in the future":        {access.System(), with(func(q *breakdown.Query) { q.StartDate, q.EndDate = "2026-10-28", "2026-10-29" }), codersdk.CodeInvalid},
		"93 days":              {access.System(), with(func(q *breakdown.Query) { q.StartDate, q.EndDate = "2026-07-01", "2026-10-01" }), codersdk.CodeInvalid},
		"all, as a member":     {member, good, codersdk.CodeForbidden},
		"another organization": {member, with(func(q *breakdown.Query) { q.Organization = id("o2") }), codersdk.CodeForbidden},
		"another's template":   {member, with(func(q *breakdown.Query) { q.Template = id("t2") }), codersdk.CodeNotFound},
		"no such template":     {access.System(), with(func(q *breakdown.Query) { q.Template = uuid.New() }), codersdk.CodeNotFound},
	} {
		if _, err := s.Usage(t.Context(), k.actor, k.query); !codersdk.Is(err, k.code) {
			t.Errorf("%s: %v, want %v", name, err, k.code)
		}
	}
	for name, q := range map[string]breakdown.Query{
		"92 days":            with(func(q *breakdown.Query) { q.StartDate, q.EndDate = "2026-07-02", "2026-10-01" }),
		"their organization": with(func(q *breakdown.Query) { q.Organization = id("o1") }),
		"their template":     with(func(q *breakdown.Query) { q.Template = id("t1") }),
	} {
		actor := member
		if name == "92 days" {
			actor = access.System()
		}
		if got, err := s.Usage(t.Context(), actor, q); err != nil || len(got.Users) != 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestVersions(t *testing.T) {
	store := names(t)
	fill(t, store,
		workspace("1", "b1"), build("b1", "1", 1, "2026-10-20T10:00:00Z", 0), workspace("2", "b2"), build("b2", "2", 1, "2026-10-20T10:00:00Z", 0),
		`INSERT INTO template_versions (id, template_id, organization_id, job_id, name, created_by, created_at, updated_at)
			VALUES (<v1>, <t1>, <o1>, <jv1>, 'first', <u1>, now(), now()), (<v2>, <t2>, <o2>, <jv2>, 'second', <u1>, now(), now())`,
		`INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at, completed_at, error)
			VALUES (<jb1>, <o1>, <u1>, 'workspace_build', 'echo', 1, <f>, '{}', now(), now(), now(), ''), (<jb2>, <o2>, <u2>, 'workspace_build', 'echo', 1, <f>, '{}', now(), now(), now(), 'failed')`,
		`INSERT INTO workspace_agents (id, resource_id, name, operating_system, architecture, version, current_workspace_id, last_connected_at, created_at, updated_at)
			VALUES (<a1>, <r1>, 'main', 'linux', 'amd64', 'v2.37.1', <w1>, '2026-10-27T10:59:00Z', now(), now()),
			(<a2>, <r2>, 'main', 'linux', 'amd64', 'v2.36.0', <w2>, '2026-10-27T10:59:00Z', now(), now()),
			(<a3>, <r2>, 'silent', 'linux', 'amd64', 'v2.35.0', <w2>, '2026-10-26T10:59:00Z', now(), now())`,
		`INSERT INTO audit_logs (id, time, organization_id, user_id, user_agent, resource_type, action) VALUES
			(<l1>, '2026-10-26T00:00:00Z', <o1>, <u1>, 'coder-cli/v2.36.0 (linux/amd64; coder start)', 'workspace_build', 'start'),
			(<l2>, '2026-10-01T00:00:00Z', <o2>, <u2>, 'coder-cli/v2.30.0', 'workspace_build', 'start'),
			(<l3>, '2026-10-26T00:00:00Z', <o2>, <u2>, 'Mozilla/5.0', 'workspace_build', 'start')`,
		`INSERT INTO connection_logs (id, connect_time, type, organization_id, workspace_id, workspace_owner_id, workspace_name, agent_id, agent_name, user_id, user_agent, replica_id)
			VALUES (<c1>, '2026-10-27T00:00:00Z', 'ssh', <o1>, <w1>, <u1>, 'dev-1', <a1>, 'main', <u1>, 'coder-cli/v2.37.1', <r>)`)
	s := breakdown.New(breakdown.Config{Store: store, Now: func() time.Time { return time.Date(2026, 10, 27, 11, 0, 0, 0, time.UTC) }})
	show := func(v codersdk.InsightsVersions) string {
		text := ""
		for _, x := range v.TemplateVersions {
			text += fmt.Sprintf("%s/%s@%s %t %d; ", x.OrganizationName, x.TemplateName, x.VersionName, x.Active, x.Workspaces)
		}
		return text + fmt.Sprintf("agents %v, clients %v", v.Agents, v.Clients)
	}
	for want, scope := range map[string]breakdown.Scope{
		"team-1/template-1@first true 1; agents [{v2.36.0 1} {v2.37.1 1}], clients [{v2.37.1 1}]": {},
		"agents [{v2.36.0 1}], clients []":                                 {Organization: id("o2")},
		"team-1/template-1@first true 1; agents [{v2.37.1 1}], clients []": {Template: id("t1")},
	} {
		if got, err := s.Versions(t.Context(), access.System(), scope); err != nil || show(got) != want {
			t.Errorf("%+v: %s, %v; want %s", scope, show(got), err, want)
		}
	}
	if _, err := s.Versions(t.Context(), access.Subject{UserID: uuid.New()}, breakdown.Scope{}); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("a member: %v", err)
	}
}
