package aggregated

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// Intervals of reads of a watched namespace: after a hint, at least spacing
// apart, and reading at most one part in share of the time; without a hint when
// the data is old, because hints may be incomplete; and when a watch starts.
const (
	spacing   = 500 * time.Millisecond
	share     = 10
	old       = time.Minute
	tending   = 3 * time.Second // interval of the search for namespaces
	marking   = 20 * time.Second
	maxTopics = 64 // the server's limit; see codersdk.ChangesRequest
	readLimit = 64 << 10
)

// keeper keeps the watched namespaces up to date, with one stream of hints per
// namespace while it is watched.
type keeper struct {
	sites       *sites
	collections []*collection
	log         *slog.Logger
	wake        chan struct{}

	mu   sync.Mutex
	kept map[string]chan struct{} // by namespace; a value triggers a read
}

func newKeeper(s *sites, log *slog.Logger) *keeper {
	return &keeper{sites: s, log: log, wake: make(chan struct{}, 1), kept: map[string]chan struct{}{}}
}

// awake makes the keeper check at once, after a watch started or an object
// changed.
func (k *keeper) awake() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// run runs the keeper until ctx ends.
func (k *keeper) run(ctx context.Context) {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	tick, mark := time.NewTicker(tending), time.NewTicker(marking)
	defer tick.Stop()
	defer mark.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
		case <-tick.C:
		case <-mark.C:
			for _, c := range k.collections {
				c.mark()
			}
			continue
		}
		k.tend(ctx, &tasks)
	}
}

// endWatches ends all watches.
func (k *keeper) endWatches() {
	for _, c := range k.collections {
		c.mu.Lock()
		for w := range c.watchers {
			w.stop()
		}
		c.mu.Unlock()
	}
}

// tend starts to keep the watched namespaces, and triggers reads of those that
// are kept.
func (k *keeper) tend(ctx context.Context, tasks *sync.WaitGroup) {
	namespaces := map[string]bool{}
	for _, c := range k.collections {
		list, err := c.scope(ctx, "")
		if err != nil {
			k.log.Warn("listing namespaces failed", "error", err)
			return
		}
		for _, n := range list {
			namespaces[n] = namespaces[n] || c.watched(n)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for n, watched := range namespaces {
		if !watched || k.kept[n] != nil {
			continue
		}
		hints := make(chan struct{}, 1)
		k.kept[n] = hints
		tasks.Go(func() { k.keepNamespace(ctx, n, hints) })
	}
}

// keepNamespace keeps one namespace until its last watch ends.
func (k *keeper) keepNamespace(ctx context.Context, namespace string, hints chan struct{}) {
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.kept, namespace)
	}()
	ctx, cancel := context.WithCancel(ctx)
	var ear sync.WaitGroup
	defer ear.Wait()
	defer cancel()
	topics := make(chan []string, 1)
	ear.Go(func() { k.listen(ctx, namespace, topics, hints) })
	failed := false
	for k.watched(namespace) {
		wait, want, err := k.read(ctx, namespace)
		if ctx.Err() != nil {
			return
		}
		if (err != nil) != failed {
			failed = err != nil
			k.log.Info("a control plane is watched", "namespace", namespace, "readable", !failed, "error", err)
		}
		if err == nil {
			select {
			case <-topics:
			default:
			}
			topics <- want
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if err != nil {
			continue // the next read is soon in any case
		}
		select {
		case <-ctx.Done():
			return
		case <-hints:
		case <-time.After(old):
		}
	}
}

func (k *keeper) watched(namespace string) bool {
	return slices.ContainsFunc(k.collections, func(c *collection) bool { return c.watched(namespace) })
}

// read reads the watched objects of a namespace. It returns the delay until the
// next read, and the topics of hints.
func (k *keeper) read(ctx context.Context, namespace string) (time.Duration, []string, error) {
	wait := spacing
	var topics []string
	for _, c := range k.collections {
		if !c.watched(namespace) {
			continue
		}
		f, err := c.sync(ctx, namespace)
		if err != nil {
			return 4 * spacing, nil, err
		}
		took, t := f.last()
		wait = max(wait, share*took)
		topics = append(topics, t...)
	}
	slices.Sort(topics)
	topics = slices.Compact(topics)
	return wait, topics[:min(len(topics), maxTopics)], nil
}

// last returns the duration of the last read, and its topics.
func (f *feed) last() (time.Duration, []string) {
	f.turn <- struct{}{}
	defer func() { <-f.turn }()
	return f.took, f.topics
}

// listen receives hints from a namespace's control plane, and reconnects when
// the stream is lost.
func (k *keeper) listen(ctx context.Context, namespace string, topics <-chan []string, hints chan<- struct{}) {
	redial := lifecycle.Backoff{}
	var want []string
	for ctx.Err() == nil {
		if want == nil {
			select {
			case <-ctx.Done():
				return
			case want = <-topics:
			}
		}
		if s, err := k.sites.of(ctx, namespace); err == nil {
			want = receiveHints(ctx, s, want, topics, hints, redial.Reset)
		}
		redial.Sleep(ctx)
		sendHint(hints) // hints may have been missed meanwhile
	}
}

func sendHint(hints chan<- struct{}) {
	select {
	case hints <- struct{}{}:
	default:
	}
}

// receiveHints receives one stream of hints. It returns the topics that were requested
// last.
func receiveHints(ctx context.Context, s *site, want []string, topics <-chan []string, hints chan<- struct{}, begun func()) []string {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.Client.Header = nil
	dial, done := context.WithTimeout(ctx, callTimeout)
	defer done()
	conn, err := s.Client.Dial(dial, "/changes", nil)
	if err != nil {
		return want
	}
	defer conn.CloseNow() //nolint:errcheck // the stream has ended
	conn.SetReadLimit(readLimit)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			if _, _, err := conn.Read(ctx); err != nil {
				return
			}
			sendHint(hints)
		}
	}()
	ask := func() bool {
		b, err := json.Marshal(codersdk.ChangesRequest{Topics: want, Ready: true})
		return err == nil && conn.Write(ctx, websocket.MessageText, b) == nil
	}
	if !ask() {
		return want
	}
	begun()
	ping := time.NewTicker(old)
	defer ping.Stop()
	for {
		select {
		case <-ctx.Done():
			return want
		case <-ended:
			return want
		case next := <-topics:
			if slices.Equal(next, want) {
				continue
			}
			if want = next; !ask() {
				return want
			}
		case <-ping.C:
			pong, done := context.WithTimeout(ctx, callTimeout)
			err := conn.Ping(pong)
			done()
			if err != nil {
				return want
			}
		}
	}
}
