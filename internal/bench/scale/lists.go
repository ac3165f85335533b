package scale

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
	"github.com/seed-2a7f8fe7/coder/internal/bench/rig"
	"github.com/seed-2a7f8fe7/coder/internal/bench/seed"
)

// lists measures requests for lists in a deployment with many workspaces, each with an owner of its own.
func lists(ctx context.Context, c Config) error {
	return with(ctx, c, func(d *deployment) error {
		l := &loaded{Config: c, deployment: d}
		defer l.close()
		if err := l.startProvisioners(1); err != nil {
			return err
		}
		t, err := l.Template(ctx, "lists", rig.AgentFiles("", time.Millisecond))
		if err != nil {
			return err
		}
		w, err := l.Workspace(ctx, "lists", t)
		if err != nil {
			return err
		}
		const batch = 10_000
		var last seed.Clone
		for made := 0; made < c.Workspaces; made += batch {
			if w, err = l.Workspace(ctx, fmt.Sprint("lists", made), t); err != nil {
				return err
			}
			all, err := seed.Workspaces(ctx, l.store, w.ID, min(batch, c.Workspaces-made), true)
			if err != nil {
				return err
			}
			last = all[len(all)-1]
		}
		name := fmt.Sprintf("lists_%d_", c.Workspaces)
		for _, list := range []struct {
			name string
			get  func() error
		}{
			{"workspaces", l.listed(ctx, "", 0)},
			{"workspaces_middle", l.listed(ctx, "", c.Workspaces/2)},
			{"workspaces_of_user", l.listed(ctx, "owner:"+last.Workspace.OwnerName, 0)},
			{"workspaces_by_name", l.listed(ctx, last.Workspace.Name, 0)},
			{"workspaces_running", l.listed(ctx, "status:running", 0)},
			{"workspaces_of_template", l.listed(ctx, "template:lists", 0)},
			{"workspace", func() error { _, err := l.Client.Workspace(ctx, last.Workspace.ID, nil); return err }},
			{"users", func() error { _, err := l.Client.Users(ctx, query("", 0)); return err }},
			{"users_by_name", func() error { _, err := l.Client.Users(ctx, query(last.Workspace.OwnerName, 0)); return err }},
		} {
			var took []time.Duration
			for range 40 {
				began := time.Now()
				if err := list.get(); err != nil {
					return fmt.Errorf("list %s: %w", list.name, err)
				}
				took = append(took, time.Since(began))
			}
			c.print(figure.AtMost(name+list.name+"_p50", figure.Milliseconds(figure.Quantile(took, 0.5)), 200, "ms"),
				figure.AtMost(name+list.name+"_p99", figure.Milliseconds(figure.Quantile(took, 0.99)), 1000, "ms"))
		}
		return nil
	})
}

// query returns the parameters of a list of the length that the dashboard requests.
func query(q string, offset int) url.Values {
	return url.Values{"q": {q}, "limit": {"25"}, "offset": {strconv.Itoa(offset)}}
}

// listed returns a request for a list of workspaces, which must not be empty.
func (l *loaded) listed(ctx context.Context, q string, offset int) func() error {
	return func() error {
		page, err := l.Client.Workspaces(ctx, query(q, offset))
		if err == nil && len(page.Workspaces) == 0 {
			err = fmt.Errorf("no workspaces match %q", q)
		}
		return err
	}
}
