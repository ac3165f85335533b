// Package parity restores lost packets.
//
// QUIC takes each lost packet for a sign of a full queue and reduces its rate by a third.
// A path that loses one of ten thousand packets by chance does so several times a second.
// So after losses on a direct path, a parity follows each group of big packets, as a
// probe. A parity is the exclusive or of all packets of its group. With it the other end
// restores a single missing packet. The packet arrives late for QUIC, which then undoes
// its reaction to the loss and adapts to late packets. A burst of losses, as from a full
// queue, hits more than one packet of a group: QUIC reacts to it as usual.
//
// A parity is sealed like all probes, and QUIC authenticates restored packets like any
// other. An older end drops parities. All times are durations since the same arbitrary
// moment.
package parity

import (
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/udp"
)

const (
	// groupSize is the number of packets per parity: 3 % more is sent.
	groupSize = 32
	// minGroup packets are enough for a parity if the first was sent minGroupAge ago.
	minGroup    = 8
	minGroupAge = 10 * time.Millisecond
	// activePeriod is how long parities are sent after a loss. Packets are kept equally long after a
	// parity, for the next one.
	activePeriod = 30 * time.Second
	// maxKept is the maximum number of kept packets.
	maxKept = 128
	// tagSize is the number of bytes at the end of a packet that identify it. They are
	// ciphertext, and so random.
	tagSize = 2
	// minSize is the size in bytes above which packets belong to groups.
	minSize = 1000
	// maxSize is the maximum size of a packet that quic-go sends or accepts.
	maxSize = 1452
)

var errParity = errors.New("not a parity")

// Parity is the parity of a group of packets.
type Parity struct {
	tags   []byte // last bytes of each packet
	length uint16 // exclusive or of the lengths
	xor    []byte // exclusive or of the packets, each padded with zeros
}

// Append appends the wire form of y to b.
func (y Parity) Append(b []byte) []byte {
	b = append(b, byte(len(y.tags)/tagSize))
	b = binary.BigEndian.AppendUint16(b, uint16(len(y.xor)))
	b = binary.BigEndian.AppendUint16(b, y.length)
	return append(append(b, y.tags...), y.xor...)
}

// Parse parses the wire form. The parity shares the memory of b.
func Parse(b []byte) (*Parity, error) {
	if len(b) < 5 {
		return nil, errParity
	}
	n, size := tagSize*int(b[0]), int(binary.BigEndian.Uint16(b[1:]))
	y := &Parity{length: binary.BigEndian.Uint16(b[3:])}
	if b = b[5:]; n > tagSize*groupSize || size > maxSize || len(b) < n+size {
		return nil, errParity
	}
	y.tags, y.xor = b[:n], b[n:n+size]
	return y, nil
}

// Out computes parities of the packets sent to a peer. It is safe for concurrent use.
type Out struct {
	until atomic.Int64 // time until which parities are sent

	mu         sync.Mutex
	groupStart time.Duration // when the group's first packet was sent
	y          Parity        // parity of the current group
	tags       [tagSize * groupSize]byte
	xor        [maxSize]byte
}

// Lost notes a loss, after which parities are sent.
func (o *Out) Lost(now time.Duration) { o.until.Store(int64(now + activePeriod)) }

// Sent notes packets of seg bytes each, of which the last may be shorter. It calls send with
// the Parity of each complete group. The Parity is valid until send returns.
func (o *Out) Sent(b []byte, seg int, now time.Duration, send func(Parity)) {
	if int64(now) >= o.until.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.y.tags) > 0 && now-o.groupStart > activePeriod { // the group is too old
		o.resetGroup()
	}
	_ = udp.EachSegment(b, seg, func(p []byte) error {
		if len(p) <= minSize || len(p) > maxSize {
			return nil
		}
		if len(o.y.tags) == 0 {
			o.groupStart, o.y.tags = now, o.tags[:0]
		}
		o.y.tags = append(o.y.tags, p[len(p)-tagSize:]...)
		o.y.length ^= uint16(len(p))
		o.y.xor = o.xor[:max(len(o.y.xor), len(p))]
		subtle.XORBytes(o.xor[:], o.xor[:len(p)], p)
		if len(o.y.tags) == tagSize*groupSize {
			send(o.y)
			o.resetGroup()
		}
		return nil
	})
	if len(o.y.tags) >= tagSize*minGroup && now-o.groupStart > minGroupAge {
		send(o.y)
		o.resetGroup()
	}
}

func (o *Out) resetGroup() {
	clear(o.y.xor)
	o.y = Parity{tags: o.tags[:0], xor: o.xor[:0]}
}

// In keeps packets of a peer that sends parities. Only the goroutine from which QUIC reads
// uses it.
type In struct {
	kept *keptPackets  // nil before the first Parity
	last time.Duration // when the last Parity arrived
}

type keptPackets struct {
	next  int
	sizes [maxKept]int
	data  [maxKept][maxSize]byte
}

// Keep keeps a received packet.
func (i *In) Keep(b []byte, now func() time.Duration) {
	if i.kept == nil || len(b) <= minSize || len(b) > maxSize {
		return
	}
	k := i.kept
	k.sizes[k.next] = copy(k.data[k.next][:], b)
	if k.next = (k.next + 1) % maxKept; k.next == 0 && now()-i.last > activePeriod {
		i.kept = nil
	}
}

// packet returns the newest kept packet with a tag that is not used yet.
func (k *keptPackets) packet(tag []byte, used *[maxKept]bool) []byte {
	for i := range maxKept {
		at := (k.next - 1 - i + maxKept) % maxKept
		n := k.sizes[at]
		if n > 0 && !used[at] && k.data[at][n-1] == tag[1] && k.data[at][n-2] == tag[0] {
			used[at] = true
			return k.data[at][:n]
		}
	}
	return nil
}

// Mend returns the missing packet of a group, or nil if none or several are missing.
func (i *In) Mend(y *Parity, now time.Duration) []byte {
	i.last = now
	if i.kept == nil {
		i.kept = new(keptPackets)
		return nil
	}
	var missing []byte
	var used [maxKept]bool
	restored, length := append([]byte(nil), y.xor...), int(y.length)
	for tags := y.tags; len(tags) >= tagSize; tags = tags[tagSize:] {
		p := i.kept.packet(tags, &used)
		switch {
		case p != nil && len(p) <= len(restored):
			subtle.XORBytes(restored, restored[:len(p)], p)
			length ^= len(p)
		case p != nil || missing != nil:
			return nil
		default:
			missing = tags[:tagSize]
		}
	}
	if missing == nil || length <= minSize || length > len(restored) ||
		restored[length-1] != missing[1] || restored[length-2] != missing[0] {
		return nil
	}
	restored = restored[:length]
	i.Keep(restored, func() time.Duration { return now })
	return restored
}
