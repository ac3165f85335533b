package workspace_test

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
	"github.com/seed-2a7f8fe7/coder/internal/workspace/search"
)

//go:embed testdata/search.sql
var plainSearch string

// plain returns what search.Find returns, by the plain query.
func (h *house) plain(actor access.Subject, s workspace.Search, now time.Time) (ids []uuid.UUID, count int) {
	h.t.Helper()
	a, err := search.Params(actor, s, now)
	h.must(err)
	args := pgx.NamedArgs{
		"viewer": actor.UserID, "deleted": a.Deleted, "see_all": a.SeeAll, "see_organizations": a.SeeOrganizations, "see_member_of": a.SeeMemberOf,
		"see_owner": a.SeeOwner, "user_key": a.UserKey, "group_keys": a.GroupKeys, "see_ids": a.SeeIds, "ids": a.Ids, "owner_id": a.OwnerID,
		"not_owner_id": a.NotOwnerID, "owner_name": a.OwnerName, "name": a.Name, "name_exact": a.NameExact, "template": a.Template,
		"organization": a.Organization, "dormant": a.Dormant, "shared": a.Shared, "shared_with_user": a.SharedWithUser,
		"shared_with_group": a.SharedWithGroup, "last_used_before": a.LastUsedBefore, "last_used_after": a.LastUsedAfter,
		"agent_statuses": a.AgentStatuses, "now": a.Now, "silent_since": a.SilentSince, "unhealthy": a.Unhealthy, "transitions": a.Transitions,
		"job_statuses": a.JobStatuses, "outdated": a.Outdated, "has_ai_task": a.HasAiTask, "has_external_agent": a.HasExternalAgent,
		"parameters": a.Parameters, "sort": a.Sort, "descending": a.Descending, "skip_rows": a.SkipRows, "max_rows": a.MaxRows,
	}
	read := func() {
		rows, err := h.store.Pool().Query(h.t.Context(), plainSearch, args)
		h.must(err)
		var id uuid.UUID
		_, err = pgx.ForEachRow(rows, []any{&id, &count}, func() error {
			ids = append(ids, id)
			return nil
		})
		h.must(err)
	}
	if read(); len(ids) == 0 && s.Offset > 0 {
		args["skip_rows"], args["max_rows"] = 0, 1
		read()
		ids = nil
	}
	return ids, count
}

// crowd is a house with random users, workspaces, builds and agents.
type crowd struct {
	*house
	*rand.Rand
	users, organizations, groups, templates, versions, workspaces []uuid.UUID
	turn                                                          int // counts the changes, for new names
}

