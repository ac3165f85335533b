package server

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Registry returns what the server registers its metrics with.
func (s *Server) Registry() *prometheus.Registry { return s.base.Registry }

// Purge deletes the old records of every kind now, and returns how many kinds
// there are.
func (s *Server) Purge(ctx context.Context) (kinds int, err error) {
	for _, k := range s.records {
		if _, err := k.Delete(ctx); err != nil {
			return 0, fmt.Errorf("%s: %w", k.Name, err)
		}
	}
	return len(s.records), nil
}
