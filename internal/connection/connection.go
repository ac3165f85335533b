// Package connection keeps the connection log: user, workspace, type, address and duration of each
// connection. All connections pass the servers, so the log does not depend on reports from workspaces.
//
// Recording does not delay a connection: entries go to a bounded queue in memory, which is written in
// batches about once a second. A server that crashes loses its queue; other servers close the open
// entries that it had written. Requests of one user to an app are one entry an hour, not one each.
package connection

import (
	"context"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Config configures a Service.
type Config struct {
	Store     *postgres.Store
	Log       *slog.Logger     // nil: no log
	Now       func() time.Time // nil: time.Now
	ReplicaID uuid.UUID        // this server
	Retention time.Duration    // retention of the log; 0 keeps it forever
	Changed   func()           // called after entries were written; nil for none
}

// Limits of the queue, and intervals.
const (
	maxQueued  = 20_000
	maxVisits  = 20_000
	visitLasts = time.Hour
	flushEvery = time.Second
	// silence is the age of a server's last heartbeat after which its entries are closed.
	silence = time.Minute
	// maxUserAgent is the maximum length of a user agent.
	maxUserAgent = 512
)

// Connection is a new connection.
type Connection struct {
	Type    codersdk.ConnectionType
	AgentID uuid.UUID
	UserID  uuid.UUID // Nil if the user is not signed in
	Origin  access.Origin
	// App is the slug of an app or a port, and Status the HTTP status of its response.
	App    string
	Status int
}

// Service keeps the connection log. It is safe for concurrent use.
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

// New returns a Service; Start starts its writes.
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

// Open records the start of a connection. The caller calls the returned function with the reason when
// the connection ends. Open does not block; entries are dropped if the queue is full.
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
			s.closed = append(s.closed, end{e.id, s.now(), reason}) // as many entries as were opened
		})
	}
}

// Visit records a request to an app or a port, unless the same user sent one from the same address
// within the hour.
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

// forget drops expired app requests and, if there are none, some others. The caller holds mu.
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
	lifecycle.Every(ctx, flushEvery, s.flush)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	s.flush(last)
}

// flush writes the queue; entries stay queued if that fails.
func (s *Service) flush(ctx context.Context) {
	if err := s.Flush(ctx); err != nil && ctx.Err() == nil {
		s.c.Log.WarnContext(ctx, "cannot write the connection log; retrying", "error", err)
	}
}

// Flush writes the queue in one transaction.
func (s *Service) Flush(ctx context.Context) error {
	s.mu.Lock()
	opened, closed, dropped := s.opened, s.closed, s.dropped
	s.opened, s.closed, s.dropped = nil, nil, 0
	s.mu.Unlock()
	if dropped > 0 {
		s.c.Log.WarnContext(ctx, "too many connections at once; some are missing in the connection log", "connections", dropped)
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
		p.UserID, p.UserAgent = append(p.UserID, e.UserID), append(p.UserAgent, sanitizeText(e.Origin.UserAgent))
		p.SlugOrPort, p.StatusCode = append(p.SlugOrPort, sanitizeText(e.App)), append(p.StatusCode, int32(e.Status))
	}
	return p
}

// sanitizeText returns a client's text in a form that the database accepts.
func sanitizeText(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text[:min(len(text), maxUserAgent)], "\x00", ""), "")
}

// Purge closes entries that lost servers left open and deletes entries that are older than the
// retention. It returns the number of deleted entries.
func (s *Service) Purge(ctx context.Context) (int64, error) {
	_, err := s.c.Store.ConnectionsLost(ctx, s.now(), s.c.ReplicaID, s.now().Add(-silence))
	if err != nil || s.c.Retention <= 0 {
		return 0, err
	}
	before := s.now().Add(-s.c.Retention)
	return postgres.InBatches(ctx, func() (int64, error) { return s.c.Store.ConnectionsPurge(ctx, before) })
}
