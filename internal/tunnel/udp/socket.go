package udp

import (
	"net/netip"
	"sync"
)

// MaxDatagram is the maximum size of one read: several packets of one sender, where the kernel
// joins them.
const MaxDatagram = 64 << 10

// Datagram is a pooled buffer for one read.
type Datagram struct{ Data [MaxDatagram]byte }

var datagrams = sync.Pool{New: func() any { return new(Datagram) }}

// NewDatagram returns a buffer; Release returns it to the pool.
func NewDatagram() *Datagram { return datagrams.Get().(*Datagram) }

// Release returns the buffer to its pool.
func (d *Datagram) Release() { datagrams.Put(d) }

// Socket is a UDP socket of direct paths. Write may be called by several
// goroutines at once, Read by one.
type Socket interface {
	// Read waits for a datagram, or for several joined datagrams of one sender. These have seg
	// bytes each; the last may be shorter.
	Read(b []byte) (n, seg int, from netip.AddrPort, err error)
	// Write sends a datagram, or several of seg bytes each; the last may be shorter.
	Write(b []byte, seg int, to netip.AddrPort) error
	// Port returns the port of the socket, which is bound on all addresses of this machine.
	Port() uint16
	Close() error
}

// Real reports whether a socket was returned by Listen, and is not a socket of a network in
// memory.
func Real(s Socket) bool {
	_, ok := s.(*socket)
	return ok
}

// EachSegment calls f with each packet of a joined datagram until f fails.
func EachSegment(b []byte, seg int, f func(p []byte) error) error {
	if seg <= 0 {
		seg = len(b)
	}
	for len(b) > 0 {
		n := min(seg, len(b))
		if err := f(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
