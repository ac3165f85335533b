package app

import (
	"context"
	"encoding/hex"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// maxReports bounds how many whiles of use a proxy reports at once.
const maxReports = 1000

// PassKeys gives the keys that passes are signed with, so that a workspace proxy
// can tell a good pass by itself. Whoever has them can make passes.
func (s *Service) PassKeys() []coder.CryptoKey {
	out := []coder.CryptoKey{}
	if keys := s.keys[FeaturePass].keys.Load(); keys != nil {
		for _, k := range *keys {
			out = append(out, coder.CryptoKey{
				Feature: string(FeaturePass), Secret: hex.EncodeToString(k.Secret), Sequence: k.Sequence, StartsAt: k.StartsAt, DeletesAt: k.DeletesAt,
			})
		}
	}
	return out
}

// Away is the part of a Service that a workspace proxy has, which has no
// database: it reads passes by keys that it is given, and counts use for its
// server to write down. It is safe for concurrent use.
type Away struct{ s *Service }

// NewAway gives one that knows no keys yet. now is the clock.
func NewAway(now func() time.Time) *Away { return &Away{New(Config{Now: now})} }

// SetKeys takes what PassKeys gave.
func (a *Away) SetKeys(keys []coder.CryptoKey) error {
	var rows []sqlc.CryptoKey
	for _, k := range keys {
		secret, err := hex.DecodeString(k.Secret)
		if err != nil || len(secret) < 32 || k.Feature != string(FeaturePass) {
			return coder.Errorf(coder.CodeInternal, "The server gave a key of passes that is none")
		}
		rows = append(rows, sqlc.CryptoKey{Feature: k.Feature, Secret: secret, Sequence: k.Sequence, StartsAt: k.StartsAt, DeletesAt: k.DeletesAt})
	}
	a.s.keys[FeaturePass].keys.Store(&rows)
	return nil
}

// Pass does what Service.Pass does.
func (a *Away) Pass(text string, m Method, n Name) (Pass, bool) { return a.s.Pass(text, m, n) }

// Terminal does what Service.Terminal does.
func (a *Away) Terminal(text string, agent uuid.UUID) (keyID string, ok bool) {
	return a.s.Terminal(text, agent)
}

// Use does what Service.Use does.
func (a *Away) Use(user uuid.UUID, m Method, t *Target) (end func()) { return a.s.Use(user, m, t) }

// SendUsage has send take what was counted, some at a time. What it does not
// take is kept for the next time.
func (a *Away) SendUsage(send func([]coder.AppStatsReport) error) error {
	rows := a.s.usage.take(a.s.now())
	for len(rows) > 0 {
		some := rows[:min(len(rows), maxReports)]
		var out []coder.AppStatsReport
		for _, r := range some {
			out = append(out, coder.AppStatsReport{
				UserID: r.user, WorkspaceID: r.workspace, AgentID: r.agent, AccessMethod: string(r.method), SlugOrPort: r.app,
				SessionID: r.session, SessionStartedAt: r.began, SessionEndedAt: r.last, Requests: r.requests,
			})
		}
		if err := send(out); err != nil {
			a.s.usage.putBack(rows)
			return err
		}
		rows = rows[len(some):]
	}
	return nil
}

// Wire gives the target as proxies are told.
func (t Target) Wire() coder.AppTarget {
	return coder.AppTarget{
		WorkspaceID: t.WorkspaceID, OwnerID: t.OwnerID, AgentID: t.AgentID, AgentName: t.AgentName, WorkspaceName: t.WorkspaceName, OwnerName: t.OwnerName,
		SlugOrPort: t.App, Port: t.Port, Title: t.Title, URL: t.URL, SharingLevel: t.Level, CORSBehavior: t.CORS, Command: t.Command, External: t.External,
		Health: t.Health, Status: t.Status, AgentStatus: t.Agent, Running: t.Running,
	}
}

// ReadTarget is the other way round; who may go there is not in it.
func ReadTarget(w coder.AppTarget) Target {
	return Target{
		WorkspaceID: w.WorkspaceID, OwnerID: w.OwnerID, AgentID: w.AgentID, AgentName: w.AgentName, WorkspaceName: w.WorkspaceName, OwnerName: w.OwnerName,
		App: w.SlugOrPort, Port: w.Port, Title: w.Title, URL: w.URL, Level: w.SharingLevel, CORS: w.CORSBehavior, Command: w.Command, External: w.External,
		Health: w.Health, Status: w.Status, Agent: w.AgentStatus, Running: w.Running,
	}
}

// Report writes down how apps were used at a workspace proxy. What is of
// workspaces that are gone is passed over.
func (s *Service) Report(ctx context.Context, stats []coder.AppStatsReport) error {
	if s.c.NoUsage || len(stats) == 0 {
		return nil
	}
	if len(stats) > maxReports {
		return coder.Invalid("stats", "at most %d at once, got %d", maxReports, len(stats))
	}
	now := s.now()
	var p sqlc.AppPutStatsParams
	seen := map[uuid.UUID]bool{}
	for _, r := range stats {
		switch m := Method(r.AccessMethod); {
		case m != MethodPath && m != MethodSubdomain && m != MethodTerminal:
			return coder.Invalid("access_method", "must be path, subdomain or terminal, got %.40q", r.AccessMethod)
		case r.SessionID == uuid.Nil || seen[r.SessionID]:
			return coder.Invalid("session_id", "each while of use needs an id of its own")
		case r.Requests < 0 || r.SessionStartedAt.IsZero() || r.SessionEndedAt.Before(r.SessionStartedAt) || r.SessionEndedAt.After(now.Add(keyCheck)):
			return coder.Invalid("session_ended_at", "a while of use ends after it began, and not in the future")
		case len(r.SlugOrPort) > 64 || strings.ContainsRune(r.SlugOrPort, 0):
			return coder.Invalid("slug_or_port", "is no slug and no port")
		}
		seen[r.SessionID] = true
		p.SessionID = append(p.SessionID, r.SessionID)
		p.UserID = append(p.UserID, r.UserID)
		p.WorkspaceID = append(p.WorkspaceID, r.WorkspaceID)
		p.AgentID = append(p.AgentID, r.AgentID)
		p.AccessMethod = append(p.AccessMethod, r.AccessMethod)
		p.SlugOrPort = append(p.SlugOrPort, r.SlugOrPort)
		p.StartedAt = append(p.StartedAt, r.SessionStartedAt)
		p.EndedAt = append(p.EndedAt, r.SessionEndedAt)
		p.Requests = append(p.Requests, r.Requests)
	}
	return s.keep(ctx, now, p)
}
