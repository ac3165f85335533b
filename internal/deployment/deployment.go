// Package deployment is the use case of the site as a whole: how it is
// configured, how it presents itself, how much it is in use, and which servers
// it consists of. What administrators set for the site at run time is kept
// here by name; how the servers were started is handed in and only shown.
// (CP-06, CP-26, APP-01)
package deployment

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Config is what a Service needs.
type Config struct {
	Store *postgres.Store
	// Settings is how the server was configured, without secrets.
	Settings coder.DeploymentConfig
	// DocsURL and SupportLinks are shown to everybody.
	DocsURL      string
	SupportLinks []coder.LinkConfig
	// UpgradeMessage is told to people whose program is of another version.
	UpgradeMessage string
	// ReplicaID is this server among those that share the database.
	ReplicaID uuid.UUID
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Service answers for the site. It is safe for concurrent use.
type Service struct {
	c     Config
	mu    sync.Mutex
	stats coder.DeploymentStats // the last ones, shown until NextUpdateAt
}

// New gives a service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Settings.Config == nil {
		c.Settings.Config = map[string]any{}
	}
	if c.Settings.Options == nil {
		c.Settings.Options = []coder.DeploymentOption{}
	}
	if c.SupportLinks == nil {
		c.SupportLinks = []coder.LinkConfig{}
	}
	return &Service{c: c}
}

// Check refuses an actor who may not do the action on what belongs to the site.
// That it is there is no secret, so that the refusal says so.
func Check(actor access.Subject, action coder.RBACAction, t coder.RBACResource) error {
	if actor.Can(action, access.Object{Type: t}) {
		return nil
	}
	return coder.Errorf(coder.CodeForbidden, "You may not %s this: it takes a role that may on the whole site", action)
}

// Settings gives how the server is configured.
func (s *Service) Settings(actor access.Subject) (coder.DeploymentConfig, error) {
	if err := Check(actor, coder.RBACActionRead, coder.RBACResourceDeploymentConfig); err != nil {
		return coder.DeploymentConfig{}, err
	}
	return s.c.Settings, nil
}

// UpgradeMessage is told to people whose program is of another version; "" for
// the program's own words.
func (s *Service) UpgradeMessage() string { return s.c.UpgradeMessage }

// replicaSilent is how long ago a replica may last have been heard of.
const replicaSilent = 2 * time.Minute

// Replicas gives the servers that share the database.
func (s *Service) Replicas(ctx context.Context, actor access.Subject) ([]coder.Replica, error) {
	if err := Check(actor, coder.RBACActionRead, coder.RBACResourceReplicas); err != nil {
		return nil, err
	}
	rows, err := s.c.Store.ReplicasAlive(ctx, s.c.Now().Add(-replicaSilent))
	if err != nil {
		return nil, err
	}
	latency, err := s.c.Store.Ping(ctx)
	if err != nil {
		return nil, err
	}
	out := []coder.Replica{}
	for _, r := range rows {
		view := coder.Replica{ID: r.ID, Hostname: r.Hostname, CreatedAt: r.StartedAt, RelayAddress: r.RelayAddress}
		if r.ID == s.c.ReplicaID {
			view.DatabaseLatency = latency.Nanoseconds()
		}
		out = append(out, view)
	}
	return out, nil
}

// Get reads a setting of the site; what is not set leaves into as it is.
func Get(ctx context.Context, q *sqlc.Queries, name string, into any) error {
	return decode(name, into)(q.SiteSetting(ctx, name))
}

// GetForUpdate is Get in a transaction that is going to Put.
func GetForUpdate(ctx context.Context, q *sqlc.Queries, name string, into any) error {
	return decode(name, into)(q.SiteSettingForUpdate(ctx, name))
}

func decode(name string, into any) func(json.RawMessage, error) error {
	return func(b json.RawMessage, err error) error {
		if coder.Is(err, coder.CodeNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := json.Unmarshal(b, into); err != nil {
			return fmt.Errorf("read the setting %s: %w", name, err)
		}
		return nil
	}
}

// Put stores a setting of the site.
func Put(ctx context.Context, q *sqlc.Queries, name string, value any, now time.Time) error {
	b, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode the setting %s: %w", name, err)
	}
	return q.SitePutSetting(ctx, name, b, now)
}
