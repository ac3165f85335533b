package tunnel

import (
	"net/netip"
)

// maxDatagram is what one read of a socket may give: several packets of one
// sender, where the kernel joins them.
const maxDatagram = 64 << 10

// socket is a UDP socket of direct paths. Write may be called by several
// goroutines at once, Read by one.
type socket interface {
	// Read waits for a datagram, or several of the same sender joined: then they
	// have seg bytes each, but the last.
	Read(b []byte) (n, seg int, from netip.AddrPort, err error)
	// Write sends a datagram, or several of seg bytes each, but the last.
	Write(b []byte, seg int, to netip.AddrPort) error
	// Port is where it is bound, on all addresses of this machine.
	Port() uint16
	Close() error
}

// eachSegment calls f with each packet of a joined datagram until one fails.
func eachSegment(b []byte, seg int, f func(p []byte) error) error {
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
