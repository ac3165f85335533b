package queue_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

func (h *house) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := h.store.Pool().Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func (h *house) explain(t testing.TB, id uuid.UUID) codersdk.ProvisionerJobExplanation {
	t.Helper()
	x, err := h.Explain(t.Context(), access.System(), h.org, id)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestExplainEstimates holds the estimated start to what the database knows of
// the past.
func TestExplainEstimates(t *testing.T) {
	h := newHouse(t, queue.Config{Lease: time.Hour})
	tags := codersdk.Tags{"a": "b"}
	build, dry := codersdk.ProvisionerJobTypeWorkspaceBuild, codersdk.ProvisionerJobTypeTemplateVersionDryRun
	w := h.worker(t, "d", tags)
	running := h.add(t, build, tags)
	h.acquire(t, w)
	first, second, other := h.add(t, build, tags), h.add(t, build, tags), h.add(t, dry, tags)
	if x := h.explain(t, first); x.EstimatedStart != nil || x.QueuePosition != 1 || x.QueueSize != 3 || x.Matched.Available != 1 {
		t.Fatalf("without a past: %+v", x)
	}
	// Builds of these tags took 100 s each; the one that runs has been for 40.
	h.exec(t, `INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at, started_at, completed_at, worker_id, lease_expires_at)
		SELECT gen_random_uuid(), organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, now(), now(), now() - interval '200 s', now() - interval '100 s', worker_id, now()
		FROM provisioner_jobs, generate_series(1, 5) WHERE id = $1`, running)
	before := time.Now()
	h.exec(t, `UPDATE provisioner_jobs SET started_at = now() - interval '40 s' WHERE id = $1`, running)
	after := time.Now()
	for id, want := range map[uuid.UUID]time.Duration{first: 60 * time.Second, second: 160 * time.Second} {
		x := h.explain(t, id)
		const rounding = time.Second
		if x.EstimatedStart == nil || x.EstimatedStart.Before(before.Add(want-rounding)) || x.EstimatedStart.After(after.Add(want+rounding)) {
			t.Errorf("number %d should start in %s: %+v", x.QueuePosition, want, x)
		}
	}
	// Nothing is known of dry runs, and builds go before it.
	if x := h.explain(t, other); x.EstimatedStart != nil {
		t.Errorf("a dry run: %+v", x)
	}
	// A free slot needs no past.
	h.worker(t, "free", tags)
	if x := h.explain(t, first); x.EstimatedStart == nil || time.Until(*x.EstimatedStart) > time.Second || !strings.HasSuffix(x.Summary, "and a provisioner is free.") {
		t.Errorf("with a free one: %+v", x)
	}
	h.exec(t, `DELETE FROM provisioner_daemons`)
	if x := h.explain(t, first); x.EstimatedStart != nil || x.Warning == "" {
		t.Errorf("with nobody: %+v", x)
	}
	if _, err := h.Explain(t.Context(), access.System(), uuid.New(), first); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("in another organization: %v", err)
	}
}

