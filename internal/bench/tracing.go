package bench

import (
	"context"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tracing"
)

// spansOfRequest is more spans than a request of the API starts: its own, and one for each query.
const spansOfRequest = 20

// tracesOff measures what tracing costs a request of a server that exports no traces: the calls that would start
// and end its spans, as a share of the request.
func tracesOff(ctx context.Context, s *server) ([]row, error) {
	var requests []time.Duration
	for range 100 {
		start := time.Now()
		if _, err := s.c.User(ctx, "me"); err != nil {
			return nil, err
		}
		requests = append(requests, time.Since(start))
	}
	const spans = 1_000_000
	start := time.Now()
	for range spans {
		_, span := tracing.Start(ctx, "query", tracing.String("db.system.name", "postgresql"))
		tracing.End(span, nil)
	}
	perRequest := time.Since(start) * spansOfRequest / spans
	return []row{atMost("traces_off_of_request", 100*float64(perRequest)/float64(quantile(requests, 0.5)), 1, "%")}, nil
}
