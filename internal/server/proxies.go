package server

import (
	"context"
	"io"
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/proxy"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

// proxyReport bounds what is read of a workspace proxy's report, in bytes.
const proxyReport = 64 << 10

// proxies makes the room of workspace proxies.
func (s *Server) proxies(id uuid.UUID) (*proxy.Service, error) {
	hosts, err := s.appHosts()
	if err != nil {
		return nil, err
	}
	ask := http.Client{Timeout: probeLimit, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	p := proxy.New(proxy.Config{
		Store: s.db.store, Log: s.log.With(telemetry.NameKey, "proxy"), ID: id, Version: s.c.Version, AccessURL: s.accessURL, Wildcard: hosts.String(),
		Interval: s.c.ProxyHealthInterval,
		Fetch: func(ctx context.Context, url string) (proxy.Answer, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return proxy.Answer{}, err
			}
			resp, err := ask.Do(req)
			if err != nil {
				return proxy.Answer{}, err
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(io.LimitReader(resp.Body, proxyReport))
			return proxy.Answer{Status: resp.StatusCode, Body: b}, err
		},
	})
	s.proxyOrigins = p.Origins
	return p, nil
}