// TestWhoMayReadJobs is the rule of who may ask about a job.
func TestWhoMayReadJobs(t *testing.T) {
	h := newHouse(t, queue.Config{})
	owner, template, ws, build, version, job, imported := uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New()
	guest := uuid.New()
	for i, id := range []uuid.UUID{owner, guest} {
		h.exec(t, `INSERT INTO users (id, email, username, login_type, status, created_at, updated_at) VALUES ($1, $2, $2, 'none', 'active', now(), now())`, id, fmt.Sprint("u", i))
	}
	dry := h.add(t, codersdk.ProvisionerJobTypeTemplateVersionDryRun, nil)
	h.exec(t, `WITH s AS (SELECT * FROM provisioner_jobs WHERE id = $1)
		INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at)
		SELECT $2::uuid, organization_id, initiator_id, 'workspace_build', provisioner, tag_set_id, file_id, jsonb_build_object('workspace_build_id', $3::text), now(), now() FROM s
		UNION ALL SELECT $4::uuid, organization_id, initiator_id, 'template_version_import', provisioner, tag_set_id, file_id, jsonb_build_object('template_version_id', $5::text), now(), now() FROM s`, dry, job, build.String(), imported, version.String())
	h.exec(t, `UPDATE provisioner_jobs SET input = jsonb_build_object('template_version_id', $2::text) WHERE id = $1`, dry, version.String())
	conn, err := h.store.Pool().Begin(t.Context()) // the template and its version point at one another
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []struct {
		sql  string
		args []any
	}{
		{`INSERT INTO templates (id, organization_id, name, provisioner, active_version_id, created_by, created_at, updated_at) VALUES ($1, $2, 't', 'echo', $3, $4, now(), now())`, []any{template, h.org, version, h.user}},
		{`INSERT INTO template_versions (id, template_id, organization_id, job_id, name, created_by, created_at, updated_at) VALUES ($1, $2, $3, $4, 'v', $5, now(), now())`, []any{version, template, h.org, imported, h.user}},
		{`INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, created_at, updated_at, last_used_at, user_acl) VALUES ($1, $2, $3, $4, 'w', now(), now(), now(), jsonb_build_object($5::text, 'use'))`, []any{ws, h.org, owner, template, guest.String()}},
		{`INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, created_at, updated_at) VALUES ($1, $2, $3, 1, 'start', $4, 'autostart', $5, now(), now())`, []any{build, ws, version, h.user, job}},
	} {
		if _, err := conn.Exec(t.Context(), q.sql, q.args...); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	member := func(id uuid.UUID, roles ...string) access.Subject {
		return access.Subject{UserID: id, OrganizationRoles: map[uuid.UUID][]string{h.org: roles}}
	}
	narrow := member(owner)
	narrow.Scopes = []codersdk.APIKeyScope{"file:read"}
	for _, c := range []struct {
		name                 string
		who                  access.Subject
		build, imported, dry bool
	}{
		{"who started it", member(h.user), true, true, true},
		{"whose workspace it is", member(owner), true, false, false},
		{"whom it is shared with", member(guest), true, false, false},
		{"a stranger", member(uuid.New()), false, false, false},
		{"a stranger of another organization", access.Subject{UserID: h.user}, false, false, false},
		{"a token that is too narrow", narrow, false, false, false},
		{"a template admin", member(uuid.New(), access.RoleOrganizationTemplateAdmin), true, true, true},
		{"an auditor", member(uuid.New(), access.RoleOrganizationAuditor), false, true, false},
		{"the system", access.System(), true, true, true},
	} {
		for id, may := range map[uuid.UUID]bool{job: c.build, imported: c.imported, dry: c.dry} {
			j, err := h.JobIn(t.Context(), c.who, h.org, id)
			if may != (err == nil) || err != nil && !codersdk.Is(err, codersdk.CodeNotFound) {
				t.Errorf("%s reads a %s: %v, want %v", c.name, j.Type, err, may)
			}
		}
	}
	// Lists show what one started, and of others nothing.
	if list, err := h.List(t.Context(), member(h.user), h.org, queue.JobFilter{}); err != nil || len(list) != 3 {
		t.Errorf("her jobs are %+v, %v", list, err)
	}
	if list, err := h.List(t.Context(), member(owner), h.org, queue.JobFilter{Initiator: h.user}); err != nil || len(list) != 0 {
		t.Errorf("jobs of another are %+v, %v", list, err)
	}
	if _, err := h.List(t.Context(), narrow, h.org, queue.JobFilter{}); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("a token that is too narrow lists: %v", err)
	}
}

// TestPlanOfOverview looks at how the database answers what is asked often,
// among 100,000 waiting jobs, when it knows nothing of the arguments: the jobs
// are never read one after the other, and the ends that a mean is made of come
// from their own index.
func TestPlanOfOverview(t *testing.T) {
	h := newHouse(t, queue.Config{})
	h.fill(t, 100_000, 20)
	h.exec(t, `UPDATE provisioner_jobs SET started_at = now(), completed_at = now(), worker_id = gen_random_uuid(), lease_expires_at = now() WHERE id IN (SELECT id FROM provisioner_jobs LIMIT 20000)`)
	// A query of the service that still runs keeps VACUUM from marking pages as visible
	// to all, and without that the planner reads the table.
	testwait.Until(t, "all pages are visible to all", func() (all bool) {
		h.exec(t, `VACUUM ANALYZE provisioner_jobs`)
		row := h.store.Pool().QueryRow(t.Context(), `SELECT relallvisible >= relpages FROM pg_class WHERE oid = 'provisioner_jobs'::regclass`)
		if err := row.Scan(&all); err != nil {
			t.Fatal(err)
		}
		return all
	})
	conn, err := h.store.Pool().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	source, err := os.ReadFile("../postgres/sqlc/queue_overview.sql.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ args, index string }{
		"queueOverview":  {"NULL, '{}'", "Index Only Scan using provisioner_jobs_waiting"},
		"queueSlots":     {"NULL, 1000", "provisioner_jobs_running"},
		"queueMeans":     {"'{1,2,3}', '{workspace_build,workspace_build,workspace_build}'", "provisioner_jobs_done"},
		"queueDaemons":   {fmt.Sprintf("1000, '%s', '{}', NULL, '{}', '{}', 0, 1000", h.org), "provisioner_jobs_running"},
		"queueRunningOn": {fmt.Sprintf("'{%s}'", uuid.New()), "provisioner_jobs"},
	} {
		_, sql, _ := strings.Cut(string(source), "const "+name+" = `")
		sql, _, _ = strings.Cut(sql, "`")
		for _, s := range []string{"SET plan_cache_mode = force_generic_plan", "PREPARE " + name + " AS " + sql} {
			if _, err := conn.Exec(t.Context(), s); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		rows, err := conn.Query(t.Context(), "EXPLAIN EXECUTE "+name+" ("+c.args+")")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var plan []string
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, line)
		}
		rows.Close()
		if err := rows.Err(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text := strings.Join(plan, "\n")
		if !strings.Contains(text, c.index) || strings.Contains(text, "Seq Scan on provisioner_jobs") {
			t.Errorf("%s: the plan is\n%s", name, text)
		}
	}
}
