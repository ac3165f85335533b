package aggregated

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// maxGone bounds the remembered deletions per namespace.
const maxGone = 1000

// object is an object of a collection.
type object interface {
	metav1.Object
	runtime.Object
}

// collection contains all objects of one kind as last read. Each read is
// compared with the one before; a difference is a change, with a version from
// the clock. A list reads again and has the newest version. A watch from that
// version receives exactly the later changes. A watch from any other version,
// such as an object's or another replica's, also receives the changes of the
// last minute again, which is harmless because clients keep objects by name. A
// version older than the remembered changes is expired, and the client must
// list again.
type collection struct {
	kindOf
	// empty returns an empty object of the kind.
	empty func() object
	clock *clock
	sites *sites
	// read reads all objects of a namespace, and returns the topics of hints
	// about their changes.
	read func(context.Context, *site) ([]object, []string, error)

	mu       sync.Mutex
	feeds    map[string]*feed
	watchers map[*watcher]struct{}
	// awake is called when a watch starts.
	awake func()
}

// feed contains the objects of one namespace.
type feed struct {
	// turn is held while reading; began is the start of the last successful
	// read.
	turn  chan struct{}
	began time.Time
	// took is the duration of that read.
	took time.Duration
	// topics are the topics of that read.
	topics []string

	// Guarded by collection.mu.
	items map[string]*item
	gone  []deletion // by their versions
	// start is the version from which changes are known, 0 for never; trimmed
	// is the version up to which deletions were forgotten.
	start, trimmed uint64
}

// item is an object with the versions at which it was first seen and last
// changed.
type item struct {
	object
	born, changed uint64
}

type deletion struct {
	object
	born, changed uint64
}

// change is a change for watches. before and after are nil if the object did
// not exist before or does not exist after; version is the clock's.
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

// sync reads a namespace, so that the collection is not older than this call.
// Concurrent calls share one read.
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
	if codersdk.Is(err, codersdk.CodeNotFound) && s == nil {
		err = nil // without a control plane there are no objects
	}
	if err != nil {
		return f, err
	}
	f.began, f.took, f.topics = began, time.Since(began), topics
	c.replaceObjects(f, list)
	return f, nil
}

// replaceObjects replaces the collection's objects by what was read, and reports the
// differences.
func (c *collection) replaceObjects(f *feed, list []object) {
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
			c.notifyWatchers(change{after: o, version: v})
		case was.GetUID() != o.GetUID():
			c.drop(f, name)
			v := c.clock.next()
			f.items[name] = &item{object: o, born: v, changed: v}
			c.notifyWatchers(change{after: o, version: v})
		case was.GetResourceVersion() != o.GetResourceVersion() || !same(was.object, o):
			v := c.clock.next()
			before := was.object
			was.object, was.changed = o, v
			c.notifyWatchers(change{before: before, after: o, version: v})
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

// same reports whether two states of the same version are equal for a watch.
// They differ if a name that belongs to another object changed.
func same(a, b object) bool {
	la, lb := a.GetLabels(), b.GetLabels()
	for k, v := range la {
		if lb[k] != v {
			return false
		}
	}
	return len(la) == len(lb)
}

// drop removes an object and remembers its deletion.
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
	c.notifyWatchers(change{before: last, version: v})
}

// notifyWatchers reports a change to all watches. The caller holds mu.
func (c *collection) notifyWatchers(ch change) {
	for w := range c.watchers {
		w.addChange(ch)
	}
}

// scope returns the namespaces of a request; "" means all existing and
// remembered ones.
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

// known returns the objects of namespaces, sorted, and the version at which all
// of them were read.
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

// keyOf orders objects of several namespaces.
func keyOf(o object) string { return o.GetNamespace() + "/" + o.GetName() }
