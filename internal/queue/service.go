package queue

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/standing"
)

// Leases: how long a job stays with a provisioner that says nothing.
const (
	// DefaultLease is for daemons that know of leases and update every second; with
	// Config.Reap it is how soon a dead one is noticed.
	DefaultLease = 12 * time.Second
	// UpstreamLease is for daemons that update every five seconds and know nothing.
	UpstreamLease = 30 * time.Second
)

// Config is what a Service needs.
type Config struct {
	Store *postgres.Store
	Hub   *notify.Hub
	Log   *slog.Logger
	// Lease is given to daemons that know of leases; 0 means DefaultLease.
	Lease time.Duration
	// ForceCancel is how long a provisioner may take to end a canceled job; a
	// tenth later the job is failed whatever the provisioner says; 0 means 10
	// minutes. (PRV-18)
	ForceCancel time.Duration
	// Unserved is how long a job may wait while no provisioner that could take
	// it is seen; 0 means 30 minutes. (PRV-32)
	Unserved time.Duration
	// Poll is how often the queue looks for jobs without having been told of
	// one; 0 means 30 s. (PRV-31)
	Poll time.Duration
	// Reap is how often it looks for lost jobs; 0 means 2 s.
	Reap time.Duration
	// Registerer takes the queue's metrics; may be nil.
	Registerer prometheus.Registerer
	// Version is the server's own, to compare those of provisioners with.
	Version string
}

// Service is the queue of one server. It is safe for concurrent use; replicas
// run one each over the same database.
type Service struct {
	Config
	handlers map[coder.ProvisionerJobType]Handler

	mu          sync.Mutex
	dispatchers map[uuid.UUID]*dispatcher
	connected   map[uuid.UUID]int // daemon rows -> connections here
	words       words
	served      []uuid.UUID // initiators by when a job of theirs was claimed last, the latest at the end
	places      *standing.Board
	turns       *standing.Turns

	spawn func(func(context.Context)) // runs until Stop
	stop  context.CancelFunc
	work  sync.WaitGroup
}

// New makes a queue that runs nothing yet.
func New(c Config) *Service {
	if c.Lease <= 0 {
		c.Lease = DefaultLease
	}
	if c.ForceCancel <= 0 {
		c.ForceCancel = 10 * time.Minute
	}
	c.ForceCancel += c.ForceCancel / 10
	if c.Unserved <= 0 {
		c.Unserved = 30 * time.Minute
	}
	if c.Poll <= 0 {
		c.Poll = 30 * time.Second
	}
	if c.Reap <= 0 {
		c.Reap = 2 * time.Second
	}
	s := &Service{
		Config:      c,
		handlers:    map[coder.ProvisionerJobType]Handler{},
		dispatchers: map[uuid.UUID]*dispatcher{},
		connected:   map[uuid.UUID]int{},
		places:      standing.New(),
		turns:       standing.NewTurns(),
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.spawn = func(f func(context.Context)) { s.work.Go(func() { f(ctx) }) }
	return s
}

// Register sets who gives jobs of a type their meaning. It is called before
// Start and before the first Acquire.
func (s *Service) Register(kind coder.ProvisionerJobType, h Handler) { s.handlers[kind] = h }

// Start begins to look for lost jobs and to keep daemons' heartbeats.
func (s *Service) Start(context.Context) error {
	if s.Registerer != nil {
		if err := s.Registerer.Register(newCollector(s)); err != nil {
			return fmt.Errorf("register the queue's metrics: %w", err)
		}
	}
	s.spawn(s.reap)
	s.spawn(s.heartbeat)
	return nil
}

// Stop ends what Start began. Whoever still waits in Acquire is sent away by
// its own context.
func (s *Service) Stop(ctx context.Context) error {
	s.stop()
	done := make(chan struct{})
	go func() { s.work.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Service) handler(kind coder.ProvisionerJobType) (Handler, error) {
	if h, ok := s.handlers[kind]; ok {
		return h, nil
	}
	return nil, coder.Errorf(coder.CodeInternal, "Nobody knows what jobs of type %q mean", kind)
}

// jobOf is a row as handlers see it.
func jobOf(r sqlc.ProvisionerJob, tags coder.Tags) Job {
	j := Job{
		ID: r.ID, OrganizationID: r.OrganizationID, InitiatorID: r.InitiatorID, FileID: r.FileID,
		Type: coder.ProvisionerJobType(r.Type), Provisioner: r.Provisioner, Tags: tags, Input: r.Input,
		CreatedAt: r.CreatedAt, Fence: r.Fence,
	}
	if r.TemplateID != nil {
		j.TemplateID = *r.TemplateID
	}
	if r.StartedAt != nil {
		j.StartedAt = *r.StartedAt
	}
	return j
}
