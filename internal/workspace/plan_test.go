package workspace_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// fill creates n users with a running workspace of one agent each.
func (h *house) fill(n int) {
	h.t.Helper()
	for _, sql := range []string{
		`INSERT INTO users (id, email, username, login_type, status, created_at, updated_at)
			SELECT gen_random_uuid(), 'w' || i || '@example.com', 'w' || i, 'none', 'active', now(), now() FROM generate_series(1, $1::integer) i`,
		`INSERT INTO organization_members (organization_id, user_id, created_at, updated_at) SELECT (SELECT id FROM organizations), id, now(), now() FROM users WHERE username ~ '^w\d+$' AND $1::integer > 0`,
		`INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, created_at, updated_at, last_used_at)
			SELECT gen_random_uuid(), (SELECT id FROM organizations), u.id, (SELECT id FROM templates), 'dev-' || u.username, now(), now(), now() FROM users u WHERE username ~ '^w\d+$' AND $1::integer > 0`,
		`INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at, started_at, completed_at, lease_expires_at, worker_id)
			SELECT w.id, w.organization_id, w.owner_id, 'workspace_build', 'echo', j.tag_set_id, j.file_id, '{}', now() - row_number() OVER () * interval '1 second', now(), now(), now(), now(), w.id
			FROM workspaces w, provisioner_jobs j WHERE w.name LIKE 'dev-%' AND j.id = (SELECT job_id FROM template_versions) AND $1::integer > 0`,
		`INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, created_at, updated_at)
			SELECT gen_random_uuid(), w.id, (SELECT id FROM template_versions), 1, 'start', w.owner_id, 'initiator', w.id, now(), now() FROM workspaces w WHERE w.name LIKE 'dev-%' AND $1::integer > 0`,
		`INSERT INTO workspace_resources (id, job_id, transition, type, name, created_at) SELECT w.id, w.id, 'start', 'null_resource', 'host', now() FROM workspaces w WHERE w.name LIKE 'dev-%' AND $1::integer > 0`,
		`INSERT INTO workspace_agents (id, resource_id, name, token, operating_system, architecture, created_at, updated_at, first_connected_at, last_connected_at)
			SELECT w.id, w.id, 'main', w.id, 'linux', 'amd64', now(), now(), now(), now() FROM workspaces w WHERE w.name LIKE 'dev-%' AND $1::integer > 0`,
	} {
		h.exec(sql, n)
	}
	h.exec(`VACUUM ANALYZE`) // as autovacuum does it
}

// searches are lists that users look at, and how many rows each may have the
// database read, with all workspaces as the unit.
func (h *house) searches() map[string]struct {
	actor  access.Subject
	search workspace.Search
	most   float64
} {
	grouped := h.ann
	grouped.Groups = []uuid.UUID{uuid.New(), uuid.New()}
	type list = struct {
		actor  access.Subject
		search workspace.Search
		most   float64
	}
	yes, no, long := true, false, time.Now().Add(-time.Hour)
	return map[string]list{
		"one's own":                {grouped, workspace.Search{Limit: 25}, 0.02},
		"one's own, by owner":      {grouped, workspace.Search{Limit: 25, OwnerID: h.ann.UserID}, 0.02},
		"all, as an administrator": {h.admin, workspace.Search{Limit: 25}, 1.3},
		"the last page":            {h.admin, workspace.Search{Limit: 25, Offset: 9_900}, 2.3},
		"one person's":             {h.admin, workspace.Search{Limit: 25, Owner: "w77"}, 0.02},
		"part of a name":           {h.admin, workspace.Search{Limit: 25, Name: "w777"}, 1.1},
		"of one template":          {h.admin, workspace.Search{Limit: 25, Template: "docker"}, 1.3},
		"that run":                 {h.admin, workspace.Search{Limit: 25, Status: codersdk.WorkspaceStatusRunning}, 1.3},
		"that failed":              {h.admin, workspace.Search{Limit: 25, Status: codersdk.WorkspaceStatusFailed}, 1.1},
		"that are healthy":         {h.admin, workspace.Search{Limit: 25, Healthy: &yes}, 5.3},
		"that are not healthy":     {h.admin, workspace.Search{Limit: 25, Healthy: &no}, 2.1},
		"with a lost agent":        {h.admin, workspace.Search{Limit: 25, AgentStatus: codersdk.WorkspaceAgentStatusDisconnected}, 2.1},
		"that are stopped":         {h.admin, workspace.Search{Limit: 25, Status: codersdk.WorkspaceStatusStopped}, 1.1},
		"of one organization":      {h.admin, workspace.Search{Limit: 25, Organization: "coder"}, 1.1},
		"of one name":              {h.admin, workspace.Search{Limit: 25, NameExact: "dev-w777"}, 1.1},
		"that are outdated":        {h.admin, workspace.Search{Limit: 25, Outdated: &yes}, 1.1},
		"that are dormant":         {h.admin, workspace.Search{Limit: 25, Dormant: &yes}, 1.1},
		"that are shared":          {h.admin, workspace.Search{Limit: 25, Shared: &yes}, 1.1},
		"with a task":              {h.admin, workspace.Search{Limit: 25, HasAITask: &yes}, 1.1},
		"with a parameter":         {h.admin, workspace.Search{Limit: 25, Parameters: []codersdk.WorkspaceBuildParameter{{Name: "size", Value: "2"}}}, 1.1},
		"used lately":              {h.admin, workspace.Search{Limit: 25, LastUsedAfter: &long}, 1.3},
	}
}

