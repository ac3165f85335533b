package proxy

import (
	"context"
	"strings"
)

// Origins returns the origins that browsers can connect to in addition to the server: the access URLs of
// the proxies that serve apps, also for WebSockets. The result is cached for some seconds.
func (s *Service) Origins() []string {
	if o := s.origins.Load(); o != nil {
		return *o
	}
	return nil
}

func (s *Service) readOrigins(ctx context.Context) {
	rows, err := s.c.Store.Proxies(ctx)
	if err != nil {
		return // the next check reads them
	}
	var out []string
	for _, r := range rows {
		if r.AccessUrl != "" && !r.DerpOnly {
			out = append(out, r.AccessUrl, "ws"+strings.TrimPrefix(r.AccessUrl, "http"))
		}
	}
	s.origins.Store(&out)
}
