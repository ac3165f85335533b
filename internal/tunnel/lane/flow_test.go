package lane

import (
	"sync"
	"testing"
	"testing/synctest"
)

// TestWaitMissesNoChange changes the flow after a sender was refused and before
// it waits. The sender must continue at once: no further change may come.
func TestWaitMissesNoChange(t *testing.T) {
	changes := map[string]func(*flow){
		"acknowledged": func(f *flow) { f.arrived(firstWindow) },
		"read":         func(f *flow) { f.read(firstWindow) },
		"wake":         func(f *flow) { f.wake() },
		"new way":      func(f *flow) { f.restart() },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(*testing.T) { // fails with a deadlock if wait blocks
				var f flow
				var sender sync.Mutex
				f.init()
				if f.take(firstWindow, 0, 0) == 0 {
					t.Fatal("an empty window refused")
				}
				sender.Lock()
				seen := f.seen()
				if f.take(Piece, firstWindow, firstWindow) != 0 {
					t.Fatal("a full window did not refuse")
				}
				change(&f)
				f.wait(&sender, seen)
				sender.Unlock()
			})
		})
	}
}
