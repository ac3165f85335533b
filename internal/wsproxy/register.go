package wsproxy

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

const (
	// askLimit bounds a question to the primary.
	askLimit = 15 * time.Second
	// lastRetry is the longest pause between two tries to reach it.
	lastRetry = 10 * time.Second
	// usageInterval is how often the primary is told who used what.
	usageInterval = 30 * time.Second
)

// state is how the proxy does.
type state struct {
	mu       sync.Mutex
	trouble  error  // why the primary could not be told last; nil: it was
	version  string // of the primary
	siblings int
}

func (s *state) set(trouble error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = trouble
}

// report says what is wrong with the proxy.
func (p *Proxy) report() coder.ProxyHealthReport {
	p.state.mu.Lock()
	defer p.state.mu.Unlock()
	r := coder.ProxyHealthReport{Errors: []string{}, Warnings: []string{}}
	if p.state.trouble != nil {
		r.Errors = append(r.Errors, "the proxy cannot register with the server at "+p.c.Primary.String()+": "+p.state.trouble.Error())
	}
	if v := p.state.version; v != "" && v != p.c.Version {
		r.Warnings = append(r.Warnings, "the proxy is of version "+p.c.Version+", the server of "+v+"; run the same")
	}
	return r
}

// registration has the primary know of the proxy while it runs.
type registration struct {
	p    *Proxy
	loop lifecycle.Loop
}

// Start returns when the primary knows of the proxy. While it is away it is
// tried again.
func (r *registration) Start(ctx context.Context) error {
	p := r.p
	redial := client.Redial{Limit: lastRetry}
	for {
		err := p.register(ctx)
		if err == nil {
			break
		}
		if refused(err) || ctx.Err() != nil {
			return err
		}
		wait := redial.Next()
		p.log.Warn("the server does not answer, trying again", "primary", p.c.Primary.String(), "error", err, "in", wait.Round(time.Millisecond).String())
		if !pause(ctx, wait) {
			return err
		}
	}
	r.loop.Run = p.keepRegistered
	return r.loop.Start(ctx)
}

// Stop says good-bye.
func (r *registration) Stop(ctx context.Context) error {
	err := r.loop.Stop(ctx)
	bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), askLimit)
	defer cancel()
	if bad := r.p.client.DeregisterProxy(bye, coder.DeregisterWorkspaceProxyRequest{ReplicaID: r.p.replica}); bad != nil {
		r.p.log.Warn("could not say good-bye to the server, which will find out by itself", "error", bad)
	}
	return err
}

// refused says that trying again helps only when somebody has changed something.
func refused(err error) bool {
	return coder.Is(err, coder.CodeUnauthenticated, coder.CodeForbidden, coder.CodeInvalid, coder.CodeConflict, coder.CodeNotFound)
}

// register tells the primary where the proxy stands and gets what it needs.
func (p *Proxy) register(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	defer func() { p.state.set(err) }()
	out, err := p.client.RegisterProxy(ctx, coder.RegisterWorkspaceProxyRequest{
		AccessURL: p.accessURL.String(), WildcardHostname: p.hosts.String(), DERPEnabled: p.c.RelayOnly, DERPOnly: p.c.RelayOnly,
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
		p.log.Info("there are other processes of this proxy", "count", n)
	}
	return err
}

// keepRegistered tells the primary again and again.
func (p *Proxy) keepRegistered(ctx context.Context) {
	redial := client.Redial{Limit: lastRetry}
	wait := p.c.Interval
	for pause(ctx, wait) {
		wait = p.c.Interval
		err := p.register(ctx)
		switch {
		case err == nil:
			redial.Reset()
		case ctx.Err() != nil:
			return
		case coder.Is(err, coder.CodeUnauthenticated):
			p.fail(err)
			return
		default:
			wait = min(redial.Next(), p.c.Interval)
			p.log.Warn("could not register, trying again", "primary", p.c.Primary.String(), "error", err, "in", wait.Round(time.Millisecond).String())
		}
	}
}

// usage tells the primary who used which apps.
type usage struct {
	p    *Proxy
	loop lifecycle.Loop
}

func (u *usage) send(ctx context.Context) error {
	return u.p.apps.SendUsage(func(stats []coder.AppStatsReport) error {
		ctx, cancel := context.WithTimeout(ctx, askLimit)
		defer cancel()
		return u.p.client.ReportAppStats(ctx, stats)
	})
}

// Start begins to tell.
func (u *usage) Start(ctx context.Context) error {
	u.loop.Run = func(ctx context.Context) {
		for pause(ctx, min(usageInterval, u.p.c.Interval)) {
			if err := u.send(ctx); err != nil && ctx.Err() == nil {
				u.p.log.Warn("could not report the use of apps, trying again", "error", err)
			}
		}
	}
	return u.loop.Start(ctx)
}

// Stop tells the rest.
func (u *usage) Stop(ctx context.Context) error {
	return errors.Join(u.loop.Stop(ctx), u.send(ctx))
}

// pause waits, unless the context ends before.
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
