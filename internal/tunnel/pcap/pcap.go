// Package pcap writes packets of a tunnel to a file that network analyzers read.
package pcap

import (
	"encoding/binary"
	"io"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/udp"
)

// Writer writes packets in the pcap format, as if each were UDP between 10.0.0.1 (this
// end) and 10.0.0.2 (the agent), regardless of its path: analyzers then decode them as
// QUIC. It is safe for concurrent use.
type Writer struct {
	mu sync.Mutex
	w  io.Writer
}

// New writes the header of a capture to w. The Writer does not retry failed writes.
func New(w io.Writer) (*Writer, error) {
	h := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	h = binary.LittleEndian.AppendUint32(h, 2|4<<16) // version 2.4
	h = append(h, make([]byte, 8)...)
	h = binary.LittleEndian.AppendUint32(h, 65535)
	h = binary.LittleEndian.AppendUint32(h, 101) // IP packets follow
	if _, err := w.Write(h); err != nil {
		return nil, err
	}
	return &Writer{w: w}, nil
}

// Stop ends the capture. The underlying writer is not used afterwards.
func (c *Writer) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.w = io.Discard
}

// Packets records packets of seg bytes each, which were sent (out) or received.
func (c *Writer) Packets(b []byte, seg int, out bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = udp.EachSegment(b, seg, func(p []byte) error { // failed writes are not retried, see New
		now, n := time.Now(), 28+len(p)
		f := binary.LittleEndian.AppendUint32(make([]byte, 0, 16+n), uint32(now.Unix()))
		f = binary.LittleEndian.AppendUint32(f, uint32(now.Nanosecond()/1000))
		f = binary.LittleEndian.AppendUint32(f, uint32(n))
		f = binary.LittleEndian.AppendUint32(f, uint32(n))
		f = append(f, 0x45, 0, byte(n>>8), byte(n), 0, 0, 0x40, 0, 64, 17, 0, 0)
		here, there := [4]byte{10, 0, 0, 1}, [4]byte{10, 0, 0, 2}
		from, to := uint16(40000), uint16(443)
		if !out {
			here, there, from, to = there, here, to, from
		}
		f = append(append(f, here[:]...), there[:]...)
		f = binary.BigEndian.AppendUint16(f, from)
		f = binary.BigEndian.AppendUint16(f, to)
		f = binary.BigEndian.AppendUint16(f, uint16(8+len(p)))
		f = append(append(f, 0, 0), p...)
		_, err := c.w.Write(f)
		return err
	})
}
