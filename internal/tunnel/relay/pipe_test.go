package relay

import (
	"encoding/binary"
	"sync"
	"testing"
	"testing/synctest"
)

// TestEachInOrder sends before, while and after Each is called: everything is taken
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
				t.Errorf("%d came, not %d", got, next)
			}
			m.Release()
			if next++; next == n {
				b.Close(0, "")
			}
			return true
		})
		if a.Send(false, nil) == nil {
			t.Error("a closed link sends")
		}
	}
}

// TestOfferAtOnce has an offered message taken by the goroutine that offers it, and
// wait when it is not taken, and so all that come later.
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
			t.Errorf("%q was taken at once", got)
		}
		mu.Lock()
		busy = true
		mu.Unlock()
		o.Offer(session(1), []byte("b"))
		synctest.Wait() // Drain sends, and waits
		mu.Lock()
		busy = false
		mu.Unlock()
		o.Offer(session(1), []byte("c"))
		if string(got) != "a" {
			t.Errorf("%q overtook", got)
		}
		close(hold)
		synctest.Wait()
		if string(got) != "abc" {
			t.Errorf("%q came", got)
		}
	})
}