// TestPlanOfTheList looks at what the database reads for a page of 10,000
// workspaces: one's own are found by indexes, all others by reading workspaces
// once for the count, and up to the end of the page if many match.
func TestPlanOfTheList(t *testing.T) {
	h := open(t)
	const n = 10_000
	h.fill(n)
	h.create(h.ann, "mine")
	for what, c := range h.searches() {
		params, err := h.SearchParams(c.actor, c.search)
		h.must(err)
		plan := postgrestest.Explain(t, h.store, "workspaces", "WorkspaceSearch", params, "plan_cache_mode = force_custom_plan", "jit = off")
		if plan.Touched > c.most*n {
			t.Errorf("%s: %.0f rows are read, more than %.0f\n%s", what, plan.Touched, c.most*n, plan.Text)
		}
	}
	// Agents of earlier builds cost nothing.
	yes := true
	params, err := h.SearchParams(h.admin, workspace.Search{Limit: 25, Healthy: &yes})
	h.must(err)
	h.exec(`UPDATE workspaces SET deleted_at = now()`)
	h.exec(`UPDATE workspace_agents SET current_workspace_id = NULL`)
	h.exec(`VACUUM ANALYZE`)
	if plan := postgrestest.Explain(t, h.store, "workspaces", "WorkspaceSearch", params, "plan_cache_mode = force_custom_plan", "jit = off"); plan.Touched > 2.1*n {
		t.Errorf("with agents of earlier builds alone, %.0f rows are read\n%s", plan.Touched, plan.Text)
	}
}

// TestAgentsOfTheLatestBuild: agents are looked at by the latest build alone,
// in whatever order its rows came.
func TestAgentsOfTheLatestBuild(t *testing.T) {
	h := open(t)
	h.fill(3)
	healthy := func(want int) {
		t.Helper()
		yes := true
		got, err := h.Workspaces(t.Context(), h.admin, workspace.Search{Healthy: &yes})
		h.must(err)
		if got.Count != want {
			t.Errorf("%d are healthy, want %d", got.Count, want)
		}
	}
	healthy(3)
	h.exec(`WITH w AS (SELECT * FROM workspaces WHERE name = 'dev-w2'), j AS (
			INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at)
			SELECT gen_random_uuid(), j.organization_id, j.initiator_id, j.type, j.provisioner, j.tag_set_id, j.file_id, '{}', now(), now() FROM provisioner_jobs j, w WHERE j.id = w.id RETURNING id
		)
		INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, created_at, updated_at)
		SELECT gen_random_uuid(), w.id, (SELECT id FROM template_versions), 2, 'start', w.owner_id, 'initiator', j.id, now(), now() FROM w, j`)
	healthy(2) // the new build has none yet
	h.exec(`INSERT INTO workspace_resources (id, job_id, transition, type, name, created_at) SELECT gen_random_uuid(), job_id, 'start', 'null_resource', 'host', now() FROM workspace_builds WHERE build_number = 2`)
	h.exec(`INSERT INTO workspace_agents (id, resource_id, name, operating_system, architecture, created_at, updated_at, first_connected_at, last_connected_at)
		SELECT gen_random_uuid(), r.id, 'main', 'linux', 'amd64', now(), now(), now(), now() FROM workspace_resources r JOIN workspace_builds b ON b.job_id = r.job_id WHERE b.build_number = 2`)
	healthy(3)
}

// TestPlanOfJobs: a page of an organization's jobs is read from its end, not
// sorted out of all of them.
func TestPlanOfJobs(t *testing.T) {
	h := open(t)
	const n = 10_000
	h.fill(n)
	page := sqlc.QueueListParams{OrganizationID: h.org, Ids: []uuid.UUID{}, Statuses: []string{}, Tags: []byte(`{}`), MaxRows: 25}
	late, failed, hers := page, page, page
	late.SkipRows = n - 100
	failed.Statuses = []string{"failed"}
	hers.InitiatorID = &h.ann.UserID
	for what, c := range map[string]struct {
		params sqlc.QueueListParams
		most   float64
	}{"the newest": {page, 0.02}, "the oldest": {late, 2.1}, "that failed": {failed, 2.1}, "hers": {hers, 2.1}} {
		plan := postgrestest.Explain(t, h.store, "jobs", "QueueList", c.params)
		if plan.Touched > c.most*n {
			t.Errorf("%s: %.0f rows are read, more than %.0f\n%s", what, plan.Touched, c.most*n, plan.Text)
		}
	}
}

// BenchmarkList is how long these lists take whole.
func BenchmarkList(b *testing.B) {
	h := open(b)
	h.fill(10_000)
	h.create(h.ann, "mine")
	for what, c := range h.searches() {
		b.Run(what, func(b *testing.B) {
			for b.Loop() {
				if _, err := h.Workspaces(b.Context(), c.actor, c.search); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
