package aggregated

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/seed-2a7f8fe7/coder"
)

// maxGone bounds how many deletions are remembered per namespace.
const maxGone = 1000

// object is one of a collection.
type object interface {
	metav1.Object
	runtime.Object
}

// collection is all objects of one kind, as they were read last. Each reading is
// compared with the one before, and what differs is a change, of a version that
// the clock gives. A list reads anew and has the newest version; a watch from
// that version is told exactly what changed after it. Of any other version, an
// object's own or one of another replica, a watch is told of the last minute
// again as well, which hurts nobody: clients keep objects by their names. What is
// older than what is remembered is expired, and the client lists again.
type collection struct {
	kindOf
	// empty makes an object of the kind.
	empty func() object
	clock *clock
	sites *sites
	// read reads all objects of a namespace, and gives the topics of hints that
	// they changed.
	read func(context.Context, *site) ([]object, []string, error)

	mu       sync.Mutex
	feeds    map[string]*feed
	watchers map[*watcher]struct{}
	// awake is called when a watcher comes.
	awake func()
}

// feed is the objects of one namespace.
type feed struct {
	// turn is held by whoever reads; began is when the last success did.
	turn  chan struct{}
	began time.Time
	// took is how long it was.
	took time.Duration
	// topics are those of the last reading.
	topics []string

	// Guarded by collection.mu.
	items map[string]*item
	gone  []deletion // by their versions
	// start is since when changes are known, 0 is never; trimmed is up to when
	// deletions were forgotten again.
	start, trimmed uint64
}

// item is an object, since when it is known, and when it changed.
type item struct {
	object
	born, changed uint64
}

type deletion struct {
	object
	born, changed uint64
}

// change is what a watcher is told. before and after are nil when there was, or
// is, no object; version is the clock's.
type change struct {
	before, after object
	version       uint64
}

func (c *collection) feed(namespace string) *feed {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.feeds[namespace]
	if f == nil {
		f = &feed{turn: make(chan struct{}, 1), items: map[string]*item{}}
		c.feeds[namespace] = f
	}
	return f
}

// sync reads a namespace, so that what is known is not older than this call.
// Those who wait at once share one reading.
func (c *collection) sync(ctx context.Context, namespace string) (*feed, error) {
	f := c.feed(namespace)
	asked := time.Now()
	select {
	case f.turn <- struct{}{}:
	case <-ctx.Done():
		return f, ctx.Err()
	}
	defer func() { <-f.turn }()
	if f.began.After(asked) {
		return f, nil
	}
	began := time.Now()
	s, err := c.sites.of(ctx, namespace)
	var list []object
	var topics []string
	if err == nil {
		list, topics, err = c.read(ctx, s)
	}
	if coder.Is(err, coder.CodeNotFound) && s == nil {
		err = nil // there is no control plane, and nothing of it
	}
	if err != nil {
		return f, err
	}
	f.began, f.took, f.topics = began, time.Since(began), topics
	c.take(f, list)
	return f, nil
}

// take makes what was read what is known, and tells of what differs.
func (c *collection) take(f *feed, list []object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := f.start == 0
	seen := make(map[string]bool, len(list))
	for _, o := range list {
		name := o.GetName()
		seen[name] = true
		was := f.items[name]
		switch {
		case was == nil:
			v := c.clock.next()
			f.items[name] = &item{object: o, born: v, changed: v}
			c.tell(change{after: o, version: v})
		case was.GetUID() != o.GetUID():
			c.drop(f, name)
			v := c.clock.next()
			f.items[name] = &item{object: o, born: v, changed: v}
			c.tell(change{after: o, version: v})
		case was.GetResourceVersion() != o.GetResourceVersion() || !same(was.object, o):
			v := c.clock.next()
			before := was.object
			was.object, was.changed = o, v
			c.tell(change{before: before, after: o, version: v})
		default:
			was.object = o
		}
	}
	for name := range f.items {
		if !seen[name] {
			c.drop(f, name)
		}
	}
	if first {
		f.start = c.clock.next()
	}
}

// same says whether two states of one version are the same to a watcher, as they
// are not when a name changed that is an object's elsewhere.
func same(a, b object) bool {
	la, lb := a.GetLabels(), b.GetLabels()
	for k, v := range la {
		if lb[k] != v {
			return false
		}
	}
	return len(la) == len(lb)
}

// drop forgets an object, and remembers that there was one.
func (c *collection) drop(f *feed, name string) {
	was := f.items[name]
	delete(f.items, name)
	v := c.clock.next()
	last, ok := was.DeepCopyObject().(object)
	if !ok {
		return
	}
	last.SetResourceVersion(format(v))
	if len(f.gone) >= maxGone {
		half := len(f.gone) / 2
		f.trimmed = f.gone[half-1].changed
		f.gone = slices.Delete(f.gone, 0, half)
	}
	f.gone = append(f.gone, deletion{object: last, born: was.born, changed: v})
	c.tell(change{before: last, version: v})
}

// tell tells all watchers of a change. It is called with mu held.
func (c *collection) tell(ch change) {
	for w := range c.watchers {
		w.hear(ch)
	}
}

// scope gives the namespaces of a request; "" is all that there are, those too
// that are remembered.
func (c *collection) scope(ctx context.Context, namespace string) ([]string, error) {
	if namespace != "" {
		return []string{namespace}, nil
	}
	all, err := c.sites.all(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, f := range c.feeds {
		if len(f.items) > 0 {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// known gives the objects of namespaces, sorted, and the version at which
// everything of them was seen.
func (c *collection) known(namespaces []string) ([]object, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []object
	for _, n := range namespaces {
		f := c.feeds[n]
		if f == nil {
			continue
		}
		for _, i := range f.items {
			out = append(out, i.object)
		}
	}
	slices.SortFunc(out, func(a, b object) int { return strings.Compare(keyOf(a), keyOf(b)) })
	return out, c.clock.now()
}

// keyOf orders objects of many namespaces.
func keyOf(o object) string { return o.GetNamespace() + "/" + o.GetName() }
