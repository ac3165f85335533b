package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
)

// Dashboard measures how long the dashboard's lists take in Chromium, from the
// address to the rows, in a deployment with 10,000 workspaces, users, jobs and
// audit log entries.
func Dashboard(ctx context.Context, c Config) error {
	bin, err := filepath.Abs(c.Coder)
	if err != nil {
		return err
	}
	return each(c, measurement{"pages", func() ([]row, error) {
		return withYard(ctx, bin, func(ctx context.Context, y *yard) ([]row, error) { return pageRows(ctx, c.Root, y) })
	}})
}

// createUsers creates n users, members of the organization, with one audit log entry
// each.
const people = `
WITH u AS (
    INSERT INTO users (id, email, username, name, login_type, status, created_at, updated_at)
    SELECT gen_random_uuid(), 'u' || i || '@example.com', 'u' || i, 'Somebody', 'none', 'active', now(), now() FROM generate_series(1, $2::integer) i
    RETURNING id
), m AS (
    INSERT INTO organization_members SELECT $1, id, '{}', now(), now() FROM u
)
INSERT INTO audit_logs (id, time, user_id, organization_id, resource_type, resource_id, action)
SELECT gen_random_uuid(), now() - (row_number() OVER ()) * interval '1 second', id, $1, 'user', id, 'write' FROM u`

func pageRows(ctx context.Context, root string, y *yard) (rows []row, failed error) {
	const n = 10_000
	if _, err := y.tokens(ctx, n); err != nil {
		return nil, err
	}
	if _, err := y.store.Pool().Exec(ctx, people, y.org, n); err != nil {
		return nil, fmt.Errorf("create users: %w", err)
	}
	if _, err := y.store.Pool().Exec(ctx, "ANALYZE"); err != nil { // as autovacuum would soon
		return nil, err
	}
	out, err := inBrowser(ctx, root, "load.mjs", "http://"+y.address)
	if err != nil {
		return nil, fmt.Errorf("visit the pages: %w", err)
	}
	for line := range bytes.Lines(out) {
		var page struct {
			Name, Error  string
			Milliseconds float64
		}
		if err := json.Unmarshal(line, &page); err != nil {
			return nil, fmt.Errorf("visit the pages: %w: %s", err, line)
		}
		if page.Error != "" {
			failed = errors.Join(failed, fmt.Errorf("visit %s: %s", page.Name, page.Error))
			continue
		}
		rows = append(rows, atMost("page_"+page.Name, page.Milliseconds, 1000, "ms"))
	}
	return rows, failed
}

// inBrowser runs a measuring script in Chromium as the server's administrator
// and returns its output.
func inBrowser(ctx context.Context, root, script, url string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "node", append([]string{filepath.Join("test", script), url, "admin@example.com", password}, args...)...)
	cmd.Dir = filepath.Join(root, "web")
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", script, err, problems.Bytes())
	}
	return out, nil
}
