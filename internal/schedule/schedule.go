// Package schedule makes workspaces do what is due by itself: it starts them on
// their schedule, stops them at their deadline or some time after a start that
// failed, makes those dormant that nobody uses, and deletes dormant ones whose
// time is over.
//
// A tick walks over what is due, a page at a time, found by indexes that hold
// nothing else. What is done to one workspace is one transaction, which locks
// its row, looks once more whether it is due, moves its timers on, and adds the
// build; so however many servers tick at once, and whenever one of them dies,
// one build is made for each moment. A workspace that somebody else holds is
// passed over, and one whose turn fails is not in the way of the others: it is
// tried again with the next tick when the server was at fault, at its next
// start when a start cannot be made, and else after a time that doubles.
//
// A server that was down finds everything due when it is back. It makes up for
// stops, dormancy and deletions, and for starts that are an hour late at most:
// nobody waits any more for what was to begin this morning.
package schedule

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

const (
	usualInterval = time.Minute
	// page is how many workspaces are read at once.
	page = 200
	// hands is how many workspaces are worked on at once.
	hands = 4
	// turn bounds what one workspace may take.
	turn = 30 * time.Second
	// late is how long after its time a workspace is still started.
	late = time.Hour
)

// Config is what a Service works with.
type Config struct {
	Store      *postgres.Store
	Workspaces *workspace.Service
	Log        *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Interval is how often it is looked what is due, and how long one look may
	// take; 0 means a minute.
	Interval time.Duration
	// Registerer takes the metrics; nil: none.
	Registerer prometheus.Registerer
}

// Service does what is due while it runs.
type Service struct {
	Config
	lifecycle.Loop
	took prometheus.Histogram
}

// New makes a Service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Interval <= 0 {
		c.Interval = usualInterval
	}
	s := &Service{Config: c, took: prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "coderd_lifecycle_autobuild_execution_duration_seconds", Help: "Seconds that one look at what workspaces are to do by themselves took.",
		Buckets: []float64{0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300},
	})}
	if c.Registerer != nil {
		c.Registerer.MustRegister(s.took)
	}
	s.Run = s.run
	return s
}

func (s *Service) run(ctx context.Context) {
	tick := time.NewTicker(s.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		limited, cancel := context.WithTimeout(ctx, s.Interval)
		s.Tick(limited)
		cancel()
	}
}

// now is the clock at the precision that the database keeps.
func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// Tick does once what is due, until it is done or ctx ends; what is left is
// done by the next. Errors go to the log.
func (s *Service) Tick(ctx context.Context) {
	begin := time.Now()
	now := s.now()
	kinds := s.kinds(now)
	for len(kinds) > 0 && ctx.Err() == nil { // a page of each in turn, so that none waits for all of another
		next := kinds[:0]
		for _, k := range kinds {
			ids, err := k.pages(ctx)
			if err != nil {
				if ctx.Err() == nil {
					s.Log.Warn("cannot read which workspaces are due; trying again soon", "what", k.what, "error", err)
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

// each does one kind of thing to workspaces, to several at once.
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

// one does one kind of thing to a workspace.
func (s *Service) one(ctx context.Context, k kind, id uuid.UUID, now time.Time) {
	limited, cancel := context.WithTimeout(ctx, turn)
	defer cancel()
	log := s.Log.With("workspace", id, "what", k.what)
	build, err := s.Workspaces.BuildAutomatically(limited, id, k.transition, k.reason, func(ctx context.Context, q *sqlc.Queries, w sqlc.Workspace, latest sqlc.BuildLatestRow) (bool, error) {
		return k.due(ctx, facts{q: q, w: w, build: latest.WorkspaceBuild, job: coder.ProvisionerJobStatus(latest.JobStatus), now: now, log: log.With("name", w.Name)})
	})
	switch {
	case err == nil && build != uuid.Nil:
		log.Info("a workspace does what is due", "build", build, "transition", k.transition)
	case err == nil, ctx.Err() != nil:
	case coder.Is(err, coder.CodeInternal), coder.Is(err, coder.CodeUnavailable), limited.Err() != nil:
		log.Warn("a workspace could not do what is due; trying again soon", "error", err)
	default:
		log.Warn("a workspace cannot do what is due", "error", err)
		if err := k.putOff(ctx, id, now); err != nil && ctx.Err() == nil {
			log.Warn("what a workspace cannot do could not be put off", "error", err)
		}
	}
}
