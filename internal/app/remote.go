package app

import (
	"context"
	"encoding/hex"
	"strings"

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