// ids returns the IDs that a query returns.
func (c *crowd) ids(sql string, args ...any) []uuid.UUID {
	c.t.Helper()
	rows, err := c.store.Pool().Query(c.t.Context(), sql, args...)
	c.must(err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	c.must(err)
	return ids
}

// pick returns one of some values.
func pick[T any](c *crowd, from []T) T { return from[c.IntN(len(from))] }

// chance reports true once in n times.
func (c *crowd) chance(n int) bool { return c.IntN(n) == 0 }

func newCrowd(t *testing.T, seed uint64) *crowd {
	c := &crowd{house: open(t), Rand: rand.New(rand.NewPCG(seed, 0))}
	second := uuid.New()
	c.exec(`INSERT INTO organizations (id, name, created_at, updated_at) VALUES ($1, 'Second', now(), now())`, second)
	c.organizations = []uuid.UUID{c.org, second}
	for i, o := range c.organizations {
		c.groups = append(c.groups, uuid.New())
		c.exec(`INSERT INTO groups (id, organization_id, name, created_at, updated_at) VALUES ($1, $2, $3, now(), now())`, c.groups[i], o, fmt.Sprint("group", i))
	}
	c.users = []uuid.UUID{c.admin.UserID, c.ann.UserID, c.bob.UserID, c.user("Zoe").UserID, c.user("carl").UserID, c.user("Carla").UserID}
	for _, name := range []string{"docker", "Echo", "alpine"} {
		if name != "docker" {
			c.newTemplate(name, spec{})
		}
		c.newVersion(c.ids(`SELECT id FROM templates WHERE name = $1`, name)[0], "v2", spec{})
	}
	c.exec(`UPDATE templates SET display_name = 'Bare metal' WHERE name = 'Echo'`)
	c.exec(`UPDATE template_versions SET has_ai_task = true WHERE name = 'v2'`)
	c.templates = c.ids(`SELECT id FROM templates ORDER BY name`)
	c.versions = c.ids(`SELECT v.id FROM template_versions v JOIN templates t ON t.id = v.template_id ORDER BY t.name, v.name`)
	c.addMany(1500)
	for range 40 {
		c.addWorkspace()
	}
	return c
}

// addMany adds workspaces of all users and templates, most of which run, so that searches match both fewer and more
// workspaces than the search reads at once.
func (c *crowd) addMany(n int) {
	c.exec(`INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, created_at, updated_at, last_used_at)
		SELECT gen_random_uuid(), ($2::uuid[])[1 + i % 2], ($3::uuid[])[1 + i % cardinality($3)], ($4::uuid[])[1 + i % cardinality($4)],
			CASE i % 5 WHEN 0 THEN 'Many' ELSE 'many' END || i, now(), now(), now() - i % 7 * interval '1 day'
		FROM generate_series(1, $1::integer) i`, n, c.organizations, c.users, c.templates)
	c.exec(`INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at, completed_at, error)
		SELECT w.id, w.organization_id, w.owner_id, 'workspace_build', 'echo', (SELECT min(id) FROM job_tag_sets), $1, '{}', now(), now(), now(),
			CASE WHEN w.name ~ '[37]$' THEN 'it broke' ELSE '' END
		FROM workspaces w`, c.file)
	c.exec(`INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, created_at, updated_at)
		SELECT gen_random_uuid(), w.id, t.active_version_id, 1, CASE WHEN w.name ~ '[69]$' THEN 'stop' ELSE 'start' END, w.owner_id, 'initiator', w.id, now(), now()
		FROM workspaces w JOIN templates t ON t.id = w.template_id`)
}

func (c *crowd) addWorkspace() {
	id := uuid.New()
	c.turn++
	c.exec(`INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, created_at, updated_at, last_used_at)
		VALUES ($1, $2, $3, $4, $5, now(), now(), now() - $6 * interval '1 day')`,
		id, pick(c, c.organizations), pick(c, c.users), pick(c, c.templates), fmt.Sprint(pick(c, []string{"dev", "Dev", "api"}), c.turn), c.IntN(5))
	c.workspaces = append(c.workspaces, id)
	if !c.chance(10) {
		c.addBuild(id)
	}
}

// addBuild adds a build whose job waits, and an agent if it starts the workspace.
func (c *crowd) addBuild(w uuid.UUID) {
	id, job := uuid.New(), uuid.New()
	c.exec(`INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at)
		VALUES ($1, $2, $3, 'workspace_build', 'echo', (SELECT min(id) FROM job_tag_sets), $4, '{}', now(), now())`, job, c.org, c.admin.UserID, c.file)
	transition := pick(c, []string{"start", "start", "stop", "delete"})
	c.exec(`INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, parameters, deadline, created_at, updated_at)
		VALUES ($1, $2, $3, (SELECT count(*) + 1 FROM workspace_builds WHERE workspace_id = $2), $4, $5, 'initiator', $6, $7, now() + $8 * interval '1 hour', now(), now())`,
		id, w, pick(c, c.versions), transition, c.admin.UserID, job, pick(c, []string{`[]`, `[{"name": "size", "value": "m"}]`}), pick(c, []*int{nil, new(1), new(2)}))
	if transition == "start" {
		c.exec(`INSERT INTO workspace_resources (id, job_id, transition, type, name, created_at) VALUES ($1, $1, 'start', 'container', 'dev', now())`, job)
		c.exec(`INSERT INTO workspace_agents (id, resource_id, name, operating_system, architecture, created_at, updated_at, lifecycle_state, first_connected_at, last_connected_at)
			VALUES ($1, $1, 'main', 'linux', 'amd64', now() - $2 * interval '1 hour', now(), $3, now() - $4 * interval '1 hour', now() - $4 * interval '1 hour')`,
			job, c.IntN(2), pick(c, []string{"ready", "start_error"}), pick(c, []*int{nil, new(0), new(1)}))
	}
	for range c.IntN(4) {
		c.moveJob(job)
	}
}

// moveJob changes the state of a job as the queue does.
func (c *crowd) moveJob(job uuid.UUID) {
	const end = `UPDATE provisioner_jobs SET completed_at = now(), error = $2 WHERE id = $1 AND completed_at IS NULL`
	switch c.IntN(4) {
	case 0:
		c.exec(`UPDATE provisioner_jobs SET started_at = now(), worker_id = id, lease_expires_at = now() WHERE id = $1 AND completed_at IS NULL AND started_at IS NULL`, job)
	case 1:
		c.exec(`UPDATE provisioner_jobs SET canceled_at = now(), completed_at = CASE WHEN started_at IS NULL THEN now() END WHERE id = $1 AND completed_at IS NULL`, job)
	case 2:
		c.exec(end, job, "")
	case 3:
		c.exec(end, job, "it broke")
	}
}

// change makes a random change.
func (c *crowd) change() {
	w, u := pick(c, c.workspaces), pick(c, c.users)
	c.turn++
	switch c.IntN(10) {
	case 0:
		c.exec(`UPDATE users SET username = $2 WHERE id = $1`, u, fmt.Sprint(pick(c, []string{"ann", "Bob", "zoe"}), c.turn))
	case 1:
		c.exec(`UPDATE workspaces SET owner_id = $2 WHERE id = $1`, w, u)
	case 2:
		c.addBuild(w)
	case 3:
		for _, job := range c.ids(`SELECT b.job_id FROM workspace_builds b WHERE b.workspace_id = $1`, w) {
			c.moveJob(job)
		}
	case 4:
		c.exec(`UPDATE workspaces SET deleted_at = now() WHERE id = $1`, w)
	case 5:
		c.exec(`INSERT INTO workspace_favorites (user_id, workspace_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`, u, w)
	case 6:
		c.exec(`UPDATE workspaces SET user_acl = jsonb_build_object($2::text, 'use'), group_acl = jsonb_build_object($3::text, 'use') WHERE id = $1`,
			w, u.String(), pick(c, append(slices.Clone(c.groups), c.organizations...)).String())
	case 7:
		c.exec(`UPDATE workspaces SET dormant_at = now(), name = name || 'x' WHERE id = $1`, w)
	default:
		c.addWorkspace()
	}
}

// actor returns a random viewer.
func (c *crowd) actor() access.Subject {
	u := pick(c, c.users)
	a := access.Subject{UserID: u, OrganizationRoles: map[uuid.UUID][]string{pick(c, c.organizations): nil}}
	switch c.IntN(5) {
	case 0, 1:
		a.SiteRoles = []string{access.RoleOwner}
	case 2:
		a.Groups = []uuid.UUID{pick(c, c.groups)}
	case 3:
		a.SiteRoles = []string{access.RoleOwner}
		a.Scopes = []codersdk.APIKeyScope{codersdk.APIKeyScopeCoderAll}
		for range 5 {
			a.AllowList = append(a.AllowList, codersdk.APIAllowListTarget{Type: codersdk.RBACResourceWorkspace, ID: pick(c, c.workspaces).String()})
		}
	}
	return a
}

// names returns the names of all users, in upper case.
func (c *crowd) names() []string {
	c.t.Helper()
	rows, err := c.store.Pool().Query(c.t.Context(), `SELECT upper(username) FROM users ORDER BY created_at, id`)
	c.must(err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	c.must(err)
	return names
}

// search returns a random search; most have one or two conditions.
func (c *crowd) search(now time.Time) workspace.Search {
	s := workspace.Search{Limit: pick(c, []int{0, 3, 10, 25}), Offset: pick(c, []int{0, 0, 2, 9, 500}), Sort: pick(c, append([]string{"", "", ""}, workspace.Sorts...))}
	s.Descending = s.Sort != "" && c.chance(2)
	yes := func() *bool { return new(c.chance(2)) }
	conditions := []func(){
		func() { s.IDs = []uuid.UUID{pick(c, c.workspaces), pick(c, c.workspaces), pick(c, c.workspaces)} },
		func() { s.OwnerID = pick(c, c.users) },
		func() { s.NotOwnerID = pick(c, c.users) },
		func() { s.Owner = pick(c, c.names()) },
		func() { s.Name = pick(c, []string{"E", "dev", "1", "%"}) },
		func() { s.NameExact = pick(c, []string{"dev1", "API2"}) },
		func() { s.Template = pick(c, []string{"ECHO", "docker", "none", c.templates[0].String()}) },
		func() { s.Organization = pick(c, []string{"MAIN", "second", "none"}) },
		func() { s.Dormant = yes() },
		func() { s.Outdated = yes() },
		func() { s.Shared = yes() },
		func() { s.SharedWithUser = pick(c, c.users) },
		func() { s.SharedWithGroup = pick(c, []string{"group0", "second/group1", "main"}) },
		func() { s.HasAITask = yes() },
		func() { s.HasExternalAgent = yes() },
		func() { s.Healthy = yes() },
		func() {
			s.AgentStatus = pick(c, []codersdk.WorkspaceAgentStatus{"connected", "connecting", "disconnected", "timeout"})
		},
		func() { s.LastUsedBefore = new(now.Add(-36 * time.Hour)) },
		func() { s.LastUsedAfter = new(now.Add(-36 * time.Hour)) },
		func() { s.Parameters = []codersdk.WorkspaceBuildParameter{{Name: "size", Value: "m"}} },
	}
	if c.chance(2) {
		s.Status = pick(c, []codersdk.WorkspaceStatus{"pending", "starting", "running", "stopping", "stopped", "failed", "canceling", "canceled", "deleting", "deleted"})
	}
	for range c.IntN(3) {
		pick(c, conditions)()
	}
	return s
}

// TestSearchIsThePlainQuery compares searches for workspaces with a plain query of the tables that hold the facts,
// for random data, changes, viewers and searches.
func TestSearchIsThePlainQuery(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	c := newCrowd(t, seed)
	found := 0
	for range 400 {
		c.change()
		now := time.Now()
		actor, s := c.actor(), c.search(now)
		ids, count, err := search.Find(t.Context(), c.store, actor, s, now)
		c.must(err)
		wantIDs, wantCount := c.plain(actor, s, now)
		if !slices.Equal(ids, wantIDs) || count != wantCount {
			t.Fatalf("%+v of %+v:\ngot  %d %v\nwant %d %v", s, actor, count, ids, wantCount, wantIDs)
		}
		if len(ids) > 0 {
			found++
		}
	}
	if found < 50 {
		t.Errorf("only %d of the searches found workspaces", found)
	}
}

// TestOwnerNameOfConcurrentChanges renames a user while a workspace of the user is created, in both orders.
func TestOwnerNameOfConcurrentChanges(t *testing.T) {
	h := open(t)
	insert := func(q *sqlc.Queries, name string) error {
		return q.WorkspaceInsert(t.Context(), sqlc.WorkspaceInsertParams{
			ID: uuid.New(), OrganizationID: h.org, OwnerID: h.ann.UserID, TemplateID: h.template, Name: name, AutomaticUpdates: "never", Now: time.Now(),
		})
	}
	rename := func(q *sqlc.Queries, name string) error {
		_, err := q.UpdateUserProfile(t.Context(), sqlc.UpdateUserProfileParams{ID: h.ann.UserID, Username: name, Now: time.Now()})
		return err
	}
	for i, order := range [][2]func(*sqlc.Queries, string) error{{insert, rename}, {rename, insert}} {
		name := fmt.Sprint("renamed", i)
		h.must(h.store.Tx(t.Context(), func(q *sqlc.Queries) error { return insert(q, fmt.Sprint("dev", i)) }))
		second := make(chan error, 1)
		h.must(h.store.Tx(t.Context(), func(q *sqlc.Queries) error {
			if err := order[0](q, name); err != nil {
				return err
			}
			go func() {
				second <- h.store.Tx(context.Background(), func(q *sqlc.Queries) error { return order[1](q, name) })
			}()
			testwait.Until(t, "the second change waits for the first", func() bool {
				var waits bool
				h.must(h.store.Pool().QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)
					WHERE NOT l.granted AND a.datname = current_database())`).Scan(&waits))
				return waits
			})
			return nil
		}))
		h.must(<-second)
		var other int
		h.must(h.store.Pool().QueryRow(t.Context(), `SELECT count(*) FROM workspaces WHERE owner_name <> $1`, name).Scan(&other))
		if other > 0 {
			t.Errorf("order %d: %d workspaces have an earlier name of their owner", i, other)
		}
	}
}
