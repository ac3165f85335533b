package presence

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
)

// SetAppHealth stores the health of an agent's apps. Unknown apps and apps without a health check are
// ignored.
func (s *Service) SetAppHealth(ctx context.Context, a Agent, health map[uuid.UUID]codersdk.WorkspaceAppHealth) error {
	changed := int64(0)
	for id, h := range health {
		switch h {
		case codersdk.WorkspaceAppHealthHealthy, codersdk.WorkspaceAppHealthUnhealthy, codersdk.WorkspaceAppHealthInitializing:
		default:
			return codersdk.Invalid("health", "%q is not an app health", h)
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

// AddScriptTiming stores the duration of a script of the agent.
func (s *Service) AddScriptTiming(ctx context.Context, a Agent, t ScriptTiming) error {
	if !slices.ContainsFunc(a.row.Scripts, func(sc codersdk.WorkspaceAgentScript) bool { return sc.ID == t.ScriptID }) {
		return codersdk.Invalid("script_id", "script %s not found in this agent", t.ScriptID)
	}
	if t.EndedAt.Before(t.StartedAt) {
		t.EndedAt = t.StartedAt
	}
	added, err := s.store.AgentAddScriptTiming(ctx, sqlc.AgentAddScriptTimingParams{
		AgentID: a.ID, ScriptID: t.ScriptID, StartedAt: t.StartedAt, EndedAt: t.EndedAt, ExitCode: t.ExitCode, Stage: t.Stage, Status: t.Status,
	})
	if added > 0 {
		ok := t.Status != "exit_failure" && t.Status != "timed_out"
		s.live.ran(a, ok)
		s.trace(ctx, a, "agent script", tracing.Past{Start: t.StartedAt, End: t.EndedAt, Failed: !ok},
			tracing.String("coder.script.id", t.ScriptID.String()), tracing.String("coder.script.stage", t.Stage),
			tracing.Int("process.exit.code", int(t.ExitCode)))
		s.changed(a)
	}
	return err
}

// ran counts a script run for the metrics.
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

// GitSSHKey returns the key pair that an agent uses for git on behalf of its owner. (AU-18)
func (s *Service) GitSSHKey(ctx context.Context, a Agent) (public, private string, err error) {
	row, err := s.store.AgentGitSSHKey(ctx, a.OwnerID)
	if err != nil {
		return "", "", err
	}
	if row.SshPrivateKey == "" {
		return "", "", codersdk.NotFound()
	}
	private, err = s.vault.OpenSSHKey(row.ID, row.SshPrivateKey, row.SshPrivateKeyKeyID)
	return row.SshPublicKey, private, err
}
