package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

const (
	// reportPath is the path of a proxy's health report.
	reportPath = "/healthz-report"
	// checkLimit is the timeout of a check.
	checkLimit = 10 * time.Second
	// pause is the interval at which a server looks for due checks.
	pause = 5 * time.Second
	// maxChecks is the maximum number of concurrent checks.
	maxChecks = 8
	// maxMessages is the maximum number of stored messages of a report.
	maxMessages = 20
)

// watch checks due proxies while it runs.
func (s *Service) watch(ctx context.Context) {
	lifecycle.Poll(ctx, min(pause, s.c.Interval), s.look, func(ctx context.Context) (bool, error) { //nolint:errcheck // only ctx ends it
		s.readOrigins(ctx)
		if _, err := s.CheckDue(ctx); err != nil && ctx.Err() == nil {
			s.c.Log.Warn("cannot check the workspace proxies; retrying", "error", err)
		}
		return false, nil
	})
}

// CheckDue checks the proxies whose last check is an interval ago and returns their number. Each check is
// claimed by one server. If that server crashes, another one checks the proxy after the next interval.
func (s *Service) CheckDue(ctx context.Context) (int, error) {
	checked := 0
	for {
		now := s.c.Now()
		due, err := s.c.Store.ProxyClaimChecks(ctx, now.Add(s.c.Interval), now, maxChecks)
		if err != nil {
			return checked, err
		}
		failures := make([]error, len(due))
		var all sync.WaitGroup
		for i, row := range due {
			all.Go(func() { failures[i] = s.check(ctx, row) })
		}
		all.Wait()
		for _, err := range failures {
			if err != nil {
				return checked, err
			}
		}
		if checked += len(due); len(due) < maxChecks {
			return checked, nil
		}
	}
}

// check requests the health of one proxy and stores the result.
func (s *Service) check(ctx context.Context, row sqlc.WorkspaceProxy) error {
	status, report := s.ask(ctx, row.AccessUrl)
	if ctx.Err() != nil {
		return nil // the server stops, so the result says nothing about the proxy
	}
	now := s.c.Now()
	_, err := s.c.Store.ProxyChecked(ctx, sqlc.ProxyCheckedParams{
		ID: row.ID, AccessUrl: row.AccessUrl, Status: string(status), Errors: bounded(report.Errors), Warnings: bounded(report.Warnings), Now: &now,
	})
	if err == nil && string(status) != row.Status {
		s.c.Log.Info("the health of a workspace proxy changed", "proxy", row.Name, "url", row.AccessUrl, "status", status, "errors", report.Errors)
	}
	return err
}

func (s *Service) ask(ctx context.Context, at string) (codersdk.ProxyStatus, codersdk.ProxyHealthReport) {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	var r codersdk.ProxyHealthReport
	a, err := s.c.Fetch(ctx, at+reportPath)
	if err != nil {
		r.Errors = []string{fmt.Sprintf("the server cannot reach the proxy at %s: %s", at, err)}
		return codersdk.ProxyStatusUnreachable, r
	}
	if a.Status != 200 {
		r.Errors = []string{fmt.Sprintf("%s%s responds with status %d instead of 200; check that the URL leads to the proxy", at, reportPath, a.Status)}
		return codersdk.ProxyStatusUnhealthy, r
	}
	if err := json.Unmarshal(a.Body, &r); err != nil {
		r = codersdk.ProxyHealthReport{Errors: []string{fmt.Sprintf("%s%s does not return a health report; check that the URL leads to the proxy", at, reportPath)}}
		return codersdk.ProxyStatusUnhealthy, r
	}
	if len(r.Errors) > 0 {
		return codersdk.ProxyStatusUnhealthy, r
	}
	return codersdk.ProxyStatusOK, r
}

// bounded returns the messages to store.
func bounded(all []string) []string {
	out := []string{}
	for _, text := range all[:min(len(all), maxMessages)] {
		out = append(out, sanitizeText(text))
	}
	return out
}
