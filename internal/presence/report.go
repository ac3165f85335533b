package presence

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

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
		s.live.ran(a, t.Status != "exit_failure" && t.Status != "timed_out")
		s.changed(a)
	}
	return err
}

// ran counts a script for the metrics.
func (l *live) ran(a Agent, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	agent := l.agents[a.ID]
	switch {
	case agent == nil:
	case ok:
		agent.scriptsOK++
	default:
		agent.scriptsFailed++
	}
}

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
