// Package deployment manages the site as a whole: its configuration, appearance, usage figures,
// licenses and servers. Settings that administrators change at run time are stored by name. The
// options with which a server was started are passed in and only shown. (CP-06, CP-26, APP-01)
package deployment

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Config configures a Service.
type Config struct {
	Store *postgres.Store
	// Settings is the configuration of the server, without secrets.
	Settings codersdk.DeploymentConfig
	// DocsURL and SupportLinks are shown to all users.
	DocsURL      string
	SupportLinks []codersdk.LinkConfig
	// UpgradeMessage is shown to users whose client has another version.
	UpgradeMessage string
	// ReplicaID identifies this server among those that share the database.
	ReplicaID uuid.UUID
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Service implements the site. It is safe for concurrent use.
type Service struct {
	c     Config
	mu    sync.Mutex
	stats codersdk.DeploymentStats // cached until NextUpdateAt
}

// New returns a Service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Settings.Config == nil {
		c.Settings.Config = map[string]any{}
	}
	if c.Settings.Options == nil {
		c.Settings.Options = []codersdk.DeploymentOption{}
	}
	if c.SupportLinks == nil {
		c.SupportLinks = []codersdk.LinkConfig{}
	}
	return &Service{c: c}
}

// Check returns an error unless the actor can do the action on an object of the site. The existence
// of these objects is not secret, so the error says so.
func Check(actor access.Subject, action codersdk.RBACAction, t codersdk.RBACResource) error {
	if actor.Can(action, access.Object{Type: t}) {
		return nil
	}
	return codersdk.Errorf(codersdk.CodeForbidden, "You do not have permission to %s this; it requires a site role", action)
}

// Settings returns the configuration of the server.
func (s *Service) Settings(actor access.Subject) (codersdk.DeploymentConfig, error) {
	if err := Check(actor, codersdk.RBACActionRead, codersdk.RBACResourceDeploymentConfig); err != nil {
		return codersdk.DeploymentConfig{}, err
	}
	return s.c.Settings, nil
}

// UpgradeMessage returns the message for users whose client has another version; "" means the
// client's own message.
func (s *Service) UpgradeMessage() string { return s.c.UpgradeMessage }

// replicaSilent is the age of the last heartbeat after which a replica counts as offline.
const replicaSilent = 2 * time.Minute

// Replicas returns the servers that share the database.
func (s *Service) Replicas(ctx context.Context, actor access.Subject) ([]codersdk.Replica, error) {
	if err := Check(actor, codersdk.RBACActionRead, codersdk.RBACResourceReplicas); err != nil {
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
	out := []codersdk.Replica{}
	for _, r := range rows {
		view := codersdk.Replica{ID: r.ID, Hostname: r.Hostname, CreatedAt: r.StartedAt, RelayAddress: r.RelayAddress}
		if r.ID == s.c.ReplicaID {
			view.DatabaseLatency = latency.Nanoseconds()
		}
		out = append(out, view)
	}
	return out, nil
}

// Get reads a setting of the site into the pointer into; a missing setting leaves it unchanged.
func Get(ctx context.Context, q *sqlc.Queries, name string, into any) error {
	return decode(name, into)(q.SiteSetting(ctx, name))
}

// GetForUpdate is Get with a row lock, in a transaction that calls Put.
func GetForUpdate(ctx context.Context, q *sqlc.Queries, name string, into any) error {
	return decode(name, into)(q.SiteSettingForUpdate(ctx, name))
}

func decode(name string, into any) func(json.RawMessage, error) error {
	return func(b json.RawMessage, err error) error {
		if codersdk.Is(err, codersdk.CodeNotFound) {
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
