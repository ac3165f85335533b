package path

import (
	"encoding/binary"
	"io"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/udp"
)

// capture writes packets in the pcap format, as if each were UDP between
// 10.0.0.1 (this end) and 10.0.0.2 (the agent), whatever way it took: so
// programs that show captures take it for the QUIC that it is.
type capture struct {
	mu sync.Mutex
	w  io.Writer
}

// Capture writes all packets to w, as they travel: encrypted, until stop is called,
// after which w is not used any more. A write that fails is not tried again.
func (p *Path) Capture(w io.Writer) (stop func(), err error) {
	h := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	h = binary.LittleEndian.AppendUint32(h, 2|4<<16) // version 2.4
	h = append(h, make([]byte, 8)...)
	h = binary.LittleEndian.AppendUint32(h, 65535)
	h = binary.LittleEndian.AppendUint32(h, 101) // IP follows
	if _, err := w.Write(h); err != nil {
		return nil, err
	}
	k := &capture{w: w}
	p.capture.Store(k)
	return func() {
		p.capture.CompareAndSwap(k, nil)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.w = io.Discard
	}, nil
}

// packets notes packets of seg bytes each.
func (c *capture) packets(b []byte, seg int, out bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = udp.EachSegment(b, seg, func(p []byte) error { // Capture says what a failure means
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
