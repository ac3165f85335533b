package queue_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// TestPlanOfClaim looks at how the database claims among 100,000 waiting jobs
// when it has prepared the query without knowing its arguments: by the index of
// tag sets, never by reading the jobs one after the other.
func TestPlanOfClaim(t *testing.T) {
	h := newHouse(t, queue.Config{})
	h.fill(t, 100_000, 20)
	claim, err := readQuery("QueueClaim")
	if err != nil {
		t.Fatal(err)
	}
	claim = strings.NewReplacer(
		"sqlc.arg(organization_id)", "$1", "sqlc.arg(tags)", "$2", "sqlc.arg(provisioners)", "$3",
		"sqlc.arg(worker_ids)", "$4", "sqlc.arg(worker_names)", "$5", "sqlc.arg(lease_ms)", "$6", "sqlc.arg(served)", "$7", "sqlc.embed(j)", "j.id",
	).Replace(claim)
	conn, err := h.store.Pool().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for _, sql := range []string{"SET plan_cache_mode = force_generic_plan", "PREPARE claim (uuid, jsonb, text[], uuid[], text[], bigint, uuid[]) AS " + claim} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := conn.Query(t.Context(), fmt.Sprintf("EXPLAIN EXECUTE claim ('%s', '%s', '{echo}', '{%s}', '{d}', 1000, '{}')", h.org, mustJSON(t, codersdk.NormalizeTags(h.user, nil)), uuid.New()))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, line)
	}
	text := strings.Join(plan, "\n")
	if !strings.Contains(text, "Index Scan using provisioner_jobs_pending") || strings.Contains(text, "Seq Scan on provisioner_jobs") {
		t.Errorf("the plan is\n%s", text)
	}
}

// readQuery returns the text of a query in the source of the queries.
func readQuery(name string) (string, error) {
	b, err := os.ReadFile("../postgres/queries/jobs.sql")
	if err != nil {
		return "", err
	}
	_, rest, ok := strings.Cut(string(b), "-- name: "+name+" ")
	if !ok {
		return "", fmt.Errorf("there is no query %s", name)
	}
	_, rest, _ = strings.Cut(rest, "\n")
	query, _, _ := strings.Cut(rest, ";")
	return query, nil
}
