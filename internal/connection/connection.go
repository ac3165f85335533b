// Package connection keeps the record of who was connected to which workspace,
// by which way, from where and how long. The servers see every connection, as
// all come through them, so the record does not depend on workspaces telling.
//
// Noting costs the way into a workspace nothing: it is a place in a bounded
// queue in memory, which is written down in batches, about once a second. What
// a server held in memory when it died is lost; the connections that it had
// written down are ended by others. Visits to an app by one person are one
// entry an hour, not one a request.
package connection

import (
	"context"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Config is what a Service works with.
type Config struct {
	Store     *postgres.Store
	Log       *slog.Logger     // nil: nothing is logged
	Now       func() time.Time // nil: time.Now
	ReplicaID uuid.UUID        // this server
	Retention time.Duration    // how long the record is kept; 0: for ever
	Changed   func()           // called when something was written down; nil: nobody wants to know
}

// Bounds of what is in memory, and times.
const (
	maxQueued  = 20_000
	maxVisits  = 20_000
	visitLasts = time.Hour
	flushEvery = time.Second
	// silence is how long a server may say nothing and still be one.
	silence = time.Minute
	// maxUserAgent bounds what a client says of itself.
	maxUserAgent = 512
)

// Connection is one that begins.
type Connection struct {
	Type    coder.ConnectionType
	AgentID uuid.UUID
	UserID  uuid.UUID // Nil: nobody who is logged in
	Origin  access.Origin
	// App is the slug of an app or a port, and Status the status of its answer.
	App    string
	Status int
}

// Service keeps the record. It is safe for concurrent use.
type Service struct {
	lifecycle.Loop
	c Config

	mu      sync.Mutex
	opened  []entry
	closed  []end
	visits  map[visit]time.Time
	dropped int
}

type entry struct {
	id    uuid.UUID
	at    time.Time
	lasts bool
	Connection
}

type end struct {
	id     uuid.UUID
	at     time.Time
	reason string
}

type visit struct {
	user, agent uuid.UUID
	app         string
	ip          netip.Addr
}

// New makes the service; Start has it write.
func New(c Config) *Service {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Service{c: c, visits: map[visit]time.Time{}}
	s.Run = s.run
	return s
}

func (s *Service) now() time.Time { return s.c.Now().UTC().Truncate(time.Microsecond) }

// Open notes that a connection began. Call what it gives, with the reason, when
// it ends. It blocks nobody; where too many are noted at once, some are not.
func (s *Service) Open(c Connection) (over func(reason string)) {
	e := entry{id: uuid.New(), at: s.now(), lasts: true, Connection: c}
	if !s.note(e) {
		return func(string) {}
	}
	var once sync.Once
	return func(reason string) {
		once.Do(func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.closed = append(s.closed, end{e.id, s.now(), reason}) // as many as were opened
		})
	}
}

// Visit notes a request to an app or a port, unless the same person made one to
// it from the same address within the hour.
func (s *Service) Visit(c Connection) {
	now := s.now()
	v := visit{c.UserID, c.AgentID, c.App, c.Origin.IP}
	s.mu.Lock()
	last, known := s.visits[v]
	if known && now.Sub(last) < visitLasts {
		s.mu.Unlock()
		return
	}
	if len(s.visits) >= maxVisits {
		s.forget(now)
	}
	s.visits[v] = now
	s.mu.Unlock()
	s.note(entry{id: uuid.New(), at: now, Connection: c})
}

// forget drops visits that are over, and if none are, some. The caller holds mu.
func (s *Service) forget(now time.Time) {
	for v, at := range s.visits {
		if now.Sub(at) >= visitLasts {
			delete(s.visits, v)
		}
	}
	for v := range s.visits {
		if len(s.visits) < maxVisits*3/4 {
			return
		}
		delete(s.visits, v)
	}
}

func (s *Service) note(e entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.opened) >= maxQueued {
		s.dropped++
		return false
	}
	s.opened = append(s.opened, e)
	return true
}

func (s *Service) run(ctx context.Context) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			s.flush(last)
			return
		case <-tick.C:
			s.flush(ctx)
		}
	}
}

// flush writes down what is noted; what cannot be written waits.
func (s *Service) flush(ctx context.Context) {
	if err := s.Flush(ctx); err != nil && ctx.Err() == nil {
		s.c.Log.WarnContext(ctx, "the connection log cannot be written; trying again", "error", err)
	}
}

// Flush writes down, in one transaction, what was noted.
func (s *Service) Flush(ctx context.Context) error {
	s.mu.Lock()
	opened, closed, dropped := s.opened, s.closed, s.dropped
	s.opened, s.closed, s.dropped = nil, nil, 0
	s.mu.Unlock()
	if dropped > 0 {
		s.c.Log.WarnContext(ctx, "too many connections at once; some are not in the log", "connections", dropped)
	}
	if len(opened)+len(closed) == 0 {
		return nil
	}
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if len(opened) > 0 {
			if err := q.ConnectionsOpened(ctx, s.rows(opened)); err != nil {
				return err
			}
		}
		if len(closed) == 0 {
			return nil
		}
		var ids []uuid.UUID
		var times []time.Time
		var reasons []string
		for _, e := range closed {
			ids, times, reasons = append(ids, e.id), append(times, e.at), append(reasons, e.reason)
		}
		return q.ConnectionsClosed(ctx, ids, times, reasons)
	})
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.opened, s.closed = append(opened, s.opened...), append(closed, s.closed...)
		s.opened = s.opened[:min(len(s.opened), maxQueued)]
		return err
	}
	if s.c.Changed != nil {
		s.c.Changed()
	}
	return nil
}

func (s *Service) rows(opened []entry) sqlc.ConnectionsOpenedParams {
	p := sqlc.ConnectionsOpenedParams{ReplicaID: s.c.ReplicaID}
	for _, e := range opened {
		ip := ""
		if e.Origin.IP.IsValid() {
			ip = e.Origin.IP.String()
		}
		p.ID, p.ConnectTime, p.Lasts = append(p.ID, e.id), append(p.ConnectTime, e.at), append(p.Lasts, e.lasts)
		p.Type, p.AgentID, p.IP = append(p.Type, string(e.Type)), append(p.AgentID, e.AgentID), append(p.IP, ip)
		p.UserID, p.UserAgent = append(p.UserID, e.UserID), append(p.UserAgent, clip(e.Origin.UserAgent))
		p.SlugOrPort, p.StatusCode = append(p.SlugOrPort, clip(e.App)), append(p.StatusCode, int32(e.Status))
	}
	return p
}

// clip makes of what a client sent a text that the database takes.
func clip(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text[:min(len(text), maxUserAgent)], "\x00", ""), "")
}

// Purge ends what servers left open that are no more, and deletes what is older
// than the retention. It tells how many it deleted.
func (s *Service) Purge(ctx context.Context) (int64, error) {
	_, err := s.c.Store.ConnectionsLost(ctx, s.now(), s.c.ReplicaID, s.now().Add(-silence))
	if err != nil || s.c.Retention <= 0 {
		return 0, err
	}
	var total int64
	for {
		n, err := s.c.Store.ConnectionsPurge(ctx, s.now().Add(-s.c.Retention))
		total += n
		if err != nil || n == 0 {
			return total, err
		}
	}
}
