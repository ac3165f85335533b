package presence

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// metadataLimit is the maximum size of a metadata value or of its error, in bytes. (AG-15)
const metadataLimit = 2048

// MetadataValue is the value that an agent collected for a key.
type MetadataValue struct {
	Key, Value, Error string
	CollectedAt       time.Time
}

// PutMetadata stores values of an agent for the keys that its template declares; other keys are
// dropped. Of several values of a key the last is used. Users who watch through this server see the
// values at once; the database gets them later, see Sample.
func (s *Service) PutMetadata(ctx context.Context, a Agent, values []MetadataValue) error {
	now := s.now()
	last := map[string]MetadataValue{}
	for _, v := range values {
		if !slices.ContainsFunc(a.row.MetadataItems, func(m codersdk.WorkspaceAgentMetadataDescription) bool { return m.Key == v.Key }) {
			s.count.droppedKeys.Inc()
			continue
		}
		if v.CollectedAt.IsZero() || v.CollectedAt.After(now) {
			v.CollectedAt = now
		}
		v.Value, v.Error = truncate(v.Value, metadataLimit), truncate(v.Error, metadataLimit)
		last[v.Key] = v
	}
	if len(last) == 0 {
		return nil
	}
	if s.live.put(a.ID, slices.Collect(maps.Values(last)), now) {
		s.hub.PublishHere(notify.Metadata(a.ID))
		return nil
	}
	direct := make(map[valueKey]MetadataValue, len(last))
	for k, v := range last {
		direct[valueKey{a.ID, k}] = v
	}
	return s.writeDown(ctx, reasonDirect, direct)
}

// Sample writes the newest values of all connected agents to the database, for other servers and the
// next start of this server. A running Service calls it every thirty seconds. Values of agents that
// are watched through another server are written one second after they arrive.
func (s *Service) Sample(ctx context.Context) error { return s.sample(ctx, reasonScheduled) }

func (s *Service) sample(ctx context.Context, reason string) error {
	values := s.live.dirty(reason == reasonWatched, s.now())
	if err := s.writeDown(ctx, reason, values); err != nil {
		s.live.undo(values)
		return err
	}
	return nil
}

// writeDown writes values to the database and notifies other servers about watched values.
func (s *Service) writeDown(ctx context.Context, reason string, values map[valueKey]MetadataValue) error {
	if len(values) == 0 {
		return nil
	}
	defer s.count.ended(reason, time.Now())
	var p sqlc.AgentPutMetadataParams
	write := func() error {
		if len(p.Keys) == 0 {
			return nil
		}
		err := s.store.AgentPutMetadata(ctx, p)
		if err == nil {
			s.count.wrote(reason, len(p.Keys))
		}
		p = sqlc.AgentPutMetadataParams{}
		return err
	}
	agents := map[uuid.UUID]bool{}
	for k, v := range values {
		agents[k.agent] = true
		p.AgentIds = append(p.AgentIds, k.agent)
		p.Keys = append(p.Keys, k.key)
		p.Values = append(p.Values, v.Value)
		p.Errors = append(p.Errors, v.Error)
		p.CollectedAt = append(p.CollectedAt, v.CollectedAt)
		if len(p.Keys) == sampleBatch {
			if err := write(); err != nil {
				return err
			}
		}
	}
	if err := write(); err != nil {
		return err
	}
	now := s.now()
	var topics []string
	s.live.mu.Lock()
	for id := range agents {
		if _, here := s.live.agents[id]; !here || s.live.watched[id].After(now) {
			topics = append(topics, notify.Metadata(id))
		}
	}
	s.live.mu.Unlock()
	if len(topics) > 0 {
		s.hub.Publish(topics...)
	}
	return nil
}

