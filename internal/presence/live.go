package presence

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
)

// Intervals of writes to the database.
const (
	// beatEvery is the interval of heartbeats in the database. It must be less than half of
	// codersdk.AgentInactiveTimeout.
	beatEvery = 10 * time.Second
	// sampleEvery is the interval of writes of metadata values, and the maximum age of the
	// values that other servers show first.
	sampleEvery = 30 * time.Second
	// soonAfter is the same for agents that are watched through another server.
	soonAfter = time.Second
	// sweepEvery is the interval of checks for silent agents.
	sweepEvery = 3 * time.Second
	// sampleBatch is the number of values that one statement writes.
	sampleBatch = 1000
)

// live holds the state of the agents that are connected to this server. The database gets it in
// batches: heartbeats every ten seconds, metadata every thirty, usage with the heartbeat.
type live struct {
	mu      sync.Mutex
	agents  map[uuid.UUID]*liveAgent
	left    map[valueKey]MetadataValue // unwritten values of disconnected agents
	used    map[uuid.UUID]time.Time    // workspaces in use
	uses    map[uuid.UUID]*use         // unwritten usage of agents
	watched map[uuid.UUID]time.Time    // agents that are watched through other servers, and until when
	soon    chan struct{}              // signals a value of a watched agent
}

// liveAgent is an agent that is connected to this server.
type liveAgent struct {
	connections map[uuid.UUID]error // why a connection is no longer valid; nil for valid connections
	values      map[string]liveValue
	reported    reported
	roundTrip   time.Duration // round trip time to the agent; 0 if not measured
	// Scripts that ran since the agent connected.
	scriptsOK, scriptsFailed int64
}

// liveValue is the newest value of a key; dirty until it is written.
type liveValue struct {
	MetadataValue
	dirty bool
}

type valueKey struct {
	agent uuid.UUID
	key   string
}

func newLive() *live {
	return &live{
		agents: map[uuid.UUID]*liveAgent{}, left: map[valueKey]MetadataValue{}, used: map[uuid.UUID]time.Time{},
		uses:    map[uuid.UUID]*use{},
		watched: map[uuid.UUID]time.Time{}, soon: make(chan struct{}, 1),
	}
}

// join adds a connection and returns all connections of the agent on this server.
func (l *live) join(c Connection) []uuid.UUID {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.agents[c.Agent.ID]
	if a == nil {
		a = &liveAgent{connections: map[uuid.UUID]error{}}
		l.agents[c.Agent.ID] = a
	}
	a.connections[c.ID] = nil
	return slices.Collect(maps.Keys(a.connections))
}

// leave removes a connection. Unwritten values of the agent are kept for the next sample.
func (l *live) leave(c Connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.agents[c.Agent.ID]
	if a == nil {
		return
	}
	delete(a.connections, c.ID)
	if len(a.connections) > 0 {
		return
	}
	delete(l.agents, c.Agent.ID)
	for k, v := range a.values {
		if v.dirty {
			l.left[valueKey{c.Agent.ID, k}] = v.MetadataValue
		}
	}
}

// verdict returns why a connection is not valid, or nil. A connection without Hello is not valid.
func (l *live) verdict(c Connection) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.agents[c.Agent.ID]; a != nil {
		if verdict, ok := a.connections[c.ID]; ok {
			return verdict
		}
	}
	return tookOver()
}

func tookOver() error { return codersdk.Errorf(codersdk.CodeConflict, agentrpc.TookOver) }

// put stores values of an agent that is connected to this server.
func (l *live) put(agent uuid.UUID, values []MetadataValue, now time.Time) (here bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.agents[agent]
	if a == nil {
		return false
	}
	if a.values == nil {
		a.values = make(map[string]liveValue, len(values))
	}
	for _, v := range values {
		a.values[v.Key] = liveValue{v, true}
	}
	if l.watched[agent].After(now) {
		select {
		case l.soon <- struct{}{}:
		default:
		}
	}
	return true
}

// get returns the newest values of an agent, and whether it is connected to this server.
func (l *live) get(agent uuid.UUID) (values map[string]MetadataValue, here bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.agents[agent]
	if a == nil {
		return nil, false
	}
	values = make(map[string]MetadataValue, len(a.values))
	for k, v := range a.values {
		values[k] = v.MetadataValue
	}
	return values, true
}

