package agent

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
)

// checkHealth asks an app at its interval whether it does well and reports
// each change: it does once it answers, and no more when it failed as many
// times on end as its threshold says. (AG-17)
func (l *life) checkHealth(ctx context.Context, app *agentrpc.App) {
	id, err := uuid.FromBytes(app.Id)
	if err != nil || app.HealthcheckUrl == "" {
		return
	}
	interval := time.Duration(max(1, app.HealthcheckIntervalSeconds)) * time.Second
	last, failures := coder.WorkspaceAppHealthInitializing, int32(0)
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		now := last
		err := probe(ctx, app.HealthcheckUrl, interval)
		if err == nil {
			now, failures = coder.WorkspaceAppHealthHealthy, 0
		} else if failures++; failures >= app.HealthcheckThreshold {
			now = coder.WorkspaceAppHealthUnhealthy
		}
		if ctx.Err() != nil {
			return
		}
		if now != last {
			l.log.Info("the health of an app changed", "app", app.Slug, "health", now, "reason", err)
			l.reports.setHealth(id, now)
			last = now
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// prober asks apps how they do: each time on a connection of its own, for a
// held one would tell nothing; and without regard to certificates, which for
// localhost nobody has. Where an answer sends to is not asked: that it came is
// enough.
func prober() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// probe asks a URL; an answer that does not blame the server is a good one.
func probe(ctx context.Context, url string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := prober().Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // what it says does not matter
	if resp.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("status %s", resp.Status)
	}
	return nil
}