// readWatches reads which agents are watched through other servers.
func (s *Service) readWatches(ctx context.Context) error {
	now := s.now()
	rows, err := s.store.AgentWatches(ctx, now)
	if err != nil {
		return err
	}
	s.live.mu.Lock()
	clear(s.live.watched)
	fresh := false
	for _, r := range rows {
		s.live.watched[r.AgentID] = r.Until
		fresh = fresh || s.live.agents[r.AgentID] != nil
	}
	s.live.mu.Unlock()
	if fresh {
		return s.sample(ctx, reasonWatched) // values from before the watch
	}
	return s.store.AgentForgetWatches(ctx, now.Add(-time.Hour))
}

// Metadata returns the metadata of an agent in the order of its template. Values that were not
// collected yet have a zero time. Through another server than the agent's, values are up to 30
// seconds old.
func (s *Service) Metadata(ctx context.Context, actor access.Subject, agentID uuid.UUID) ([]codersdk.WorkspaceAgentMetadata, error) {
	a, err := s.AgentForUser(ctx, actor, agentID, codersdk.RBACActionRead)
	if err != nil {
		return nil, err
	}
	values, err := s.values(ctx, a)
	return s.metadata(a, values), err
}

// values returns the newest known values of an agent.
func (s *Service) values(ctx context.Context, a Agent) (map[string]MetadataValue, error) {
	live, _ := s.live.get(a.ID)
	if len(live) == len(a.row.MetadataItems) {
		return live, nil
	}
	rows, err := s.store.AgentMetadata(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	values := make(map[string]MetadataValue, len(rows))
	for _, r := range rows {
		values[r.Key] = MetadataValue{Key: r.Key, Value: r.Value, Error: r.Error, CollectedAt: r.CollectedAt}
	}
	maps.Copy(values, live)
	return values, nil
}

func (s *Service) metadata(a Agent, values map[string]MetadataValue) []codersdk.WorkspaceAgentMetadata {
	now := s.now()
	out := make([]codersdk.WorkspaceAgentMetadata, 0, len(a.row.MetadataItems))
	for _, d := range a.row.MetadataItems {
		m := codersdk.WorkspaceAgentMetadata{Description: d}
		if v, ok := values[d.Key]; ok {
			m.Result = codersdk.WorkspaceAgentMetadataResult{
				CollectedAt: v.CollectedAt, Value: v.Value, Error: v.Error,
				Age: int64(max(0, now.Sub(v.CollectedAt)) / time.Second),
			}
		}
		out = append(out, m)
	}
	return out
}

// watchPoll is the interval between checks of a watch without a hint: whether the user still has
// access, and for lost hints.
const watchPoll = 15 * time.Second

// WatchMetadata calls each with all metadata of an agent, now and after each change, until each fails
// or ctx ends. Through another server than the agent's, a change arrives about one second later.
func (s *Service) WatchMetadata(ctx context.Context, actor access.Subject, agentID uuid.UUID, each func([]codersdk.WorkspaceAgentMetadata) error) error {
	hint, cancel := s.hub.Subscribe(notify.Metadata(agentID))
	defer cancel()
	poll := time.NewTicker(watchPoll)
	defer poll.Stop()
	a, err := s.AgentForUser(ctx, actor, agentID, codersdk.RBACActionRead)
	if err != nil {
		return err
	}
	if err := s.watch(ctx, a); err != nil {
		return err
	}
	var before map[string]MetadataValue
	for first := true; ; first = false {
		values, err := s.values(ctx, a)
		if err != nil {
			return err
		}
		if first || !maps.Equal(before, values) {
			if err := each(s.metadata(a, values)); err != nil {
				return err
			}
		}
		before = values
		select {
		case <-hint:
		case <-poll.C:
			if a, err = s.AgentForUser(ctx, actor, agentID, codersdk.RBACActionRead); err != nil {
				return err
			}
			if err := s.watch(ctx, a); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watch informs the server of an agent, if it is another one, that the agent is watched for some time.
func (s *Service) watch(ctx context.Context, a Agent) error {
	if _, here := s.live.get(a.ID); here || a.ReplicaID == nil {
		return nil
	}
	if err := s.store.AgentWatch(ctx, a.ID, s.now().Add(2*watchPoll)); err != nil {
		return err
	}
	s.hub.Publish(notify.Watches())
	return nil
}
