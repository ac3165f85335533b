package lane

import (
	"sync"
	"testing"
	"testing/synctest"
)

// TestWaitMissesNoChange changes the flow after a sender was refused and before it waits. The
// sender must continue at once, because no further change may come.
func TestWaitMissesNoChange(t *testing.T) {
	changes := map[string]func(*flow){
		"acknowledged": func(f *flow) { f.releaseInFlight(initialWindow) },
		"read":         func(f *flow) { f.releaseUnread(initialWindow) },
		"wake":         func(f *flow) { f.wakeSenders() },
		"new path":     func(f *flow) { f.resetRTT() },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(*testing.T) { // fails with a deadlock if wait blocks
				var f flow
				var sender sync.Mutex
				f.init()
				if f.reserveBytes(initialWindow, 0, 0) == 0 {
					t.Fatal("an empty window refused the bytes")
				}
				sender.Lock()
				seen := f.changeCount()
				if f.reserveBytes(Piece, initialWindow, initialWindow) != 0 {
					t.Fatal("a full window accepted more bytes")
				}
				change(&f)
				f.waitForChange(&sender, seen)
				sender.Unlock()
			})
		})
	}
}
