package relay

import (
	"encoding/binary"
	"sync"
	"testing"
	"testing/synctest"
)

// TestEachInOrder sends before, during and after the call of Each. Every message must arrive
// once and in order.
func TestEachInOrder(t *testing.T) {
	for range 50 {
		a, b := LinkPipe()
		const n = 200
		begun := make(chan struct{})
		go func() {
			for i := range n {
				if i == 10 {
					close(begun)
				}
				if err := a.Send(false, binary.BigEndian.AppendUint32(nil, uint32(i))); err != nil {
					t.Error(err)
				}
			}
		}()
		<-begun
		next := uint32(0)
		_ = Each(b, func(m *Message, wait bool) bool {
			if got := binary.BigEndian.Uint32(m.Data); got != next || !wait {
				t.Errorf("received %d, not %d", got, next)
			}
			m.Release()
			if next++; next == n {
				b.Close(0, "")
			}
			return true
		})
		if a.Send(false, nil) == nil {
			t.Error("a closed link accepted a message")
		}
	}
}

// TestOfferAtOnce checks that the goroutine that offers a message delivers it. A message that
// is not taken must wait, and all later ones behind it.
func TestOfferAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := LinkPipe()
		defer b.Close(0, "")
		var mu sync.Mutex
		busy, hold := false, make(chan struct{})
		var got []byte
		go func() {
			_ = Each(b, func(m *Message, wait bool) bool {
				mu.Lock()
				no := busy && !wait
				mu.Unlock()
				if no {
					return false
				}
				if wait {
					<-hold
				}
				_, p, _ := m.Session()
				got = append(got, p...)
				m.Release()
				return true
			})
		}()
		o := NewOutbox()
		defer o.Close()
		go o.Drain(a) //nolint:errcheck // it ends with the link
		synctest.Wait()
		o.Offer(session(1), []byte("a"))
		if string(got) != "a" {
			t.Errorf("%q was delivered at once", got)
		}
		mu.Lock()
		busy = true
		mu.Unlock()
		o.Offer(session(1), []byte("b"))
		synctest.Wait() // Drain sends and waits
		mu.Lock()
		busy = false
		mu.Unlock()
		o.Offer(session(1), []byte("c"))
		if string(got) != "a" {
			t.Errorf("a message overtook a waiting one: %q", got)
		}
		close(hold)
		synctest.Wait()
		if string(got) != "abc" {
			t.Errorf("received %q", got)
		}
	})
}
