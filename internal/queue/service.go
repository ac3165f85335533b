package queue

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue/position"
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
)

// Leases: how long a job stays assigned to a silent provisioner.
const (
	// DefaultLease applies to daemons that support leases and update every second. With
	// Config.Reap it determines how soon a dead daemon is detected.
	DefaultLease = 12 * time.Second
	// UpstreamLease applies to daemons without leases, which update every five seconds.
	UpstreamLease = 30 * time.Second
)

// Config configures a Service.
type Config struct {
	Store *postgres.Store
	Hub   *notify.Hub
	Log   *slog.Logger
	// Lease applies to daemons that support leases; 0 means DefaultLease.
	Lease time.Duration
	// ForceCancel is the time that a provisioner has to end a canceled job. A tenth later
	// the server fails the job; 0 means 10 minutes. (PRV-18)
	ForceCancel time.Duration
	// Unserved is how long a job waits without any connected provisioner that can run it
	// before it fails; 0 means 30 minutes. (PRV-32)
	Unserved time.Duration
	// Poll is the interval of polls for jobs without a notification; 0 means 30 s.
	// (PRV-31)
	Poll time.Duration
	// Reap is the interval of checks for lost jobs; 0 means 2 s.
	Reap time.Duration
	// Registerer registers the queue's metrics; can be nil.
	Registerer prometheus.Registerer
	// Version is the server's version, which is compared with those of provisioners.
	Version string
	// Tracer records how long jobs wait; nil records nothing.
	Tracer *tracing.Tracer
	// Now is the clock of the database; nil means time.Now.
	Now func() time.Time
}

// Service is the queue of one server. It is safe for concurrent use. Every replica runs one
// over the same database.
type Service struct {
	Config
	handlers map[codersdk.ProvisionerJobType]Handler
	ahead    Handler // nil without plans ahead

	mu          sync.Mutex
	dispatchers map[uuid.UUID]*dispatcher
	connected   map[uuid.UUID]int // daemon rows -> connections to this server
	logBatches  logBatches
	served      []uuid.UUID // initiators in the order of their last claimed job, the latest at the end
	places      *position.Board
	turns       *position.Turns

	spawn func(func(context.Context)) // starts a goroutine that ends with Stop
	stop  context.CancelFunc
	work  sync.WaitGroup
}

// New returns a Service. It starts nothing.
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
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Service{
		Config:      c,
		handlers:    map[codersdk.ProvisionerJobType]Handler{},
		dispatchers: map[uuid.UUID]*dispatcher{},
		connected:   map[uuid.UUID]int{},
		places:      position.New(),
		turns:       position.NewTurns(),
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.spawn = func(f func(context.Context)) { s.work.Go(func() { f(ctx) }) }
	return s
}

// Register sets the handler of jobs of a type. It must be called before Start and before
// the first Acquire.
func (s *Service) Register(kind codersdk.ProvisionerJobType, h Handler) { s.handlers[kind] = h }

// Start starts the reaper and the heartbeats of daemons.
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

// Stop stops what Start started. Callers of Acquire end with their own contexts.
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

func (s *Service) handler(j Job) (Handler, error) {
	if j.Priority == ClassAhead && s.ahead != nil {
		return s.ahead, nil
	}
	if h, ok := s.handlers[j.Type]; ok {
		return h, nil
	}
	return nil, codersdk.Errorf(codersdk.CodeInternal, "No handler for jobs of type %q", j.Type)
}

// jobOf returns the Job of a row.
func jobOf(r sqlc.ProvisionerJob, tags codersdk.Tags) Job {
	j := Job{
		ID: r.ID, OrganizationID: r.OrganizationID, InitiatorID: r.InitiatorID, FileID: r.FileID,
		Type: codersdk.ProvisionerJobType(r.Type), Provisioner: r.Provisioner, Tags: tags, Input: r.Input,
		CreatedAt: r.CreatedAt, Fence: r.Fence, Trace: r.Trace, Priority: r.Priority,
	}
	if r.TemplateID != nil {
		j.TemplateID = *r.TemplateID
	}
	if r.StartedAt != nil {
		j.StartedAt = *r.StartedAt
	}
	return j
}
