package aggregated

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// queue bounds the pending changes of a slow watch; beyond it the client must
// list again. (OP-23)
const queue = 100

// watcher is a watch of one namespace or of all.
type watcher struct {
	from      *collection
	namespace string
	matches   func(object) bool
	bookmarks bool
	backlog   []watch.Event
	live      chan watch.Event // closed, by the collection, when it is full
	out       chan watch.Event
	stop      context.CancelFunc
	ctx       context.Context // of the request, until Stop
	full      sync.Once
}

// ResultChan returns the events; it is closed when the watch ends.
func (w *watcher) ResultChan() <-chan watch.Event { return w.out }

// Stop ends the watch.
func (w *watcher) Stop() { w.stop() }

// addChange adds a change. The caller holds the collection's mu.
func (w *watcher) addChange(ch change) {
	o := ch.after
	if o == nil {
		o = ch.before
	}
	if w.namespace != "" && o.GetNamespace() != w.namespace {
		return
	}
	before := ch.before != nil && w.matches(ch.before)
	after := ch.after != nil && w.matches(ch.after)
	switch {
	case !before && !after:
	case before && !after:
		w.push(watch.Event{Type: watch.Deleted, Object: o.DeepCopyObject()})
	case after && !before:
		w.push(watch.Event{Type: watch.Added, Object: o.DeepCopyObject()})
	default:
		w.push(watch.Event{Type: watch.Modified, Object: o.DeepCopyObject()})
	}
}

// push sends an event to a watch, or ends the watch. The caller holds mu.
func (w *watcher) push(e watch.Event) {
	if _, there := w.from.watchers[w]; !there {
		return
	}
	select {
	case w.live <- e:
	default:
		delete(w.from.watchers, w)
		w.full.Do(func() { close(w.live) })
	}
}

// run delivers the events until the watch ends.
func (w *watcher) run() {
	defer close(w.out)
	defer func() {
		w.from.mu.Lock()
		delete(w.from.watchers, w)
		w.from.mu.Unlock()
	}()
	for _, e := range w.backlog {
		if !w.deliver(e) {
			return
		}
	}
	w.backlog = nil
	for {
		select {
		case <-w.ctx.Done():
			return
		case e, ok := <-w.live:
			if !ok {
				w.deliver(watch.Event{Type: watch.Error, Object: &metav1.Status{
					Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired,
					Message: "more than " + strconv.Itoa(queue) + " changes are pending for this watch; list again",
				}})
				return
			}
			if !w.deliver(e) {
				return
			}
		}
	}
}

func (w *watcher) deliver(e watch.Event) bool {
	select {
	case w.out <- e:
		return true
	case <-w.ctx.Done():
		return false
	}
}

// start is where a watch starts.
type start struct {
	version uint64 // that the client has seen; 0 means nothing
	// initial requests all objects first, and a bookmark after them. (KEP-3157)
	initial, bookmark bool
	bookmarks         bool // now and then
}

// watch starts a watch of namespaces, which belong to namespace.
func (c *collection) watch(ctx context.Context, namespace string, namespaces []string, matches func(object) bool, at start) (*watcher, error) {
	ctx, stop := context.WithCancel(ctx)
	w := &watcher{
		from:      c,
		namespace: namespace,
		matches:   matches,
		bookmarks: at.bookmarks,
		live:      make(chan watch.Event, queue),
		out:       make(chan watch.Event),
		stop:      stop,
		ctx:       ctx,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.prepare(w, namespaces, at); err != nil {
		stop()
		return nil, err
	}
	c.watchers[w] = struct{}{}
	go w.run()
	c.awake()
	return w, nil
}

// prepare collects the first events of a watch. The caller holds mu.
func (c *collection) prepare(w *watcher, namespaces []string, at start) error {
	since, exact := c.clock.since(at.version)
	if !at.initial && at.version > c.clock.now()+overlap {
		return apierrors.NewTimeoutError("Too large resource version: this server has not seen it yet", 1)
	}
	type told struct {
		watch.Event
		version uint64
	}
	var all []told
	for _, n := range namespaces {
		f := c.feeds[n]
		if f == nil {
			continue
		}
		if !at.initial && (since < f.trimmed || !exact && since < f.start) {
			return errExpired()
		}
		for _, i := range f.items {
			kind := watch.Modified
			if at.initial || i.born > since {
				kind = watch.Added
			}
			switch {
			case !at.initial && i.changed <= since:
				continue
			case w.matches(i.object):
			case at.initial || kind == watch.Added:
				continue
			default:
				kind = watch.Deleted // it may have matched before
			}
			all = append(all, told{watch.Event{Type: kind, Object: i.DeepCopyObject()}, i.changed})
		}
		for _, d := range f.gone {
			if !at.initial && d.changed > since && d.born <= since && w.matches(d.object) {
				all = append(all, told{watch.Event{Type: watch.Deleted, Object: d.DeepCopyObject()}, d.changed})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b told) int { return cmp.Compare(a.version, b.version) })
	for _, t := range all {
		w.backlog = append(w.backlog, t.Event)
	}
	if at.bookmark {
		w.backlog = append(w.backlog, c.bookmark(true))
	}
	return nil
}

// bookmark returns an event with the version of everything sent before it. The
// caller holds mu.
func (c *collection) bookmark(initial bool) watch.Event {
	o := c.empty()
	o.SetResourceVersion(format(c.clock.now()))
	if initial {
		o.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return watch.Event{Type: watch.Bookmark, Object: o}
}

// mark sends bookmarks to the watches that request them.
func (c *collection) mark() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.watchers {
		if w.bookmarks && len(w.live) < queue/2 {
			w.push(c.bookmark(false))
		}
	}
}

// watched reports whether a namespace is watched; "" means any.
func (c *collection) watched(namespace string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.watchers {
		if w.namespace == "" || w.namespace == namespace {
			return true
		}
	}
	return false
}
