package report_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent/report"
)

// logServer stores log lines by their numbers. The answer to every second request is lost.
type logServer struct {
	agentrpc.DRPCAgentClient
	requests int
	lines    map[string][]string // by sequence
}

func (s *logServer) AppendLogs(_ context.Context, r *agentrpc.LogsRequest) (*agentrpc.LogsResponse, error) {
	stored := s.lines[string(r.SequenceId)]
	if r.First > int64(len(stored)) {
		return nil, agentrpc.WithCode(codersdk.Invalid("first", "is %d after %d lines", r.First, len(stored)))
	}
	stored = stored[:r.First]
	for _, l := range r.Lines {
		stored = append(stored, l.Output)
	}
	s.lines[string(r.SequenceId)] = stored
	if s.requests++; s.requests%2 == 1 {
		return nil, errors.New("the connection is lost")
	}
	return &agentrpc.LogsResponse{}, nil
}

// TestLogLinesAreNumbered checks that a server can recognize lines that it receives again:
// a line keeps its number in each request, and the numbers of a run are consecutive.
func TestLogLinesAreNumbered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		q := report.NewQueue(time.Now)
		s := &logServer{lines: map[string][]string{}}
		go func() {
			for ctx.Err() == nil { // as the agent does, which connects again
				_ = q.Send(ctx, s, slog.New(slog.DiscardHandler))
			}
		}()
		sources := []uuid.UUID{uuid.New(), uuid.New()}
		for run := 1; run <= 2; run++ {
			for i := range 50 {
				q.Log(sources[i/7%2], codersdk.LogLevelInfo, strconv.Itoa(i))
				if i%20 == 0 {
					synctest.Wait() // a request with only some of the lines
				}
			}
			if err := q.Flush(ctx); err != nil {
				t.Fatal(err)
			}
			if len(s.lines) != run {
				t.Fatalf("%d sequences, want %d", len(s.lines), run)
			}
			for _, lines := range s.lines {
				if len(lines) != 50 {
					t.Errorf("%d lines, want 50", len(lines))
				}
				for i, l := range lines {
					if l != strconv.Itoa(i) {
						t.Fatalf("line %d is %q", i, l)
					}
				}
			}
			q.Reset()
		}
	})
}
