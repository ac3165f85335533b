package agent

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// checkHealth probes an app at its interval and reports each change. An app is
// healthy after one success, and unhealthy after as many consecutive failures
// as its threshold. (AG-17)
func (l *life) checkHealth(ctx context.Context, app *agentrpc.App) {
	id, err := uuid.FromBytes(app.Id)
	if err != nil || app.HealthcheckUrl == "" {
		return
	}
	interval := time.Duration(max(1, app.HealthcheckIntervalSeconds)) * time.Second
	last, failures := codersdk.WorkspaceAppHealthInitializing, int32(0)
	_ = lifecycle.Poll(ctx, interval, nil, func(ctx context.Context) (done bool, err error) {
		now := last
		err = probe(ctx, app.HealthcheckUrl, interval)
		if err == nil {
			now, failures = codersdk.WorkspaceAppHealthHealthy, 0
		} else if failures++; failures >= app.HealthcheckThreshold {
			now = codersdk.WorkspaceAppHealthUnhealthy
		}
		if ctx.Err() == nil && now != last {
			l.log.Info("app health changed", "app", app.Slug, "health", now, "reason", err)
			l.reports.SetHealth(id, now)
			last = now
		}
		return false, nil
	})
}

// prober returns the HTTP client of health checks. It opens a new connection
// for each probe, ignores certificates, which localhost has none of, and does
// not follow redirects.
func prober() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// probe requests a URL. Any status below 500 is a success.
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
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // the content does not matter
	if resp.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("status %s", resp.Status)
	}
	return nil
}
