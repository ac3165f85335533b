package lane

import (
	"net"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

// linger is how long a blocked Write may continue after Close.
const linger = 5 * time.Second

// outlet writes to a QUIC stream and closes it. quic-go forbids Close during a Write: such a
// Write never returns, even after the end of the connection. So Close leaves the closing to
// the last Write in progress. An outlet is safe for concurrent use as a net.Conn is.
type outlet struct {
	q       *quic.Stream
	mu      sync.Mutex
	writing int  // Writes in progress
	closing bool // Close was called
}

// Write writes p. After Close it fails with net.ErrClosed.
func (o *outlet) Write(p []byte) (int, error) {
	o.mu.Lock()
	if o.closing {
		o.mu.Unlock()
		return 0, net.ErrClosed
	}
	o.writing++
	o.mu.Unlock()
	n, err := o.q.Write(p)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writing--
	if !o.closing {
		return n, err
	}
	if n > 0 && n < len(p) { // the reader must not mistake a part for the whole
		o.q.CancelWrite(0)
	}
	if o.writing == 0 {
		_ = o.q.Close() // fails only after CancelWrite
	}
	return n, err
}

// Close ends the writing. A Write in progress continues for linger at most. If it has written
// only a part of its data by then, the reader gets an error instead of io.EOF.
func (o *outlet) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closing = true
	if o.writing > 0 {
		return o.q.SetWriteDeadline(time.Now().Add(linger))
	}
	return o.q.Close()
}
