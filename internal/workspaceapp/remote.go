package workspaceapp

import (
	"context"
	"encoding/hex"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// maxReports is the maximum number of usage periods in one report of a proxy.
const maxReports = 1000

// PassKeys returns the keys that sign passes, with which a workspace proxy verifies passes. Their holder
// can also create passes.
func (s *Service) PassKeys() []codersdk.CryptoKey {
	out := []codersdk.CryptoKey{}
	if keys := s.keys[FeaturePass].keys.Load(); keys != nil {
		for _, k := range *keys {
			out = append(out, codersdk.CryptoKey{
				Feature: string(FeaturePass), Secret: hex.EncodeToString(k.Secret), Sequence: k.Sequence, StartsAt: k.StartsAt, DeletesAt: k.DeletesAt,
			})
		}
	}
	return out
}

// Away is the part of a Service that runs in a workspace proxy, without a database: it verifies passes
// with keys from the server, and counts usage for the server. It is safe for concurrent use.
type Away struct{ s *Service }

// NewAway returns an Away without keys. now is the clock.
func NewAway(now func() time.Time) *Away { return &Away{New(Config{Now: now})} }

// SetKeys replaces the keys by the result of PassKeys.
func (a *Away) SetKeys(keys []codersdk.CryptoKey) error {
	var rows []sqlc.CryptoKey
	for _, k := range keys {
		secret, err := hex.DecodeString(k.Secret)
		if err != nil || len(secret) < 32 || k.Feature != string(FeaturePass) {
			return codersdk.Errorf(codersdk.CodeInternal, "The server sent an invalid key for app tokens")
		}
		rows = append(rows, sqlc.CryptoKey{Feature: k.Feature, Secret: secret, Sequence: k.Sequence, StartsAt: k.StartsAt, DeletesAt: k.DeletesAt})
	}
	a.s.keys[FeaturePass].keys.Store(&rows)
	return nil
}

// Pass is Service.Pass.
func (a *Away) Pass(text string, m Method, n Name) (Pass, bool) { return a.s.Pass(text, m, n) }

// Terminal is Service.Terminal.
func (a *Away) Terminal(text string, agent uuid.UUID) (keyID string, ok bool) {
	return a.s.Terminal(text, agent)
}

// Use is Service.Use.
func (a *Away) Use(user uuid.UUID, m Method, t *Target) (end func()) { return a.s.Use(user, m, t) }

// SendUsage calls send with the counted usage in batches. After an error the batch is kept for the next
// call.
func (a *Away) SendUsage(send func([]codersdk.AppStatsReport) error) error {
	rows := a.s.usage.take(a.s.now())
	for len(rows) > 0 {
		some := rows[:min(len(rows), maxReports)]
		var out []codersdk.AppStatsReport
		for _, r := range some {
			out = append(out, codersdk.AppStatsReport{
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

// Wire returns the target in the form for proxies.
func (t Target) Wire() codersdk.AppTarget {
	return codersdk.AppTarget{
		WorkspaceID: t.WorkspaceID, OwnerID: t.OwnerID, AgentID: t.AgentID, AgentName: t.AgentName, WorkspaceName: t.WorkspaceName, OwnerName: t.OwnerName,
		SlugOrPort: t.App, Port: t.Port, Title: t.Title, URL: t.URL, SharingLevel: t.Level, CORSBehavior: t.CORS, Command: t.Command, External: t.External,
		Health: t.Health, Status: t.Status, AgentStatus: t.Agent, Running: t.Running,
	}
}

// ReadTarget is the inverse of Wire, without the access rules.
func ReadTarget(w codersdk.AppTarget) Target {
	return Target{
		WorkspaceID: w.WorkspaceID, OwnerID: w.OwnerID, AgentID: w.AgentID, AgentName: w.AgentName, WorkspaceName: w.WorkspaceName, OwnerName: w.OwnerName,
		App: w.SlugOrPort, Port: w.Port, Title: w.Title, URL: w.URL, Level: w.SharingLevel, CORS: w.CORSBehavior, Command: w.Command, External: w.External,
		Health: w.Health, Status: w.Status, Agent: w.AgentStatus, Running: w.Running,
	}
}

// Report stores the usage of apps at a workspace proxy. Usage of deleted workspaces is ignored.
func (s *Service) Report(ctx context.Context, stats []codersdk.AppStatsReport) error {
	if s.c.NoUsage || len(stats) == 0 {
		return nil
	}
	if len(stats) > maxReports {
		return codersdk.Invalid("stats", "at most %d are allowed in one request, got %d", maxReports, len(stats))
	}
	now := s.now()
	var p sqlc.AppPutStatsParams
	seen := map[uuid.UUID]bool{}
	for _, r := range stats {
		switch m := Method(r.AccessMethod); {
		case m != MethodPath && m != MethodSubdomain && m != MethodTerminal:
			return codersdk.Invalid("access_method", "must be path, subdomain or terminal, got %.40q", r.AccessMethod)
		case r.SessionID == uuid.Nil || seen[r.SessionID]:
			return codersdk.Invalid("session_id", "must be unique for each period of use")
		case r.Requests < 0 || r.SessionStartedAt.IsZero() || r.SessionEndedAt.Before(r.SessionStartedAt) || r.SessionEndedAt.After(now.Add(keyCheck)):
			return codersdk.Invalid("session_ended_at", "must be after session_started_at and not in the future")
		case len(r.SlugOrPort) > 64 || strings.ContainsRune(r.SlugOrPort, 0):
			return codersdk.Invalid("slug_or_port", "is neither a slug nor a port")
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
