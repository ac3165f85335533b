package server

import (
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/prebuild"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

// Prebuilds says how prebuilt workspaces are looked after. (WS-20)
type Prebuilds struct {
	Interval time.Duration // 0 means a minute
	// What failures mean: how long nothing is made of a preset after one, how
	// long it is remembered so, and how many in a row are too many; 0: never.
	Backoff      time.Duration
	Lookback     time.Duration
	FailureLimit int
}

func (p Prebuilds) check() error {
	switch {
	case p.Interval < 0 || p.Backoff < 0 || p.Lookback < 0:
		return coder.Errorf(coder.CodeInvalid, "--workspace-prebuilds-reconciliation-interval, its backoff interval and its lookback period cannot be negative")
	case p.FailureLimit < 0:
		return coder.Errorf(coder.CodeInvalid, "--workspace-prebuilds-failure-hard-limit cannot be negative; 0 is no limit")
	}
	return nil
}

func (s *Server) prebuilds(r rooms) *prebuild.Service {
	c := s.c.Prebuilds
	return prebuild.New(prebuild.Config{
		Store: s.db.store, Workspaces: r.workspaces, Hub: r.hub, Log: s.log.With(telemetry.NameKey, "prebuild"), Registerer: s.registry,
		Interval: c.Interval, Rules: prebuild.Rules{Backoff: c.Backoff, Lookback: c.Lookback, Limit: c.FailureLimit},
	})
}
