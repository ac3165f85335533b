package udp

import (
	"net/netip"
	"sync"
)

// MaxDatagram is what one read of a socket may give: several packets of one
// sender, where the kernel joins them.
const MaxDatagram = 64 << 10

// Datagram is a pooled buffer for one read.
type Datagram struct{ Data [MaxDatagram]byte }

var datagrams = sync.Pool{New: func() any { return new(Datagram) }}

// NewDatagram returns a buffer until Release.
func NewDatagram() *Datagram { return datagrams.Get().(*Datagram) }

// Release returns the buffer to its pool.
func (d *Datagram) Release() { datagrams.Put(d) }

// Socket is a UDP socket of direct paths. Write may be called by several
// goroutines at once, Read by one.
type Socket interface {
	// Read waits for a datagram, or several of the same sender joined: then they
	// have seg bytes each, but the last.
	Read(b []byte) (n, seg int, from netip.AddrPort, err error)
	// Write sends a datagram, or several of seg bytes each, but the last.
	Write(b []byte, seg int, to netip.AddrPort) error
	// Port is where it is bound, on all addresses of this machine.
	Port() uint16
	Close() error
}

// Real reports that a socket is one of Listen's, not of a network in memory.
func Real(s Socket) bool {
	_, ok := s.(*socket)
	return ok
}

// EachSegment calls f with each packet of a joined datagram until one fails.
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
