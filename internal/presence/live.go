package presence

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
)

// How often what this server knows of its agents goes to the database.
const (
	// beatEvery is how often agents that are connected are marked as alive:
	// twice within coder.AgentInactiveTimeout, and once to spare.
	beatEvery = 10 * time.Second
	// sampleEvery is how often values of metadata are written down, and how old
	// those may be that another server shows first.
	sampleEvery = 30 * time.Second
	// soonAfter is the same for agents that are watched from another server.
	soonAfter = time.Second
	// sweepEvery is how often silent agents are looked for.
	sweepEvery = 3 * time.Second
	// sampleBatch is how many values one statement writes.
	sampleBatch = 1000
)

// live is what this server knows at first hand of the agents that are
// connected to it. The database has it late and in batches: who is alive every
// ten seconds, metadata every thirty, use with the beat.
type live struct {
	mu      sync.Mutex
	agents  map[uuid.UUID]*liveAgent
	left    map[valueKey]MetadataValue // of agents that are gone, to be written down
	used    map[uuid.UUID]time.Time    // workspaces that somebody works in
	uses    map[uuid.UUID]*use         // of agents, to be written down
	watched map[uuid.UUID]time.Time    // agents that are watched from elsewhere, until when
	soon    chan struct{}              // a value of one of those came
}

// liveAgent is an agent that is connected here.
type liveAgent struct {
	connections map[uuid.UUID]error // why one counts no more, nil for one that does
	values      map[string]liveValue
	reported    reported
	roundTrip   time.Duration // to it, 0: not measured
	// Scripts that ran since it connected.
	scriptsOK, scriptsFailed int64
}

// liveValue is the newest value under a key; dirty when it is not written down.
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

// join adds a connection and gives all that the agent has here.
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

// leave removes a connection. What the agent said and is not written down yet
// waits for the next sample.
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

// verdict gives why a connection does not count, if so: one that never said
// hello does not either.
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

func tookOver() error { return coder.Errorf(coder.CodeConflict, agentrpc.TookOver) }

// put keeps values of an agent that is connected here.
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

// get gives the newest values of an agent, and whether it is connected here.
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

// dirty takes the values that are to be written down, of all agents or only of
// those that are watched from elsewhere.
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

// undo makes values dirty again that could not be written down.
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

// Beat marks the agents that are connected to this server as alive, finds out
// which connections count no more, and notes which workspaces are in use, which
// puts off their stops. A running Service does it every ten seconds.
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

// beat does so for some connections.
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

// run does by itself what no agent asks for.
func (s *Service) run(ctx context.Context) {
	watches, done := s.hub.Subscribe(notify.Watches())
	defer done()
	beat, sample, sweep := time.NewTicker(beatEvery), time.NewTicker(sampleEvery), time.NewTicker(sweepEvery)
	defer beat.Stop()
	defer sample.Stop()
	defer sweep.Stop()
	var soon, observe <-chan time.Time
	if len(s.observed.told) > 0 {
		t := time.NewTicker(observeEvery)
		defer t.Stop()
		observe = t.C
		if err := s.Observe(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "could not read the agents for the metrics; trying again soon", "error", err)
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
				s.log.Warn("the last metadata and use of agents could not be written down", "error", err)
			}
			return
		case <-beat.C:
			what, err = "mark agents as alive", s.Beat(ctx)
		case <-sample.C:
			what, err = "write metadata and use of agents down", errors.Join(s.Sample(ctx), s.FlushUsage(ctx))
		case <-sweep.C:
			now := s.now()
			if what, err = "look for silent agents", s.Sweep(ctx, since, now); err == nil {
				since = now
			}
		case <-watches:
			what, err = "see which agents are watched", s.readWatches(ctx)
		case <-observe:
			what, err = "read the agents for the metrics", s.Observe(ctx)
		case <-s.live.soon:
			if soon == nil {
				soon = time.After(soonAfter)
			}
		case <-soon:
			soon = nil
			what, err = "write metadata of watched agents down", s.sample(ctx, reasonWatched)
		}
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "could not "+what+"; trying again soon", "error", err)
		}
	}
}
