// Package schedule performs the automatic actions of workspaces: autostart, autostop at the deadline
// or some time after a failed start, dormancy of unused workspaces, and deletion of dormant ones.
//
// A tick pages through the due workspaces with the help of dedicated indexes. The action on one
// workspace is one transaction: it locks the row, checks again whether the action is due, advances
// the timers, and adds the build. So whatever the number of servers, and whenever one crashes, each
// scheduled time causes one build. A workspace that is locked is skipped. A failure does not affect
// other workspaces: it is retried by the next tick if the server failed, at the next scheduled start
// if a start is impossible, and otherwise after a pause that doubles.
//
// After downtime everything is due at once. Stops, dormancy and deletions are then performed, and
// starts that are at most one hour late; a later start would be of no use.
package schedule

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

const (
	usualInterval = time.Minute
	// page is the number of workspaces that one query reads.
	page = 200
	// hands is the number of concurrent actions.
	hands = 4
	// turn is the timeout of one action.
	turn = 30 * time.Second
	// late is the longest delay of an autostart.
	late = time.Hour
)

// Config configures a Service.
type Config struct {
	Store      *postgres.Store
	Workspaces *workspace.Service
	Log        *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Interval is the time between two ticks, and the timeout of one; 0 means one minute.
	Interval time.Duration
	// Registerer registers the metrics; nil for none.
	Registerer prometheus.Registerer
}

// Service performs due actions while it runs.
type Service struct {
	Config
	lifecycle.Loop
	took prometheus.Histogram
}

// New returns a Service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Interval <= 0 {
		c.Interval = usualInterval
	}
	s := &Service{Config: c, took: prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "coderd_lifecycle_autobuild_execution_duration_seconds", Help: "Duration of one run of the automatic actions on workspaces, in seconds.",
		Buckets: []float64{0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300},
	})}
	if c.Registerer != nil {
		c.Registerer.MustRegister(s.took)
	}
	s.Run = s.run
	return s
}

func (s *Service) run(ctx context.Context) {
	s.Workspaces.FollowUps(ctx) // for stops that finished while no server ran
	lifecycle.Every(ctx, s.Interval, func(ctx context.Context) {
		limited, cancel := context.WithTimeout(ctx, s.Interval)
		defer cancel()
		s.Tick(limited)
	})
}

// now returns the time at the precision of the database.
func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// Tick performs the due actions until none is left or ctx ends; the next tick does the rest. Errors
// are logged.
func (s *Service) Tick(ctx context.Context) {
	begin := time.Now()
	now := s.now()
	s.Workspaces.FollowUps(ctx)
	kinds := s.kinds(now)
	for len(kinds) > 0 && ctx.Err() == nil { // one page of each in turn, so that no kind waits for all of another
		next := kinds[:0]
		for _, k := range kinds {
			ids, err := k.pages(ctx)
			if err != nil {
				if ctx.Err() == nil {
					s.Log.Warn("cannot read the due workspaces; retrying", "what", k.what, "error", err)
				}
				continue
			}
			s.each(ctx, k, ids, now)
			if len(ids) > 0 {
				next = append(next, k)
			}
		}
		kinds = next
	}
	s.took.Observe(time.Since(begin).Seconds())
}

// each performs one kind of action on workspaces, several at once.
func (s *Service) each(ctx context.Context, k kind, ids []uuid.UUID, now time.Time) {
	work := make(chan uuid.UUID)
	var wait sync.WaitGroup
	for range min(hands, len(ids)) {
		wait.Go(func() {
			for id := range work {
				s.one(ctx, k, id, now)
			}
		})
	}
	for _, id := range ids {
		if ctx.Err() != nil {
			break
		}
		work <- id
	}
	close(work)
	wait.Wait()
}

// one performs one kind of action on a workspace.
func (s *Service) one(ctx context.Context, k kind, id uuid.UUID, now time.Time) {
	limited, cancel := context.WithTimeout(ctx, turn)
	defer cancel()
	log := s.Log.With("workspace", id, "what", k.what)
	build, err := s.Workspaces.BuildAutomatically(
		limited,
		id,
		k.transition,
		k.reason,
		func(ctx context.Context, q *sqlc.Queries, w sqlc.Workspace, latest sqlc.BuildLatestRow) (bool, error) {
			return k.due(
				ctx,
				facts{q: q, w: w, build: latest.WorkspaceBuild, job: codersdk.ProvisionerJobStatus(latest.JobStatus), now: now, log: log.With("name", w.Name)},
			)
		},
	)
	switch {
	case err == nil && build != uuid.Nil:
		log.Info("started an automatic build", "build", build, "transition", k.transition)
	case err == nil, ctx.Err() != nil:
	case codersdk.Is(err, codersdk.CodeInternal), codersdk.Is(err, codersdk.CodeUnavailable), limited.Err() != nil:
		log.Warn("an automatic action failed; retrying", "error", err)
	default:
		log.Warn("an automatic action is not possible", "error", err)
		if err := k.putOff(ctx, id, now); err != nil && ctx.Err() == nil {
			log.Warn("cannot postpone an automatic action", "error", err)
		}
	}
}
