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

// Dashboard measures the dashboard in Chromium: how long its lists take from the
// address to the rows, and how fast it is in use. The deployment has 10,000
// workspaces, users, jobs and audit log entries.
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

func pageRows(ctx context.Context, root string, y *yard) (rows []row, err error) {
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
	url := "http://" + y.address
	loads, err1 := measureInBrowser(ctx, root, "load.mjs", url)
	for _, m := range loads {
		rows = append(rows, atMost("page_"+m.Name, m.Value, 1000, "ms"))
	}
	speeds, err2 := measureInBrowser(ctx, root, "speed.mjs", url)
	for _, m := range speeds {
		g, known := goals[m.Name]
		if !known {
			return nil, fmt.Errorf("speed.mjs measured %s, which has no goal: add it to the goals", m.Name)
		}
		rows = append(rows, atMost("dashboard_"+m.Name, m.Value, g.most, g.unit))
	}
	return rows, errors.Join(err1, err2)
}

// goals are the goals of the values that speed.mjs prints.
var goals = map[string]struct {
	most float64
	unit string
}{
	"first_page":   {250, "kB"},
	"interactive":  {1000, "ms"},
	"route_change": {100, "ms"},
	"layout_shift": {0.01, ""}, // a hundredth of the window; 0.1 counts as good
}

// measured is a line of a measuring script.
type measured struct {
	Name, Error string
	Value       float64
}

// measureInBrowser returns the values that a measuring script prints. The error
// has those that the script could not measure.
func measureInBrowser(ctx context.Context, root, script, url string, args ...string) (values []measured, failed error) {
	out, err := inBrowser(ctx, root, script, url, args...)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(out) {
		var m measured
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", script, err, line)
		}
		if m.Error != "" {
			failed = errors.Join(failed, fmt.Errorf("%s: measure %s: %s", script, m.Name, m.Error))
			continue
		}
		values = append(values, m)
	}
	return values, failed
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
