// Package report queues what an agent reports to the server: its life cycle, script
// timings, log lines, metadata and the health of apps. The queue outlives connections, so
// that an outage loses nothing within its bounds.
package report

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// LineLimit is the maximum number of bytes of a log line; callers split longer lines.
const LineLimit = 16 << 10

// Bounds of queued reports and of one call.
const (
	// logLimit is the number of log bytes that the server stores per agent. The
	// agent queues no more.
	logLimit   = 1 << 20
	batchBytes = 256 << 10
	batchLines = 2000
	// orderedLimit bounds the queued states and timings.
	orderedLimit = 1000
	// pause is the delay after each call for a kind of report, so that reports
	// are batched.
	pause = 100 * time.Millisecond
	// metadataPause is the delay for metadata.
	metadataPause = time.Second
	// callTimeout bounds one call.
	callTimeout = 30 * time.Second
)

// Queue holds everything that the server does not know yet. It is safe for concurrent use.
type Queue struct {
	now      func() time.Time
	mu       sync.Mutex
	ordered  []report // life cycle and timings, in order
	next     int      // ID of the next ordered report
	lines    []line
	sequence uuid.UUID // identifies the numbers of lines
	first    int64     // number of lines[0]
	size     int       // total bytes of all lines, sent or not
	full     bool
	metadata map[string]*agentrpc.MetadataValue
	health   map[string]string
	busy     int           // calls in progress
	changed  chan struct{} // closed and replaced at each change
}

// report is one call. what names it in the log.
type report struct {
	what string
	id   int // of ordered reports
	call func(ctx context.Context, c agentrpc.DRPCAgentClient) error
}

type line struct {
	source uuid.UUID
	at     time.Time
	level  codersdk.LogLevel
	text   string
}

// NewQueue returns an empty queue. now is the clock of the times in reports.
func NewQueue(now func() time.Time) *Queue {
	r := &Queue{now: now}
	r.Reset()
	return r
}

// Reset drops all reports, because a different agent starts.
func (r *Queue) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ordered, r.lines, r.size, r.full = nil, nil, 0, false
	r.sequence, r.first = uuid.New(), 0
	r.metadata, r.health = map[string]*agentrpc.MetadataValue{}, map[string]string{}
	r.signal()
}

// signal wakes the goroutines that wait for a change. The caller holds mu.
func (r *Queue) signal() {
	if r.changed != nil {
		close(r.changed)
	}
	r.changed = make(chan struct{})
}

// Lifecycle reports a state of the agent's life cycle.
func (r *Queue) Lifecycle(state codersdk.WorkspaceAgentLifecycle) {
	req := &agentrpc.LifecycleRequest{State: string(state), ChangedAt: timestamppb.New(r.now())}
	r.Add("life cycle "+string(state), func(ctx context.Context, c agentrpc.DRPCAgentClient) error {
		_, err := c.UpdateLifecycle(ctx, req)
		return err
	})
}

// Timing reports the run of a script.
func (r *Queue) Timing(req *agentrpc.ScriptTimingRequest) {
	r.Add("script timing", func(ctx context.Context, c agentrpc.DRPCAgentClient) error {
		_, err := c.ReportScriptTiming(ctx, req)
		return err
	})
}

// Monitor reports the usage of memory or of a volume.
func (r *Queue) Monitor(req *agentrpc.MonitorRequest) {
	r.Add("use of memory or a volume", func(ctx context.Context, c agentrpc.DRPCAgentClient) error {
		_, err := c.UpdateMonitor(ctx, req)
		return err
	})
}

// Add queues a call in the order of the life cycle and of timings. what names it in the log.
// Beyond 1000 waiting calls the oldest are dropped.
func (r *Queue) Add(what string, call func(ctx context.Context, c agentrpc.DRPCAgentClient) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ordered) >= orderedLimit { // after a long outage the oldest reports are worth least
		r.ordered = r.ordered[1:]
	}
	r.ordered = append(r.ordered, report{what: what, call: call, id: r.next})
	r.next++
	r.signal()
}

// Log queues a log line of a source. Lines beyond the first MiB are dropped.
func (r *Queue) Log(source uuid.UUID, level codersdk.LogLevel, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full {
		return
	}
	r.size += len(text)
	r.full = r.size > logLimit // this line is still sent, so that the server notices the overflow
	r.lines = append(r.lines, line{source, r.now(), level, text})
	r.signal()
}

// LogFull reports whether the server accepts no more lines.
func (r *Queue) LogFull() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.full
}

// SetMetadata reports a value of metadata. A newer value replaces one that was not sent.
func (r *Queue) SetMetadata(v *agentrpc.MetadataValue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.metadata[v.Key] = v
	r.signal()
}

// SetHealth reports the health of an app. A newer value replaces one that was not sent.
func (r *Queue) SetHealth(app uuid.UUID, h codersdk.WorkspaceAppHealth) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.health[app.String()] = string(h)
	r.signal()
}

