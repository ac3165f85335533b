package credential

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// TestHashesAtOnce has 500 callers ask for a slot. The memory of a hash is in use only while
// its caller has one.
func TestHashesAtOnce(t *testing.T) {
	h := NewHasher()
	refused := errors.New("refused")
	var running, most atomic.Int64
	reached := make(chan struct{})
	full := sync.OnceFunc(func() { close(reached) })
	var all sync.WaitGroup
	for range 500 {
		all.Go(func() {
			_, err := h.VerifyIf(context.Background(), func() error {
				n := running.Add(1)
				defer running.Add(-1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				if n >= HashesAtOnce {
					full()
				}
				<-reached // the first ones stay until all slots are taken
				return refused
			}, "password", "")
			if !errors.Is(err, refused) {
				t.Errorf("got %v", err)
			}
		})
	}
	all.Wait()
	if n := most.Load(); n != HashesAtOnce {
		t.Errorf("%d callers had a slot at the same time, want %d", n, HashesAtOnce)
	}
}
