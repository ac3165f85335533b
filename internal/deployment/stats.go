package deployment

import (
	"context"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

const (
	// statsHold is how long statistics are cached.
	statsHold = time.Minute
	// statsWindow is the minimum period of traffic and latency figures.
	statsWindow = 15 * time.Minute
	// sessionSilent is the age of an agent's last report after which its sessions count as
	// closed.
	sessionSilent = 2 * time.Minute
	// usageKept is the retention of usage reports of single agents.
	usageKept = time.Hour
)

// Stats returns usage figures of the site, refreshed once a minute.
func (s *Service) Stats(ctx context.Context, actor access.Subject) (codersdk.DeploymentStats, error) {
	if err := Check(actor, codersdk.RBACActionRead, codersdk.RBACResourceDeploymentStats); err != nil {
		return codersdk.DeploymentStats{}, err
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
		return codersdk.DeploymentStats{}, err
	}
	use, err := s.c.Store.SiteUsage(ctx, now.Add(-sessionSilent), from)
	if err != nil {
		return codersdk.DeploymentStats{}, err
	}
	s.stats = codersdk.DeploymentStats{
		AggregatedFrom: from, CollectedAt: now, NextUpdateAt: now.Add(statsHold),
		SessionCount: codersdk.SessionCounts{SSH: use.Ssh, VSCode: use.Vscode, JetBrains: use.Jetbrains, ReconnectingPTY: use.ReconnectingPty},
		Workspaces: codersdk.WorkspaceDeploymentStats{
			Pending: workspaces.Pending, Building: workspaces.Building, Running: workspaces.Running, Failed: workspaces.Failed, Stopped: workspaces.Stopped,
			RxBytes: use.RxBytes, TxBytes: use.TxBytes, ConnectionLatencyMS: codersdk.WorkspaceConnectionLatency{P50: use.P50, P95: use.P95},
		},
	}
	return s.stats, nil
}

// PurgeAudit deletes audit entries that are older than keep in small batches, and returns their
// number.
func (s *Service) PurgeAudit(ctx context.Context, keep time.Duration) (int64, error) {
	before := s.c.Now().Add(-keep)
	return postgres.InBatches(ctx, func() (int64, error) { return s.c.Store.AuditPurge(ctx, before) })
}

// PurgeUsage deletes usage reports that no statistics need.
func (s *Service) PurgeUsage(ctx context.Context) (int64, error) {
	before := s.c.Now().Add(-usageKept)
	return postgres.InBatches(ctx, func() (int64, error) { return s.c.Store.UsageDeleteLately(ctx, before) })
}
