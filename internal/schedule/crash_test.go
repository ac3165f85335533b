package schedule_test

import (
	"bufio"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/schedule"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// victim names the database of the process that is killed.
const victim = "CODER_TEST_SCHEDULE_DATABASE"

// TestKilled kills a server in the middle of a tick, at whatever line it is:
// what another then does makes up for the rest, and nothing is done twice.
func TestKilled(t *testing.T) {
	if url := os.Getenv(victim); url != "" {
		tickOf(t, url)
		return
	}
	url := postgrestest.URL(t)
	store, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	h := openOn(t, store, &text{}).fill()
	const n = 400
	h.copies(h.stopped(codersdk.CreateWorkspaceRequest{}), n)
	h.exec(`UPDATE workspace_builds SET transition = 'start', deadline = $1 WHERE workspace_id IN (SELECT id FROM workspaces WHERE name LIKE 'copy%')`, monday)
	for round := range 3 {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilled$")
		c.Env = append(os.Environ(), victim+"="+url)
		out, err := c.StdoutPipe()
		h.must(err)
		h.must(c.Start())
		lines := bufio.NewScanner(out)
		for seen := 0; seen < 10+round && lines.Scan(); {
			if strings.Contains(lines.Text(), "started an automatic build") {
				seen++
			}
		}
		h.must(c.Process.Kill())
		c.Wait() //nolint:errcheck // it was killed
	}
	stops := `SELECT count(*) FROM workspace_builds WHERE reason = 'autostop'`
	if done := h.count(stops); done < 30 {
		t.Errorf("%d of %d were stopped by those that were killed", done, n)
	}
	testwait.Until(t, "the database has released the locks of the killed processes, and all are stopped", func() bool {
		h.tick()
		return h.count(stops) == n
	})
	h.tick()
	if stops, jobs, rows := h.count(stops), h.count(`SELECT count(*) FROM provisioner_jobs WHERE status = 'pending'`), h.count(`SELECT count(*) FROM audit_logs WHERE additional_fields->>'build_reason' = 'autostop'`); stops != n || jobs != n || rows != n {
		t.Errorf("%d builds, %d jobs and %d rows in the audit log for %d workspaces", stops, jobs, rows, n)
	}
}

// tickOf is the process that is killed.
func tickOf(t *testing.T, url string) {
	store, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(os.Stdout, nil))
	hub := notify.New(store.Pool(), log)
	now := func() time.Time { return monday }
	w := workspace.New(workspace.Config{Store: store, Queue: queue.New(queue.Config{Store: store, Hub: hub, Log: log}), Hub: hub, Log: log, Now: now})
	schedule.New(schedule.Config{Store: store, Workspaces: w, Log: log, Now: now}).Tick(t.Context())
}
