package proxy

import (
	"context"
	"strings"
)

// Origins gives where browsers may connect to beside the server: the access URLs
// of the proxies that serve apps, and the same for WebSockets. It asks nobody;
// what it knows is some seconds old.
func (s *Service) Origins() []string {
	if o := s.origins.Load(); o != nil {
		return *o
	}
	return nil
}

func (s *Service) readOrigins(ctx context.Context) {
	rows, err := s.c.Store.Proxies(ctx)
	if err != nil {
		return // the next round reads them
	}
	var out []string
	for _, r := range rows {
		if r.AccessUrl != "" && !r.DerpOnly {
			out = append(out, r.AccessUrl, "ws"+strings.TrimPrefix(r.AccessUrl, "http"))
		}
	}
	s.origins.Store(&out)
}
