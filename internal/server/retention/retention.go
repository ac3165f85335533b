// Package retention deletes old records in the background.
package retention

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
)

// interval is the time between deletions of old records. (CP-24)
const interval = 10 * time.Minute

// Config is how long records are kept; 0 keeps them forever. Records are deleted
// every ten minutes, so that they live up to that much longer.
type Config struct {
	AuditLogs      time.Duration
	ConnectionLogs time.Duration
	APIKeys        time.Duration // after a token expired
	AgentLogs      time.Duration // of earlier builds, after the agent was last connected
	JobLogs        time.Duration // of earlier builds and imports, after the job ended
	BuildTimings   time.Duration // of earlier builds, after the build ended
}

// Check refuses negative durations.
func (c Config) Check() error {
	for flag, d := range map[string]time.Duration{
		"audit-logs-retention": c.AuditLogs, "connection-logs-retention": c.ConnectionLogs,
		"api-keys-retention": c.APIKeys, "workspace-agent-logs-retention": c.AgentLogs,
		"provisioner-job-logs-retention": c.JobLogs, "build-timings-retention": c.BuildTimings,
	} {
		if d < 0 {
			return codersdk.Errorf(codersdk.CodeInvalid, "--%s cannot be negative; 0 keeps records forever", flag)
		}
	}
	return nil
}

// Delete deletes old records of one kind and returns how many.
type Delete = func(ctx context.Context) (rows int64, err error)

// DeleteOlder deletes the records of one kind that are older than keep.
type DeleteOlder = func(ctx context.Context, keep time.Duration) (rows int64, err error)

// Kind is a kind of records.
type Kind struct {
	Name   string // in logs, and of the lock that lets one replica at a time delete
	Delete Delete
}

// Keep returns the kind if it has a limit, and nothing if it is kept forever.
func Keep(name string, keep time.Duration, older DeleteOlder) []Kind {
	if keep <= 0 {
		return nil
	}
	return []Kind{{name, func(ctx context.Context) (int64, error) { return older(ctx, keep) }}}
}

// Service returns the service that deletes the records of all kinds, one kind after the other.
func Service(b *base.Base, kinds []Kind) lifecycle.Named {
	p := purger{b.Log, b.Store}
	return lifecycle.Named{Name: "purge of old records", Service: &lifecycle.Loop{Run: func(ctx context.Context) {
		lifecycle.Every(ctx, interval, func(ctx context.Context) {
			for _, k := range kinds {
				p.purge(ctx, k)
			}
		})
	}}}
}

// purger deletes old records.
type purger struct {
	log   *slog.Logger
	store *postgres.Store
}

// purge deletes the records of a kind that are old now, unless another replica is doing so.
func (p purger) purge(ctx context.Context, k Kind) {
	var rows int64
	start := time.Now()
	_, err := p.store.Exclusively(ctx, "purge "+k.Name, func() (err error) {
		rows, err = k.Delete(ctx)
		return err
	})
	switch {
	case err != nil && ctx.Err() == nil:
		p.log.Warn("cannot delete old records; trying again later", "what", k.Name, "deleted", rows, "error", err)
	case rows > 0:
		p.log.Info("deleted old records", "what", k.Name, "rows", rows, "took", time.Since(start).Round(time.Millisecond).String())
	}
}
