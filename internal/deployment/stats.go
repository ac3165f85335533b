package deployment

import (
	"context"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
)

const (
	// statsHold is how long statistics are shown until they are made anew.
	statsHold = time.Minute
	// statsWindow is how far back traffic and latency go, at least.
	statsWindow = 15 * time.Minute
	// sessionSilent is how long ago an agent may have reported a session that
	// counts as open.
	sessionSilent = 2 * time.Minute
	// usageKept is how long reports of single agents are kept.
	usageKept = time.Hour
)

// Stats gives how much the site is in use, made anew once a minute.
func (s *Service) Stats(ctx context.Context, actor access.Subject) (coder.DeploymentStats, error) {
	if err := Check(actor, coder.RBACActionRead, coder.RBACResourceDeploymentStats); err != nil {
		return coder.DeploymentStats{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.c.Now()
	if now.Before(s.stats.NextUpdateAt) && !now.Before(s.stats.CollectedAt) {
		return s.stats, nil
	}
	from := now.Add(-statsWindow).Truncate(statsWindow)
	workspaces, err := s.c.Store.SiteWorkspaceCounts(ctx)
	if err != nil {
		return coder.DeploymentStats{}, err
	}
	use, err := s.c.Store.SiteUsage(ctx, now.Add(-sessionSilent), from)
	if err != nil {
		return coder.DeploymentStats{}, err
	}
	s.stats = coder.DeploymentStats{
		AggregatedFrom: from, CollectedAt: now, NextUpdateAt: now.Add(statsHold),
		SessionCount: coder.SessionCounts{SSH: use.Ssh, VSCode: use.Vscode, JetBrains: use.Jetbrains, ReconnectingPTY: use.ReconnectingPty},
		Workspaces: coder.WorkspaceDeploymentStats{
			Pending: workspaces.Pending, Building: workspaces.Building, Running: workspaces.Running, Failed: workspaces.Failed, Stopped: workspaces.Stopped,
			RxBytes: use.RxBytes, TxBytes: use.TxBytes, ConnectionLatencyMS: coder.ConnectionLatency{P50: use.P50, P95: use.P95},
		},
	}
	return s.stats, nil
}

// PurgeUsage deletes reports of agents that no statistics count any more.
func (s *Service) PurgeUsage(ctx context.Context) (int64, error) {
	return s.c.Store.UsageDeleteLately(ctx, s.c.Now().Add(-usageKept))
}
