// Package parity makes lost packets again.
//
// QUIC takes each lost packet for a full queue and sends a third less for it. On a
// path that loses one of ten thousand by chance that happens several times a second.
// So where packets were lost on a direct path, a parity follows each group of big
// packets, as a probe: the exclusive or of them all, with which the other end makes
// the one that is missing. It comes late for QUIC, which then undoes what it did for
// the loss and gets used to late packets. Of a burst of losses, as from a full queue,
// more than one of a group is missing: that QUIC sees as ever.
//
// A parity is sealed as all probes are; what is made with it is authenticated by QUIC
// as any packet. An end of before drops parities. Times are what has passed since some
// moment, the same for all.
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
	// groupSize is how many packets have a parity: 3 % more is sent.
	groupSize = 32
	// few have one when the first was sent fewAge ago.
	few    = 8
	fewAge = 10 * time.Millisecond
	// lasts is how long parities are sent after a loss, and for how long after
	// one packets are kept for the next.
	lasts = 30 * time.Second
	// maxKept is how many packets are kept.
	maxKept = 128
	// tagSize is how much of a packet's end names it: ciphertext, so at random.
	tagSize = 2
	// big is the size above which packets are of a group.
	big = 1000
	// biggest is the most that quic-go sends or takes.
	biggest = 1452
)

var errParity = errors.New("not a parity")

// Parity is of a group of packets.
type Parity struct {
	tags   []byte // the last bytes of each
	length uint16 // the exclusive or of their lengths
	xor    []byte // of them, each with zeros behind it
}

// Append appends the wire form.
func (y Parity) Append(b []byte) []byte {
	b = append(b, byte(len(y.tags)/tagSize))
	b = binary.BigEndian.AppendUint16(b, uint16(len(y.xor)))
	b = binary.BigEndian.AppendUint16(b, y.length)
	return append(append(b, y.tags...), y.xor...)
}

// Parse reads the wire form, of which the parity remains a part.
func Parse(b []byte) (*Parity, error) {
	if len(b) < 5 {
		return nil, errParity
	}
	n, size := tagSize*int(b[0]), int(binary.BigEndian.Uint16(b[1:]))
	y := &Parity{length: binary.BigEndian.Uint16(b[3:])}
	if b = b[5:]; n > tagSize*groupSize || size > biggest || len(b) < n+size {
		return nil, errParity
	}
	y.tags, y.xor = b[:n], b[n:n+size]
	return y, nil
}

// Out makes parities of what is sent to a peer. It is safe for concurrent use.
type Out struct {
	until atomic.Int64 // parities are sent

	mu    sync.Mutex
	begun time.Duration // when the group's first packet was sent
	y     Parity        // of the group
	tags  [tagSize * groupSize]byte
	xor   [biggest]byte
}

// Lost begins to send parities.
func (o *Out) Lost(now time.Duration) { o.until.Store(int64(now + lasts)) }

// Sent takes packets of seg bytes each but the last, and calls send with the Parity
// of each group that is full. What send gets lasts until it returns.
func (o *Out) Sent(b []byte, seg int, now time.Duration, send func(Parity)) {
	if int64(now) >= o.until.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.y.tags) > 0 && now-o.begun > lasts { // it was long ago
		o.clear()
	}
	_ = udp.EachSegment(b, seg, func(p []byte) error {
		if len(p) <= big || len(p) > biggest {
			return nil
		}
		if len(o.y.tags) == 0 {
			o.begun, o.y.tags = now, o.tags[:0]
		}
		o.y.tags = append(o.y.tags, p[len(p)-tagSize:]...)
		o.y.length ^= uint16(len(p))
		o.y.xor = o.xor[:max(len(o.y.xor), len(p))]
		subtle.XORBytes(o.xor[:], o.xor[:len(p)], p)
		if len(o.y.tags) == tagSize*groupSize {
			send(o.y)
			o.clear()
		}
		return nil
	})
	if len(o.y.tags) >= tagSize*few && now-o.begun > fewAge {
		send(o.y)
		o.clear()
	}
}

func (o *Out) clear() {
	clear(o.y.xor)
	o.y = Parity{tags: o.tags[:0], xor: o.xor[:0]}
}

// In keeps packets of a peer that sends parities. Only the goroutine with which
// QUIC reads uses it.
type In struct {
	kept *keptPackets  // nil: no Parity came
	last time.Duration // when one came
}

type keptPackets struct {
	next  int
	sizes [maxKept]int
	data  [maxKept][biggest]byte
}

// Keep notes a packet that came.
func (i *In) Keep(b []byte, now func() time.Duration) {
	if i.kept == nil || len(b) <= big || len(b) > biggest {
		return
	}
	k := i.kept
	k.sizes[k.next] = copy(k.data[k.next][:], b)
	if k.next = (k.next + 1) % maxKept; k.next == 0 && now()-i.last > lasts {
		i.kept = nil
	}
}

// packet returns the newest that was kept with a tag and is not used yet.
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

// Mend returns the packet that is missing of a group; nil when none is, or several.
func (i *In) Mend(y *Parity, now time.Duration) []byte {
	i.last = now
	if i.kept == nil {
		i.kept = new(keptPackets)
		return nil
	}
	var missing []byte
	var used [maxKept]bool
	made, length := append([]byte(nil), y.xor...), int(y.length)
	for tags := y.tags; len(tags) >= tagSize; tags = tags[tagSize:] {
		p := i.kept.packet(tags, &used)
		switch {
		case p != nil && len(p) <= len(made):
			subtle.XORBytes(made, made[:len(p)], p)
			length ^= len(p)
		case p != nil || missing != nil:
			return nil
		default:
			missing = tags[:tagSize]
		}
	}
	if missing == nil || length <= big || length > len(made) ||
		made[length-1] != missing[1] || made[length-2] != missing[0] {
		return nil
	}
	made = made[:length]
	i.Keep(made, func() time.Duration { return now })
	return made
}
