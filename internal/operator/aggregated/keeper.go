package aggregated

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-2a7f8fe7/coder"
	coderclient "github.com/seed-2a7f8fe7/coder/client"
)

// How often a namespace that is watched is read: after a hint, but no more often
// than spacing, nor than makes one part in share of the time; without a hint when
// it is old, as hints may not tell everything; and when there is a watcher more.
const (
	spacing   = 500 * time.Millisecond
	share     = 10
	old       = time.Minute
	tending   = 3 * time.Second // how often namespaces are looked for
	marking   = 20 * time.Second
	maxTopics = 64 // a server takes no more; see coder.ChangesRequest
	readLimit = 64 << 10
)

// keeper keeps what is watched up to date: one stream of hints per namespace,
// for as long as somebody watches it.
type keeper struct {
	sites       *sites
	collections []*collection
	log         *slog.Logger
	wake        chan struct{}

	mu   sync.Mutex
	kept map[string]chan struct{} // by namespace; a value is a reason to read again
}

func newKeeper(s *sites, log *slog.Logger) *keeper {
	return &keeper{sites: s, log: log, wake: make(chan struct{}, 1), kept: map[string]chan struct{}{}}
}

// awake has the keeper look at once: somebody watches, or something was done.
func (k *keeper) awake() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// run keeps until ctx ends.
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

// end ends all watches.
func (k *keeper) end() {
	for _, c := range k.collections {
		c.mu.Lock()
		for w := range c.watchers {
			w.stop()
		}
		c.mu.Unlock()
	}
}

// tend begins to keep the namespaces that are watched, and has those read again
// that are kept.
func (k *keeper) tend(ctx context.Context, tasks *sync.WaitGroup) {
	namespaces := map[string]bool{}
	for _, c := range k.collections {
		list, err := c.scope(ctx, "")
		if err != nil {
			k.log.Warn("namespaces cannot be looked for", "error", err)
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
		tasks.Go(func() { k.keep(ctx, n, hints) })
	}
}

// keep keeps one namespace until nobody watches it.
func (k *keeper) keep(ctx context.Context, namespace string, hints chan struct{}) {
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
			continue // it is asked again soon anyway
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

// read reads what is watched of a namespace. It gives how long it is left alone
// then, and what hints to listen for.
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

// last gives how long the last reading took, and its topics.
func (f *feed) last() (time.Duration, []string) {
	f.turn <- struct{}{}
	defer func() { <-f.turn }()
	return f.took, f.topics
}

// listen hears hints of a namespace's control plane, and dials again when the
// stream is lost.
func (k *keeper) listen(ctx context.Context, namespace string, topics <-chan []string, hints chan<- struct{}) {
	redial := coderclient.Redial{}
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
			want = hear(ctx, s, want, topics, hints, redial.Reset)
		}
		select {
		case <-ctx.Done():
		case <-time.After(redial.Next()):
		}
		tell(hints) // what happened meanwhile was not heard
	}
}

func tell(hints chan<- struct{}) {
	select {
	case hints <- struct{}{}:
	default:
	}
}

// hear is one stream of hints. It gives the topics that were wanted last.
func hear(ctx context.Context, s *site, want []string, topics <-chan []string, hints chan<- struct{}, begun func()) []string {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.Client.Header = nil
	dial, done := context.WithTimeout(ctx, callTimeout)
	defer done()
	conn, err := s.Client.Dial(dial, "/changes", nil)
	if err != nil {
		return want
	}
	defer conn.CloseNow() //nolint:errcheck // whatever it says, it is over
	conn.SetReadLimit(readLimit)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			if _, _, err := conn.Read(ctx); err != nil {
				return
			}
			tell(hints)
		}
	}()
	ask := func() bool {
		b, err := json.Marshal(coder.ChangesRequest{Topics: want, Ready: true})
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
