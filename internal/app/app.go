// Package app is the use case of the web pages that workspaces offer: the apps
// that a template declares and the ports that anything in a workspace listens
// on. An address, which is a host name or a path, is a Name; Find says where a
// name leads, as a Target; Target.Allows says who may go there. That is a pure
// rule of the target's sharing level, the way it is reached, and who asks.
//
// What a browser carries from request to request is signed here and nothing
// else: a Pass for one app, which saves asking the database for a minute, and
// a Session, which says for one host name which session of the dashboard stands
// behind it. Neither is a token of a person; neither is good anywhere but at
// the name it was made for; a Session ends with the session behind it. The keys
// are rows that all replicas share, and are replaced every 30 days.
//
// Use is counted in memory and written in batches, for whoever opens a page
// shall not wait for a row. (NET-06..10, AG-27)
package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/vault"
)

// Config is what a Service works with.
type Config struct {
	Store *postgres.Store
	Hub   *notify.Hub
	Log   *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Vault encrypts signing keys; nil: they are kept as they are.
	Vault *vault.Vault
	// NoUsage keeps no record of how apps are used.
	NoUsage bool
}

// Rules are what a deployment allows of apps on the dashboard's own host. Such
// an app's page may do there what its visitor may, so both are off by default.
// (NET-06)
type Rules struct {
	// PathSharing lets them be shared at all.
	PathSharing bool
	// PathSiteOwners lets site owners open those of others.
	PathSiteOwners bool
}

// Service is the use cases of apps. It is safe for concurrent use; between
// Start and Stop it looks after keys and writes down use.
type Service struct {
	c      Config
	now    func() time.Time
	keys   map[Feature]*keyring
	passes verified
	usage  usage
	loops  lifecycle.Group
}

// New gives a service; nothing runs until Start.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Service{c: c, now: c.Now, keys: map[Feature]*keyring{}}
	for _, f := range []Feature{FeatureSession, FeaturePass} {
		s.keys[f] = &keyring{feature: f}
	}
	s.usage.open = map[useKey]*use{}
	s.usage.done = map[uuid.UUID]row{}
	return s
}

// Start reads the keys, making what is missing, and begins the periodic duties.
func (s *Service) Start(ctx context.Context) error {
	if err := s.RotateKeys(ctx); err != nil {
		return err
	}
	return s.loops.Start(ctx,
		lifecycle.Named{Name: "keys of apps", Service: s.every(keyCheck, "keys of apps could not be looked after", s.RotateKeys)},
		lifecycle.Named{Name: "use of apps", Service: s.every(usageFlush, "the use of apps could not be written down", s.FlushUsage)},
	)
}

// Stop ends the duties and writes down what use there was.
func (s *Service) Stop(ctx context.Context) error {
	return errors.Join(s.loops.Stop(ctx), s.FlushUsage(ctx))
}

// every is a service that calls fn at an interval.
func (s *Service) every(interval time.Duration, failure string, fn func(context.Context) error) lifecycle.Service {
	return &lifecycle.Loop{Run: func(ctx context.Context) {
		t := time.NewTicker(interval)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
			if err := fn(ctx); err != nil && ctx.Err() == nil {
				s.c.Log.WarnContext(ctx, failure, "error", err)
			}
		}
	}}
}
