package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

const (
	// reportPath is where a proxy says how it does.
	reportPath = "/healthz-report"
	// checkLimit is how long it may take to.
	checkLimit = 10 * time.Second
	// pause is how often a server looks whether a check is due.
	pause = 5 * time.Second
	// maxChecks is how many run at a time.
	maxChecks = 8
	// maxMessages bounds what is kept of a report.
	maxMessages = 20
)

// watch checks proxies that are due, as long as it runs.
func (s *Service) watch(ctx context.Context) {
	tick := time.NewTicker(min(pause, s.c.Interval))
	defer tick.Stop()
	for {
		s.readOrigins(ctx)
		if _, err := s.CheckDue(ctx); err != nil && ctx.Err() == nil {
			s.c.Log.Warn("cannot check the workspace proxies, trying again soon", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.look:
		case <-tick.C:
		}
	}
}

// CheckDue checks the proxies whose last check is an interval ago and gives how
// many there were. Each is taken by one server, which may die in the middle: the
// next takes it after another interval.
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

// check asks one proxy how it does and keeps the answer.
func (s *Service) check(ctx context.Context, row sqlc.WorkspaceProxy) error {
	status, report := s.ask(ctx, row.AccessUrl)
	if ctx.Err() != nil {
		return nil // the server stops, which says nothing of the proxy
	}
	now := s.c.Now()
	_, err := s.c.Store.ProxyChecked(ctx, sqlc.ProxyCheckedParams{
		ID: row.ID, AccessUrl: row.AccessUrl, Status: string(status), Errors: bounded(report.Errors), Warnings: bounded(report.Warnings), Now: &now,
	})
	if err == nil && string(status) != row.Status {
		s.c.Log.Info("a workspace proxy does otherwise than before", "proxy", row.Name, "url", row.AccessUrl, "status", status, "errors", report.Errors)
	}
	return err
}

func (s *Service) ask(ctx context.Context, at string) (coder.ProxyStatus, coder.ProxyHealthReport) {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	var r coder.ProxyHealthReport
	a, err := s.c.Fetch(ctx, at+reportPath)
	if err != nil {
		r.Errors = []string{fmt.Sprintf("the server cannot reach the proxy at %s: %s", at, err)}
		return coder.ProxyStatusUnreachable, r
	}
	if a.Status != 200 {
		r.Errors = []string{fmt.Sprintf("%s%s answers %d instead of 200: something else may be at the proxy's access URL", at, reportPath, a.Status)}
		return coder.ProxyStatusUnhealthy, r
	}
	if err := json.Unmarshal(a.Body, &r); err != nil {
		r = coder.ProxyHealthReport{Errors: []string{fmt.Sprintf("%s%s does not answer a report: something else may be at the proxy's access URL", at, reportPath)}}
		return coder.ProxyStatusUnhealthy, r
	}
	if len(r.Errors) > 0 {
		return coder.ProxyStatusUnhealthy, r
	}
	return coder.ProxyStatusOK, r
}

// bounded gives what of a proxy's messages is kept.
func bounded(all []string) []string {
	out := []string{}
	for _, text := range all[:min(len(all), maxMessages)] {
		out = append(out, clip(text))
	}
	return out
}
