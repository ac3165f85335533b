// Package workspaceapp implements workspace apps: the apps that a template declares, and the ports on
// which processes in a workspace listen. An address, which is a host name or a path, is a Name. Find
// returns the Target of a name, and Target.Allows decides who can open it. That is a pure rule of the
// target's sharing level, the access method and the subject.
//
// This package signs the values that browsers carry between requests. A Pass is a signed app token for one
// app, which saves queries for one minute. A Session names, for one host, the dashboard session behind it.
// Neither is a token of a user; neither is valid at another name; and a Session ends with the dashboard
// session. The signing keys are rows that all replicas share, replaced every 30 days.
//
// Usage is counted in memory and written in batches, so that opening a page does not wait for the database.
// (NET-06..10, AG-27)
package workspaceapp

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// Config configures a Service.
type Config struct {
	Store *postgres.Store
	Hub   *notify.Hub
	Log   *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Vault encrypts signing keys; nil stores them in clear.
	Vault *dbcrypt.Vault
	// NoUsage disables usage records.
	NoUsage bool
}

// Rules are the deployment's rules for apps on the dashboard's own host. The page of such an app can do
// everything that its user can do there, so both rules are off by default. (NET-06)
type Rules struct {
	// PathSharing allows sharing of these apps.
	PathSharing bool
	// PathSiteOwners lets site owners open those of other users.
	PathSiteOwners bool
}

// Service implements workspace apps. It is safe for concurrent use. Between Start and Stop it rotates
// keys and writes usage.
type Service struct {
	c      Config
	now    func() time.Time
	keys   map[Feature]*keyring
	passes verified
	usage  usage
	loops  lifecycle.Group
}

// New returns a Service. It starts nothing.
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

// Start reads or creates the keys and starts the periodic work.
func (s *Service) Start(ctx context.Context) error {
	if err := s.RotateKeys(ctx); err != nil {
		return err
	}
	return s.loops.Start(ctx,
		lifecycle.Named{Name: "keys of apps", Service: s.every(keyCheck, "cannot rotate the keys of apps", s.RotateKeys)},
		lifecycle.Named{Name: "use of apps", Service: s.every(usageFlush, "cannot write the usage of apps", s.FlushUsage)},
	)
}

// Stop stops the periodic work and writes the remaining usage.
func (s *Service) Stop(ctx context.Context) error {
	return errors.Join(s.loops.Stop(ctx), s.FlushUsage(ctx))
}

// every returns a service that calls fn at an interval.
func (s *Service) every(interval time.Duration, failure string, fn func(context.Context) error) lifecycle.Service {
	return &lifecycle.Loop{Run: func(ctx context.Context) {
		lifecycle.Every(ctx, interval, func(ctx context.Context) {
			if err := fn(ctx); err != nil && ctx.Err() == nil {
				s.c.Log.WarnContext(ctx, failure, "error", err)
			}
		})
	}}
}