// Flush waits until only metadata is left to report.
func (r *Queue) Flush(ctx context.Context) error {
	for {
		r.mu.Lock()
		empty, changed := len(r.ordered) == 0 && len(r.lines) == 0 && r.busy == 0, r.changed
		r.mu.Unlock()
		if empty {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Send sends all reports, current and future, until a call fails because the
// connection is lost.
func (r *Queue) Send(ctx context.Context, c agentrpc.DRPCAgentClient, log *slog.Logger) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, kind := range []struct {
		next  func() (report, func())
		pause time.Duration
	}{
		{r.nextOrdered, 0}, {r.nextLines, pause}, {r.nextMetadata, metadataPause}, {r.nextHealth, pause},
	} {
		g.Go(func() error { return r.sendKind(ctx, c, log, kind.next, kind.pause) })
	}
	return g.Wait()
}

// sendKind sends reports of one kind. nextReport returns the next report and a
// function to call when the report need not be sent again; a report without
// call means that there is none.
func (r *Queue) sendKind(
	ctx context.Context, c agentrpc.DRPCAgentClient, log *slog.Logger, nextReport func() (report, func()), rest time.Duration,
) error {
	for {
		r.mu.Lock()
		next, sent := nextReport()
		changed := r.changed
		if next.call != nil {
			r.busy++
		}
		r.mu.Unlock()
		if next.call == nil {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		call, cancel := context.WithTimeout(ctx, callTimeout)
		err := next.call(call, c)
		cancel()
		final := err == nil || agentrpc.CodeOf(err) != codersdk.CodeInternal && agentrpc.CodeOf(err) != codersdk.CodeUnavailable
		r.mu.Lock()
		r.busy--
		if final {
			sent()
		}
		r.signal()
		r.mu.Unlock()
		if err != nil && !final {
			return err
		}
		if err != nil {
			log.Warn("the server rejected a report", "report", next.what, "error", err)
		}
		if rest > 0 {
			select {
			case <-time.After(rest):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// The next functions, and the functions that they return, are called with mu
// held.

func (r *Queue) nextOrdered() (report, func()) {
	if len(r.ordered) == 0 {
		return report{}, nil
	}
	first := r.ordered[0]
	return first, func() {
		if len(r.ordered) > 0 && r.ordered[0].id == first.id {
			r.ordered = r.ordered[1:]
		}
	}
}

// nextLines returns the longest run of lines of one source from the front.
func (r *Queue) nextLines() (report, func()) {
	if len(r.lines) == 0 {
		return report{}, nil
	}
	n, size, source, sequence := 0, 0, r.lines[0].source, r.sequence
	req := &agentrpc.LogsRequest{LogSourceId: source[:], SequenceId: sequence[:], First: r.first}
	for n < len(r.lines) && n < batchLines && size < batchBytes && r.lines[n].source == source {
		l := r.lines[n]
		req.Lines = append(req.Lines, &agentrpc.LogLine{CreatedAt: timestamppb.New(l.at), Level: string(l.level), Output: l.text})
		size += len(l.text)
		n++
	}
	overflowed := false
	call := func(ctx context.Context, c agentrpc.DRPCAgentClient) error {
		resp, err := c.AppendLogs(ctx, req)
		overflowed = resp.GetOverflowed()
		return err
	}
	return report{what: "log lines", call: call}, func() {
		if r.sequence != sequence {
			return // other lines are queued since Reset
		}
		n = min(n, len(r.lines)) // fewer after an overflow
		r.lines, r.first = r.lines[n:], r.first+int64(n)
		if overflowed {
			r.lines, r.full = nil, true
		}
	}
}

func (r *Queue) nextMetadata() (report, func()) {
	if len(r.metadata) == 0 {
		return report{}, nil
	}
	req := &agentrpc.MetadataRequest{}
	taken := r.metadata
	for _, v := range taken {
		req.Values = append(req.Values, v)
	}
	call := func(ctx context.Context, c agentrpc.DRPCAgentClient) error {
		_, err := c.UpdateMetadata(ctx, req)
		return err
	}
	return report{what: "metadata", call: call}, func() {
		for _, v := range req.Values {
			if r.metadata[v.Key] == v {
				delete(r.metadata, v.Key)
			}
		}
	}
}

func (r *Queue) nextHealth() (report, func()) {
	if len(r.health) == 0 {
		return report{}, nil
	}
	req := &agentrpc.AppHealthRequest{Health: map[string]string{}}
	for id, h := range r.health {
		req.Health[id] = h
	}
	call := func(ctx context.Context, c agentrpc.DRPCAgentClient) error {
		_, err := c.UpdateAppHealth(ctx, req)
		return err
	}
	return report{what: "health of apps", call: call}, func() {
		for id, h := range req.Health {
			if r.health[id] == h {
				delete(r.health, id)
			}
		}
	}
}
