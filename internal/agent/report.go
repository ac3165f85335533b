package agent

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
)

// Bounds of what waits to be reported, and of what one call brings.
const (
	// logLimit is how many bytes of log the server keeps of an agent; more need
	// not be kept for it.
	logLimit   = 1 << 20
	lineLimit  = 16 << 10 // of one line; longer ones are split
	batchBytes = 256 << 10
	batchLines = 2000
	// orderedLimit is how many states and timings wait at most.
	orderedLimit = 1000
	// pause is how long a kind of report rests after each call, so that what
	// comes meanwhile travels together.
	pause = 100 * time.Millisecond
	// metadataPause is the same for metadata.
	metadataPause = time.Second
)

// reports is what the server is still to be told. It outlives connections.
type reports struct {
	mu       sync.Mutex
	ordered  []report // life cycle and timings: each in its turn
	next     int      // id of the next of them
	lines    []line
	size     int // bytes of all lines since the beginning, sent or not
	full     bool
	metadata map[string]*agentrpc.MetadataValue
	health   map[string]string
	busy     int           // calls under way
	changed  chan struct{} // closed and replaced at each change
}

// report is one call; what says its name for the log.
type report struct {
	what string
	id   int // of ordered ones
	call func(ctx context.Context, c agentrpc.DRPCAgentClient) error
}

type line struct {
	source uuid.UUID
	at     time.Time
	level  coder.LogLevel
	text   string
}

func newReports() *reports {
	r := &reports{}
	r.reset()
	return r
}

// reset forgets everything, for another agent begins.
func (r *reports) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ordered, r.lines, r.size, r.full = nil, nil, 0, false
	r.metadata, r.health = map[string]*agentrpc.MetadataValue{}, map[string]string{}
	r.signal()
}

// signal wakes whoever waits for a change. The caller holds mu.
func (r *reports) signal() {
	if r.changed != nil {
		close(r.changed)
	}
	r.changed = make(chan struct{})
}

func (r *reports) lifecycle(state coder.WorkspaceAgentLifecycle) {
	req := &agentrpc.LifecycleRequest{State: string(state), ChangedAt: timestamppb.Now()}
	r.add("life cycle "+string(state), func(ctx context.Context, c agentrpc.DRPCAgentClient) error {
		_, err := c.UpdateLifecycle(ctx, req)
		return err
	})
}

func (r *reports) timing(req *agentrpc.ScriptTimingRequest) {
	r.add("script timing", func(ctx context.Context, c agentrpc.DRPCAgentClient) error {
		_, err := c.ReportScriptTiming(ctx, req)
		return err
	})
}

func (r *reports) monitor(req *agentrpc.MonitorRequest) {
	r.add("use of memory or a volume", func(ctx context.Context, c agentrpc.DRPCAgentClient) error {
		_, err := c.UpdateMonitor(ctx, req)
		return err
	})
}

func (r *reports) add(what string, call func(ctx context.Context, c agentrpc.DRPCAgentClient) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ordered) >= orderedLimit { // the server has been away for long: the oldest news is worth least
		r.ordered = r.ordered[1:]
	}
	r.ordered = append(r.ordered, report{what: what, call: call, id: r.next})
	r.next++
	r.signal()
}

func (r *reports) log(source uuid.UUID, level coder.LogLevel, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full {
		return
	}
	r.size += len(text)
	r.full = r.size > logLimit // this line still goes, so that the server learns of the overflow
	r.lines = append(r.lines, line{source, time.Now(), level, text})
	r.signal()
}

// logFull says that the server wants no more lines.
func (r *reports) logFull() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.full
}

func (r *reports) setMetadata(v *agentrpc.MetadataValue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.metadata[v.Key] = v
	r.signal()
}

func (r *reports) setHealth(app uuid.UUID, h coder.WorkspaceAppHealth) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.health[app.String()] = string(h)
	r.signal()
}

// flushed waits until nothing but metadata is left to be told.
func (r *reports) flushed(ctx context.Context) error {
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

// send tells the server everything, now and as it comes, until a call fails
// for want of a connection.
func (r *reports) send(ctx context.Context, c agentrpc.DRPCAgentClient, log *slog.Logger) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, kind := range []struct {
		take  func() (report, func())
		pause time.Duration
	}{
		{r.takeOrdered, 0}, {r.takeLines, pause}, {r.takeMetadata, metadataPause}, {r.takeHealth, pause},
	} {
		g.Go(func() error { return r.sendKind(ctx, c, log, kind.take, kind.pause) })
	}
	return g.Wait()
}

// sendKind sends reports of one kind. take gives the next, with what to do
// once it need not be sent again; a report without call means there is none.
func (r *reports) sendKind(ctx context.Context, c agentrpc.DRPCAgentClient, log *slog.Logger, take func() (report, func()), rest time.Duration) error {
	for {
		r.mu.Lock()
		next, sent := take()
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
		final := err == nil || agentrpc.CodeOf(err) != coder.CodeInternal && agentrpc.CodeOf(err) != coder.CodeUnavailable
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
			log.Warn("the server refused a report", "report", next.what, "error", err)
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

// The take functions are called with mu held, and so is what they give back.

func (r *reports) takeOrdered() (report, func()) {
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

// takeLines gives the longest run of lines of one source from the front.
func (r *reports) takeLines() (report, func()) {
	if len(r.lines) == 0 {
		return report{}, nil
	}
	n, size, source := 0, 0, r.lines[0].source
	req := &agentrpc.LogsRequest{LogSourceId: source[:]}
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
		r.lines = r.lines[min(n, len(r.lines)):]
		if overflowed {
			r.lines, r.full = nil, true
		}
	}
}

func (r *reports) takeMetadata() (report, func()) {
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

func (r *reports) takeHealth() (report, func()) {
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
