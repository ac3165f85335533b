// Package fairshare lets the built-in provisioners of a server serve several organizations in proportion
// to their weights.
//
// A provisioner belongs to one organization, and so does its row in the database, under which it holds
// jobs. A built-in provisioner has a Seat: a row in each organization with a weight, which users see as a
// provisioner of theirs. When it is free it claims a job of the organization whose turn it is. Builds
// that users requested go before prebuilds, whatever the organization; within a class the order is
// start-time fair queueing. Organizations with weights 3 and 1 that both have pending jobs get three jobs
// and one. An organization that had no pending jobs does not get more for it later. Each server divides
// its own provisioners.
//
// Within an organization the queue decides the order of jobs.
package fairshare

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// Config configures a Service.
type Config struct {
	Store *postgres.Store
	Hub   *notify.Hub
	Queue *queue.Service
	Log   *slog.Logger
	// Poll is the interval of checks for weights and jobs without a notification; 0 means
	// 30 s.
	Poll time.Duration
}

// Service divides the built-in provisioners of one server. It is safe for concurrent use, and a
// lifecycle.Service.
type Service struct {
	Config
	loop lifecycle.Loop

	mu      sync.Mutex
	weights map[uuid.UUID]int // of the served organizations
	seats   map[*Seat]struct{}
	news    chan struct{} // closed and replaced when there may be jobs
	hints   int           // number of notifications
	barren  int           // value of hints when a search last found nothing

	turn  sync.Mutex // held by the seat that claims a job
	turns turns
}

// New returns a Service. It starts nothing.
func New(c Config) *Service {
	if c.Poll <= 0 {
		c.Poll = 30 * time.Second
	}
	s := &Service{Config: c, weights: map[uuid.UUID]int{}, seats: map[*Seat]struct{}{}, news: make(chan struct{}), barren: -1}
	s.loop.Run = s.run
	return s
}

// Start reads the weights and subscribes to notifications about jobs and weights.
func (s *Service) Start(ctx context.Context) error {
	if err := s.reload(ctx); err != nil {
		return err
	}
	return s.loop.Start(ctx)
}

// Stop stops that. Callers of Acquire end with their own contexts.
func (s *Service) Stop(ctx context.Context) error { return s.loop.Stop(ctx) }

func (s *Service) run(ctx context.Context) {
	changes, done := s.Hub.Subscribe(notify.Kind(string(codersdk.RBACResourceOrganization)))
	defer done()
	poll := time.NewTicker(s.Poll)
	defer poll.Stop()
	for ctx.Err() == nil {
		jobs, enough := s.Hub.Subscribe(s.topics()...)
		s.tell() // covers earlier changes
		for again := true; again; {
			select {
			case <-ctx.Done():
				again = false
			case <-jobs:
				s.tell()
			case <-changes:
				again = false
			case <-poll.C:
				again = false
			}
		}
		enough()
		if err := s.reload(ctx); err != nil && ctx.Err() == nil {
			s.Log.Warn("cannot read the weights of the organizations; retrying", "error", err)
		}
	}
}

func (s *Service) topics() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for o := range s.weights {
		out = append(out, notify.Jobs(o))
	}
	return out
}

// tell wakes the waiting seats. There may be new jobs, or new rows.
func (s *Service) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hints++
	close(s.news)
	s.news = make(chan struct{})
}

// listen returns a channel that the next tell closes.
func (s *Service) listen() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.news
}

// reload reads the weights and updates the rows of every seat.
func (s *Service) reload(ctx context.Context) error {
	rows, err := s.Store.ShareWeights(ctx)
	if err != nil {
		return err
	}
	weights := make(map[uuid.UUID]int, len(rows))
	for _, r := range rows {
		weights[r.ID] = int(r.ProvisionerWeight)
	}
	s.mu.Lock()
	s.weights = weights
	var seats []*Seat
	for t := range s.seats {
		seats = append(seats, t)
	}
	s.mu.Unlock()
	var errs []error
	for _, t := range seats {
		errs = append(errs, t.settle(ctx))
	}
	return errors.Join(errs...)
}

// served returns the served organizations with their weights.
func (s *Service) served() map[uuid.UUID]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.weights
}

// waiting returns the organizations with pending jobs that t can run, in the order of their turns: those
// with jobs of the most urgent class first.
func (s *Service) waiting(ctx context.Context, t *Seat) ([]uuid.UUID, error) {
	rows, err := s.Store.ShareWaiting(ctx, t.like.Provisioners, t.organizations(), t.like.Tags.Key())
	if err != nil {
		return nil, err
	}
	class := map[uuid.UUID]int16{}
	var out []uuid.UUID
	for _, r := range rows {
		class[r.OrganizationID] = r.Priority
		out = append(out, r.OrganizationID)
	}
	s.turns.order(out)
	slices.SortStableFunc(out, func(a, b uuid.UUID) int { return cmp.Compare(class[a], class[b]) })
	return out, nil
}

// take claims a job of the organization whose turn it is, if any is pending.
func (s *Service) take(ctx context.Context, t *Seat) (job queue.Job, w queue.Worker, ok bool, err error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	hints := s.hints
	barren := hints == s.barren
	s.mu.Unlock()
	if barren || ctx.Err() != nil {
		return job, w, false, ctx.Err() // another seat has searched since
	}
	organizations, err := s.waiting(ctx, t)
	if err != nil {
		return job, w, false, err
	}
	for _, o := range organizations {
		w = t.worker(o)
		if job, ok, err = s.Queue.Claim(ctx, w); err != nil {
			return job, w, false, err
		}
		if ok {
			s.turns.took(o, s.served()[o])
			t.hold(job.ID, o)
			return job, w, true, nil
		}
	}
	if len(organizations) == 0 {
		s.turns.rest()
	}
	s.mu.Lock()
	s.barren = hints
	s.mu.Unlock()
	return job, w, false, nil
}
