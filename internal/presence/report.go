package presence

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// metadataLimit is how many bytes of a metadata value, or of its error, are kept. (AG-15)
const metadataLimit = 2048

// MetadataValue is what an agent collected under one key.
type MetadataValue struct {
	Key, Value, Error string
	CollectedAt       time.Time
}

// PutMetadata keeps values of an agent, of the keys its template declares;
// others are dropped. Of several values of one key the last counts.
func (s *Service) PutMetadata(ctx context.Context, a Agent, values []MetadataValue) error {
	known := map[string]bool{}
	for _, m := range a.row.MetadataItems {
		known[m.Key] = true
	}
	last := map[string]MetadataValue{}
	for _, v := range values {
		if known[v.Key] {
			last[v.Key] = v
		}
	}
	if len(last) == 0 {
		return nil
	}
	now := s.now()
	p := sqlc.AgentPutMetadataParams{AgentID: a.ID}
	for _, k := range slices.Sorted(maps.Keys(last)) {
		v := last[k]
		if v.CollectedAt.IsZero() || v.CollectedAt.After(now) {
			v.CollectedAt = now
		}
		p.Keys = append(p.Keys, k)
		p.Values = append(p.Values, clip(v.Value, metadataLimit))
		p.Errors = append(p.Errors, clip(v.Error, metadataLimit))
		p.CollectedAt = append(p.CollectedAt, v.CollectedAt)
	}
	if err := s.store.AgentPutMetadata(ctx, p); err != nil {
		return err
	}
	s.hub.Publish(notify.Agent(a.ID))
	return nil
}

// Metadata gives what an agent collects, in the order of its template; items
// not collected yet have a zero time.
func (s *Service) Metadata(ctx context.Context, actor access.Subject, agentID uuid.UUID) ([]coder.WorkspaceAgentMetadata, error) {
	a, err := s.AgentForUser(ctx, actor, agentID, coder.RBACActionRead)
	if err != nil {
		return nil, err
	}
	rows, err := s.store.AgentMetadata(ctx, agentID)
	if err != nil {
		return nil, err
	}
	values := make(map[string]sqlc.AgentMetadataRow, len(rows))
	for _, r := range rows {
		values[r.Key] = r
	}
	now := s.now()
	out := make([]coder.WorkspaceAgentMetadata, 0, len(a.row.MetadataItems))
	for _, d := range a.row.MetadataItems {
		m := coder.WorkspaceAgentMetadata{Description: d}
		if v, ok := values[d.Key]; ok {
			m.Result = coder.WorkspaceAgentMetadataResult{
				CollectedAt: v.CollectedAt, Value: v.Value, Error: v.Error,
				Age: int64(max(0, now.Sub(v.CollectedAt)) / time.Second),
			}
		}
		out = append(out, m)
	}
	return out, nil
}

// WatchMetadata calls each with all metadata of an agent, now and at each
// change, until each fails or ctx ends.
func (s *Service) WatchMetadata(ctx context.Context, actor access.Subject, agentID uuid.UUID, each func([]coder.WorkspaceAgentMetadata) error) error {
	hint, cancel := s.hub.Subscribe(notify.Agent(agentID))
	defer cancel()
	poll := time.NewTicker(15 * time.Second)
	defer poll.Stop()
	var before []coder.WorkspaceAgentMetadata
	for first := true; ; first = false {
		all, err := s.Metadata(ctx, actor, agentID)
		if err != nil {
			return err
		}
		same := slices.EqualFunc(before, all, func(x, y coder.WorkspaceAgentMetadata) bool {
			return x.Result.CollectedAt.Equal(y.Result.CollectedAt) && x.Result.Value == y.Result.Value && x.Result.Error == y.Result.Error
		})
		if first || !same {
			if err := each(all); err != nil {
				return err
			}
		}
		before = all
		select {
		case <-hint:
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// SetAppHealth takes what an agent found of its apps' health; apps of others,
// and apps without a check, are passed over.
func (s *Service) SetAppHealth(ctx context.Context, a Agent, health map[uuid.UUID]coder.WorkspaceAppHealth) error {
	changed := int64(0)
	for id, h := range health {
		switch h {
		case coder.WorkspaceAppHealthHealthy, coder.WorkspaceAppHealthUnhealthy, coder.WorkspaceAppHealthInitializing:
		default:
			return coder.Invalid("health", "%q is not a health that an agent reports", h)
		}
		n, err := s.store.AgentSetAppHealth(ctx, string(h), a.ID, id)
		if err != nil {
			return err
		}
		changed += n
	}
	if changed > 0 {
		s.changed(a)
	}
	return nil
}

// ScriptTiming is one run of a script.
type ScriptTiming struct {
	ScriptID           uuid.UUID
	StartedAt, EndedAt time.Time
	ExitCode           int32
	Stage              string // start, stop or cron
	Status             string // ok, exit_failure, timed_out or pipes_left_open
}

// AddScriptTiming keeps how long a script of the agent ran.
func (s *Service) AddScriptTiming(ctx context.Context, a Agent, t ScriptTiming) error {
	if !slices.ContainsFunc(a.row.Scripts, func(sc coder.WorkspaceAgentScript) bool { return sc.ID == t.ScriptID }) {
		return coder.Invalid("script_id", "this agent has no script %s", t.ScriptID)
	}
	if t.EndedAt.Before(t.StartedAt) {
		t.EndedAt = t.StartedAt
	}
	err := s.store.AgentAddScriptTiming(ctx, sqlc.AgentAddScriptTimingParams{
		AgentID: a.ID, ScriptID: t.ScriptID, StartedAt: t.StartedAt, EndedAt: t.EndedAt, ExitCode: t.ExitCode, Stage: t.Stage, Status: t.Status,
	})
	if err == nil {
		s.changed(a)
	}
	return err
}

// Stats is how much an agent's sessions are in use.
type Stats struct {
	Sessions int64 // SSH, editors and terminals together
}

// PutStats takes a report of use: open sessions keep the workspace in use. It
// gives when the next report is wanted.
func (s *Service) PutStats(ctx context.Context, a Agent, st Stats) (time.Duration, error) {
	if st.Sessions > 0 {
		if err := s.store.AgentTouchWorkspace(ctx, s.now(), a.WorkspaceID); err != nil {
			return 0, err
		}
	}
	return statsInterval, nil
}

const statsInterval = 30 * time.Second

// GitSSHKey gives the key pair with which an agent reaches git servers in its
// owner's name. (AU-18)
func (s *Service) GitSSHKey(ctx context.Context, a Agent) (public, private string, err error) {
	row, err := s.store.AgentGitSSHKey(ctx, a.OwnerID)
	if err != nil {
		return "", "", err
	}
	if row.SshPrivateKey == "" {
		return "", "", coder.NotFound()
	}
	return row.SshPublicKey, row.SshPrivateKey, nil
}
