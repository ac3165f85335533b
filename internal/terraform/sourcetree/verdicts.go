package sourcetree

import "sync"

// maxVerdicts is the number of verdicts that are kept.
const maxVerdicts = 256

// Verdicts judges sources and keeps the recent verdicts. K identifies a source. It is safe
// for concurrent use.
type Verdicts[K comparable, V any] struct {
	judge func(source, modules []byte) V
	mu    sync.Mutex
	known map[K]V
}

// NewVerdicts returns a Verdicts. judge returns the verdict on two archives: a template and
// its modules.
func NewVerdicts[K comparable, V any](judge func(source, modules []byte) V) *Verdicts[K, V] {
	return &Verdicts[K, V]{judge: judge, known: map[K]V{}}
}

// Read returns the verdict on a source. load returns its archives and is called, without a
// lock, if the verdict is not kept. An error of load is returned; a source that cannot be read
// is a verdict.
func (c *Verdicts[K, V]) Read(key K, load func() (source, modules []byte, err error)) (V, error) {
	c.mu.Lock()
	v, ok := c.known[key]
	c.mu.Unlock()
	if ok {
		return v, nil
	}
	source, modules, err := load()
	if err != nil {
		return v, err
	}
	v = c.judge(source, modules)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxVerdicts {
		clear(c.known)
	}
	c.known[key] = v
	return v, nil
}
