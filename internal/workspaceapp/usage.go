package workspaceapp

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

const (
	usageFlush = 30 * time.Second
	// usagePause is the pause after which further use starts a new period.
	usagePause = time.Minute
	// usageKept is the retention of usage records.
	usageKept = 180 * 24 * time.Hour
	// usageBound is the maximum number of concurrent periods; further use is not counted.
	usageBound = 10_000
)

// usage counts the use of apps by user, in memory.
type usage struct {
	mu   sync.Mutex
	open map[useKey]*use
	done map[uuid.UUID]row // finished and not yet written
}

type useKey struct {
	user, agent uuid.UUID
	method      Method
	app         string
}

// use is one period of use.
type use struct {
	row
	running int // unfinished requests
	changed bool
}

// used extends the period to now. It never ends before it began, even if the clock was set back.
func (u *use) used(now time.Time) {
	if now.Before(u.began) {
		now = u.began
	}
	u.last, u.changed = now, true
}

type row struct {
	session, user, workspace, agent uuid.UUID
	method                          Method
	app                             string
	began, last                     time.Time
	requests                        int64
}

// Use counts a request of a user, Nil if the user is not signed in. The caller calls the returned
// function at the end of the request. Use sends no query.
func (s *Service) Use(user uuid.UUID, m Method, t *Target) (end func()) {
	if s.c.NoUsage {
		return func() {}
	}
	k, now := useKey{user, t.AgentID, m, t.App}, s.now()
	s.usage.mu.Lock()
	defer s.usage.mu.Unlock()
	u := s.usage.open[k]
	if u != nil && u.running == 0 && now.Sub(u.last) > usagePause {
		s.usage.close(k, u)
		u = nil
	}
	if u == nil {
		if len(s.usage.open) >= usageBound {
			return func() {}
		}
		u = &use{row: row{
			session: uuid.New(), user: user, workspace: t.WorkspaceID, agent: t.AgentID, method: m, app: t.App, began: now,
		}}
		s.usage.open[k] = u
	}
	u.requests++
	u.running++
	u.used(now)
	return func() {
		s.usage.mu.Lock()
		defer s.usage.mu.Unlock()
		u.running--
		u.used(s.now())
	}
}

// close moves a finished period to the rows to write. The caller holds mu.
func (u *usage) close(k useKey, v *use) {
	if v.changed {
		u.done[v.session] = v.row
	}
	delete(u.open, k)
}

// take returns the rows to write and drops finished periods.
func (u *usage) take(now time.Time) []row {
	u.mu.Lock()
	defer u.mu.Unlock()
	for k, v := range u.open {
		if v.running > 0 {
			v.used(now)
		}
		if v.changed {
			u.done[v.session] = v.row
			v.changed = false
		}
		if v.running == 0 && now.Sub(v.last) > usagePause {
			delete(u.open, k)
		}
	}
	out := make([]row, 0, len(u.done))
	for _, r := range u.done {
		out = append(out, r)
	}
	u.done = map[uuid.UUID]row{}
	return out
}

// FlushUsage writes the counted usage in one statement, and the last use of the workspaces.
func (s *Service) FlushUsage(ctx context.Context) error {
	now := s.now()
	rows := s.usage.take(now)
	if len(rows) == 0 {
		return nil
	}
	var p sqlc.AppPutStatsParams
	for _, r := range rows {
		p.SessionID = append(p.SessionID, r.session)
		p.UserID = append(p.UserID, r.user)
		p.WorkspaceID = append(p.WorkspaceID, r.workspace)
		p.AgentID = append(p.AgentID, r.agent)
		p.AccessMethod = append(p.AccessMethod, string(r.method))
		p.SlugOrPort = append(p.SlugOrPort, r.app)
		p.StartedAt = append(p.StartedAt, r.began)
		p.EndedAt = append(p.EndedAt, r.last)
		p.Requests = append(p.Requests, r.requests)
	}
	err := s.keep(ctx, now, p)
	if err != nil {
		s.usage.putBack(rows)
	}
	return err
}

// putBack returns rows after a failed write, to be written with the next call.
func (u *usage) putBack(rows []row) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, r := range rows {
		if _, newer := u.done[r.session]; !newer && len(u.done) < usageBound {
			u.done[r.session] = r
		}
	}
}

// keep writes periods of use, and the last use of their workspaces.
func (s *Service) keep(ctx context.Context, now time.Time, p sqlc.AppPutStatsParams) error {
	return s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := q.AppPutStats(ctx, p); err != nil {
			return err
		}
		return q.AppTouchWorkspaces(ctx, now, p.WorkspaceID)
	})
}

// PurgeUsage deletes usage records that are older than half a year.
func (s *Service) PurgeUsage(ctx context.Context) (int64, error) {
	before := s.now().Add(-usageKept)
	return postgres.InBatches(ctx, func() (int64, error) { return s.c.Store.AppDeleteStats(ctx, before) })
}
