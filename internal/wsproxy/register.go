package wsproxy

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

const (
	// requestTimeout bounds a request to the primary.
	requestTimeout = 15 * time.Second
	// maxRetryDelay is the longest delay between two attempts to reach the
	// primary.
	maxRetryDelay = 10 * time.Second
	// usageInterval is the interval of reports about app usage.
	usageInterval = 30 * time.Second
)

// state is the health of the proxy.
type state struct {
	mu       sync.Mutex
	lastErr  error  // of the last registration; nil if it succeeded
	version  string // of the primary
	siblings int
}

func (s *state) set(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastErr = err
}

// report returns the proxy's health report.
func (p *Proxy) report() codersdk.ProxyHealthReport {
	p.state.mu.Lock()
	defer p.state.mu.Unlock()
	r := codersdk.ProxyHealthReport{Errors: []string{}, Warnings: []string{}}
	if p.state.lastErr != nil {
		r.Errors = append(r.Errors, "registration with the server at "+p.c.Primary.String()+" failed: "+p.state.lastErr.Error())
	}
	if v := p.state.version; v != "" && v != p.c.Version {
		r.Warnings = append(r.Warnings, "the proxy has version "+p.c.Version+" and the server "+v+"; run the same version")
	}
	return r
}

// registration keeps the proxy registered with the primary while it runs.
type registration struct {
	p    *Proxy
	loop lifecycle.Loop
}

// Start returns after the first registration. It retries while the primary is
// unreachable.
func (r *registration) Start(ctx context.Context) error {
	p := r.p
	redial := lifecycle.Backoff{Limit: maxRetryDelay}
	for {
		err := p.register(ctx)
		if err == nil {
			break
		}
		if isRefusal(err) || ctx.Err() != nil {
			return err
		}
		wait := redial.Next()
		p.log.Warn("server unreachable, retrying", "primary", p.c.Primary.String(), "error", err, "in", wait.Round(time.Millisecond).String())
		if !pause(ctx, wait) {
			return err
		}
	}
	r.loop.Run = p.keepRegistered
	return r.loop.Start(ctx)
}

// Stop deregisters the proxy.
func (r *registration) Stop(ctx context.Context) error {
	err := r.loop.Stop(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	if deregisterErr := r.p.client.DeregisterProxy(ctx, codersdk.DeregisterWorkspaceProxyRequest{ReplicaID: r.p.replica}); deregisterErr != nil {
		r.p.log.Warn("deregistration failed; the server drops the proxy after a timeout", "error", deregisterErr)
	}
	return err
}

// isRefusal reports whether the primary refused a request, so that a retry
// cannot succeed until a user changes something.
func isRefusal(err error) bool {
	return codersdk.Is(err, codersdk.CodeUnauthenticated, codersdk.CodeForbidden, codersdk.CodeInvalid, codersdk.CodeConflict, codersdk.CodeNotFound)
}

// register reports the proxy's addresses to the primary and reads the signing
// keys and the version.
func (p *Proxy) register(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	defer func() { p.state.set(err) }()
	if err := p.relay.LoadKey(ctx, p.client); err != nil {
		return err
	}
	out, err := p.client.RegisterProxy(ctx, codersdk.RegisterWorkspaceProxyRequest{
		AccessURL: p.accessURL.String(), WildcardHostname: p.hosts.String(), DERPEnabled: p.relay.HasKey(), DERPOnly: p.c.RelayOnly,
		ReplicaID: p.replica, ReplicaHostname: p.hostname, Version: p.c.Version,
	})
	if err != nil {
		return err
	}
	keys, err := p.client.ProxyKeys(ctx)
	if err != nil {
		return err
	}
	if err := p.apps.SetKeys(keys); err != nil {
		return err
	}
	info, err := p.client.BuildInfo(ctx)
	p.state.mu.Lock()
	defer p.state.mu.Unlock()
	if err == nil {
		p.state.version = info.Version
	}
	if n := len(out.SiblingReplicas); n != p.state.siblings {
		p.state.siblings = n
		p.log.Info("number of other processes of this proxy changed", "count", n)
	}
	return err
}

// keepRegistered registers again after each interval, or sooner after a
// failure.
func (p *Proxy) keepRegistered(ctx context.Context) {
	redial := lifecycle.Backoff{Limit: maxRetryDelay}
	wait := p.c.Interval
	for pause(ctx, wait) {
		wait = p.c.Interval
		err := p.register(ctx)
		switch {
		case err == nil:
			redial.Reset()
		case ctx.Err() != nil:
			return
		case codersdk.Is(err, codersdk.CodeUnauthenticated):
			p.fail(err)
			return
		default:
			wait = min(redial.Next(), p.c.Interval)
			p.log.Warn("registration failed, retrying", "primary", p.c.Primary.String(), "error", err, "in", wait.Round(time.Millisecond).String())
		}
	}
}

// usage reports app usage to the primary.
type usage struct {
	p    *Proxy
	loop lifecycle.Loop
}

func (u *usage) send(ctx context.Context) error {
	return u.p.apps.SendUsage(func(stats []codersdk.AppStatsReport) error {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		return u.p.client.ReportAppStats(ctx, stats)
	})
}

// Start starts the periodic reports.
func (u *usage) Start(ctx context.Context) error {
	u.loop.Run = func(ctx context.Context) {
		for pause(ctx, min(usageInterval, u.p.c.Interval)) {
			if err := u.send(ctx); err != nil && ctx.Err() == nil {
				u.p.log.Warn("reporting app usage failed, retrying", "error", err)
			}
		}
	}
	return u.loop.Start(ctx)
}

// Stop sends the last report.
func (u *usage) Stop(ctx context.Context) error {
	return errors.Join(u.loop.Stop(ctx), u.send(ctx))
}

// pause waits for d and reports whether ctx is still active.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