// dirty returns the unwritten values and marks them as written: of all agents, or of those that
// are watched through other servers.
func (l *live) dirty(onlyWatched bool, now time.Time) map[valueKey]MetadataValue {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.left
	l.left = map[valueKey]MetadataValue{}
	take := func(id uuid.UUID, a *liveAgent) {
		for k, v := range a.values {
			if v.dirty {
				out[valueKey{id, k}] = v.MetadataValue
				v.dirty = false
				a.values[k] = v
			}
		}
	}
	if !onlyWatched {
		for id, a := range l.agents {
			take(id, a)
		}
		return out
	}
	for id, until := range l.watched {
		if a := l.agents[id]; a != nil && until.After(now) {
			take(id, a)
		}
	}
	return out
}

// undo marks values as unwritten after a failed write.
func (l *live) undo(values map[valueKey]MetadataValue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, v := range values {
		a := l.agents[k.agent]
		if a == nil {
			l.left[k] = v
		} else if a.values[k.key].MetadataValue == v {
			a.values[k.key] = liveValue{v, true}
		}
	}
}

func (l *live) touch(workspace uuid.UUID, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used[workspace] = now
}

// Beat writes the heartbeats of the connected agents, detects connections that are no longer valid,
// and records the use of workspaces, which extends their deadlines. A running Service calls it every
// ten seconds.
func (s *Service) Beat(ctx context.Context) error {
	s.live.mu.Lock()
	ids, connections := make([]uuid.UUID, 0, len(s.live.agents)), make([]uuid.UUID, 0, len(s.live.agents))
	for id, a := range s.live.agents {
		for c, ended := range a.connections {
			if ended == nil {
				ids, connections = append(ids, id), append(connections, c)
			}
		}
	}
	used := s.live.used
	s.live.used = map[uuid.UUID]time.Time{}
	s.live.mu.Unlock()
	if err := s.beat(ctx, ids, connections); err != nil {
		return err
	}
	if len(used) == 0 {
		return nil
	}
	var workspaces []uuid.UUID
	var at []time.Time
	for w, t := range used {
		workspaces, at = append(workspaces, w), append(at, t)
	}
	return s.store.ScheduleUse(ctx, workspaces, at)
}

// beat is Beat for some connections.
func (s *Service) beat(ctx context.Context, ids, connections []uuid.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	rows, err := s.store.AgentsBeat(ctx, ids, connections, s.now())
	if err != nil {
		return err
	}
	verdicts := make(map[uuid.UUID]error, len(rows))
	for _, r := range rows {
		verdicts[r.ConnectionID] = nil
		if !r.Current {
			verdicts[r.ConnectionID] = superseded()
		}
	}
	s.live.mu.Lock()
	defer s.live.mu.Unlock()
	for i, c := range connections {
		verdict, counts := verdicts[c]
		if !counts {
			verdict = tookOver()
		}
		if a := s.live.agents[ids[i]]; a != nil && verdict != nil {
			if _, there := a.connections[c]; there {
				a.connections[c] = verdict
			}
		}
	}
	return nil
}

// run runs the periodic work.
func (s *Service) run(ctx context.Context) {
	watches, done := s.hub.Subscribe(notify.Watches())
	defer done()
	beat, sample, sweep := time.NewTicker(beatEvery), time.NewTicker(sampleEvery), time.NewTicker(sweepEvery)
	defer beat.Stop()
	defer sample.Stop()
	defer sweep.Stop()
	var soon, observe <-chan time.Time
	if len(s.observed.told) > 0 {
		t := time.NewTicker(s.observed.every)
		defer t.Stop()
		observe = t.C
		if err := s.Observe(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "cannot read the agents for the metrics; retrying", "error", err)
		}
	}
	since := s.now()
	for {
		var what string
		var err error
		select {
		case <-ctx.Done():
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			if err := errors.Join(s.sample(end, reasonShutdown), s.FlushUsage(end)); err != nil {
				s.log.Warn("cannot write the last metadata and usage of agents", "error", err)
			}
			return
		case <-beat.C:
			what, err = "write the heartbeats of agents", s.Beat(ctx)
		case <-sample.C:
			what, err = "write the metadata and usage of agents", errors.Join(s.Sample(ctx), s.FlushUsage(ctx))
		case <-sweep.C:
			now := s.now()
			if what, err = "check for silent agents", s.Sweep(ctx, since, now); err == nil {
				since = now
			}
		case <-watches:
			what, err = "read which agents are watched", s.readWatches(ctx)
		case <-observe:
			what, err = "read the agents for the metrics", s.Observe(ctx)
		case <-s.live.soon:
			if soon == nil {
				soon = time.After(soonAfter)
			}
		case <-soon:
			soon = nil
			what, err = "write the metadata of watched agents", s.sample(ctx, reasonWatched)
		}
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "cannot "+what+"; retrying", "error", err)
		}
	}
}
