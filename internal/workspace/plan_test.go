package workspace_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// fill makes n people with a running workspace of one agent each.
func (h *house) fill(n int) {
	h.t.Helper()
	for _, sql := range []string{
		`INSERT INTO users (id, email, username, login_type, status, created_at, updated_at)
			SELECT gen_random_uuid(), 'w' || i || '@example.com', 'w' || i, 'none', 'active', now(), now() FROM generate_series(1, $1::integer) i`,
		`INSERT INTO organization_members (organization_id, user_id, created_at, updated_at) SELECT (SELECT id FROM organizations), id, now(), now() FROM users WHERE username ~ '^w\d+$' AND $1::integer > 0`,
		`INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, created_at, updated_at, last_used_at)
			SELECT gen_random_uuid(), (SELECT id FROM organizations), u.id, (SELECT id FROM templates), 'dev-' || u.username, now(), now(), now() FROM users u WHERE username ~ '^w\d+$' AND $1::integer > 0`,
		`INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at, started_at, completed_at, lease_expires_at, worker_id)
			SELECT w.id, w.organization_id, w.owner_id, 'workspace_build', 'echo', j.tag_set_id, j.file_id, '{}', now(), now(), now(), now(), now(), w.id
			FROM workspaces w, provisioner_jobs j WHERE w.name LIKE 'dev-%' AND j.id = (SELECT job_id FROM template_versions) AND $1::integer > 0`,
		`INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, created_at, updated_at)
			SELECT gen_random_uuid(), w.id, (SELECT id FROM template_versions), 1, 'start', w.owner_id, 'initiator', w.id, now(), now() FROM workspaces w WHERE w.name LIKE 'dev-%' AND $1::integer > 0`,
		`INSERT INTO workspace_resources (id, job_id, transition, type, name, created_at) SELECT w.id, w.id, 'start', 'null_resource', 'host', now() FROM workspaces w WHERE w.name LIKE 'dev-%' AND $1::integer > 0`,
		`INSERT INTO workspace_agents (id, resource_id, name, token, operating_system, architecture, created_at, updated_at, first_connected_at, last_connected_at)
			SELECT w.id, w.id, 'main', w.id, 'linux', 'amd64', now(), now(), now(), now() FROM workspaces w WHERE w.name LIKE 'dev-%' AND $1::integer > 0`,
	} {
		h.exec(sql, n)
	}
	h.exec(`ANALYZE`)
}

// searches are lists that people look at, and how many rows each may have the
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
	yes := true
	return map[string]list{
		"one's own":                {grouped, workspace.Search{Limit: 25}, 0.02},
		"one's own, by owner":      {grouped, workspace.Search{Limit: 25, OwnerID: h.ann.UserID}, 0.02},
		"all, as an administrator": {h.admin, workspace.Search{Limit: 25}, 3},
		"the last page":            {h.admin, workspace.Search{Limit: 25, Offset: 9_900}, 3},
		"one person's":             {h.admin, workspace.Search{Limit: 25, Owner: "w77"}, 0.02},
		"part of a name":           {h.admin, workspace.Search{Limit: 25, Name: "w777"}, 3},
		"of one template":          {h.admin, workspace.Search{Limit: 25, Template: "docker"}, 3},
		"that run":                 {h.admin, workspace.Search{Limit: 25, Status: coder.WorkspaceStatusRunning}, 6},
		"that are healthy":         {h.admin, workspace.Search{Limit: 25, Healthy: &yes}, 8},
		"that are outdated":        {h.admin, workspace.Search{Limit: 25, Outdated: &yes}, 6},
	}
}

// TestPlanOfTheList looks at what the database reads for a page of 10,000
// workspaces: one's own are found by indexes, all others by reading each table
// a bounded number of times.
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
