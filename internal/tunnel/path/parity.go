package path

import (
	"crypto/subtle"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"
)

// QUIC takes each lost packet for a full queue and sends a third less for it. On a
// path that loses one of ten thousand by chance that happens several times a second.
// So where packets were lost on a direct path, a parity follows each group of big
// packets, as a probe: the exclusive or of them all, with which the other end makes
// the one that is missing. It comes late for QUIC, which then undoes what it did for
// the loss and gets used to late packets. Of a burst of losses, as from a full queue,
// more than one of a group is missing: that QUIC sees as ever.
//
// A parity is sealed as all probes are; what is made with it is authenticated by QUIC
// as any packet. An end of before drops parities.

const (
	// parityGroup is how many packets have a parity: 3 % more is sent.
	parityGroup = 32
	// parityFew have one when the first was sent parityAge ago.
	parityFew = 8
	parityAge = 10 * time.Millisecond
	// parityLasts is how long parities are sent after a loss, and for how long after
	// one packets are kept for the next.
	parityLasts = 30 * time.Second
	// parityKept is how many packets are kept.
	parityKept = 128
	// parityTag is how much of a packet's end names it: ciphertext, so at random.
	parityTag = 2
	// maxPacket is the most that quic-go sends or takes.
	maxPacket = 1452
)

// parity is of a group of packets.
type parity struct {
	tags   []byte // the last bytes of each
	length uint16 // the exclusive or of their lengths
	xor    []byte // of them, each with zeros behind it
}

func (y parity) append(b []byte) []byte {
	b = append(b, byte(len(y.tags)/parityTag))
	b = binary.BigEndian.AppendUint16(b, uint16(len(y.xor)))
	b = binary.BigEndian.AppendUint16(b, y.length)
	return append(append(b, y.tags...), y.xor...)
}

func parseParity(b []byte) (*parity, error) {
	if len(b) < 5 {
		return nil, errProbe
	}
	n, size := parityTag*int(b[0]), int(binary.BigEndian.Uint16(b[1:]))
	y := &parity{length: binary.BigEndian.Uint16(b[3:])}
	if b = b[5:]; n > parityTag*parityGroup || size > maxPacket || len(b) < n+size {
		return nil, errProbe
	}
	y.tags, y.xor = b[:n], b[n:n+size]
	return y, nil
}

// parityOut makes parities of what is sent to a peer. It is safe for concurrent use.
type parityOut struct {
	until atomic.Int64 // as path.since: parities are sent

	mu    sync.Mutex
	begun time.Duration // when the group's first packet was sent
	y     parity        // of the group
	tags  [parityTag * parityGroup]byte
	xor   [maxPacket]byte
}

// lost begins to send parities.
func (o *parityOut) lost(now time.Duration) { o.until.Store(int64(now + parityLasts)) }

// sent takes packets of seg bytes each but the last, and calls send with the parity
// of each group that is full. What send gets lasts until it returns.
func (o *parityOut) sent(b []byte, seg int, now time.Duration, send func(parity)) {
	if int64(now) >= o.until.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.y.tags) > 0 && now-o.begun > parityLasts { // it was long ago
		o.clear()
	}
	_ = EachSegment(b, seg, func(p []byte) error {
		if len(p) <= bigPacket || len(p) > maxPacket {
			return nil
		}
		if len(o.y.tags) == 0 {
			o.begun, o.y.tags = now, o.tags[:0]
		}
		o.y.tags = append(o.y.tags, p[len(p)-parityTag:]...)
		o.y.length ^= uint16(len(p))
		o.y.xor = o.xor[:max(len(o.y.xor), len(p))]
		subtle.XORBytes(o.xor[:], o.xor[:len(p)], p)
		if len(o.y.tags) == parityTag*parityGroup {
			send(o.y)
			o.clear()
		}
		return nil
	})
	if len(o.y.tags) >= parityTag*parityFew && now-o.begun > parityAge {
		send(o.y)
		o.clear()
	}
}

func (o *parityOut) clear() {
	clear(o.y.xor)
	o.y = parity{tags: o.tags[:0], xor: o.xor[:0]}
}

// parityIn keeps packets of a peer that sends parities. Only the goroutine with which
// QUIC reads uses it.
type parityIn struct {
	kept *keptPackets  // nil: no parity came
	last time.Duration // when one came
}

type keptPackets struct {
	next  int
	sizes [parityKept]int
	data  [parityKept][maxPacket]byte
}

// keep notes a packet that came.
func (i *parityIn) keep(b []byte, now func() time.Duration) {
	if i.kept == nil || len(b) <= bigPacket || len(b) > maxPacket {
		return
	}
	k := i.kept
	k.sizes[k.next] = copy(k.data[k.next][:], b)
	if k.next = (k.next + 1) % parityKept; k.next == 0 && now()-i.last > parityLasts {
		i.kept = nil
	}
}

// packet gives the newest that was kept with a tag and is not used yet.
func (k *keptPackets) packet(tag []byte, used *[parityKept]bool) []byte {
	for i := range parityKept {
		at := (k.next - 1 - i + parityKept) % parityKept
		n := k.sizes[at]
		if n > 0 && !used[at] && k.data[at][n-1] == tag[1] && k.data[at][n-2] == tag[0] {
			used[at] = true
			return k.data[at][:n]
		}
	}
	return nil
}

// mend gives the packet that is missing of a group; nil when none is, or several.
func (i *parityIn) mend(y *parity, now time.Duration) []byte {
	i.last = now
	if i.kept == nil {
		i.kept = new(keptPackets)
		return nil
	}
	var missing []byte
	var used [parityKept]bool
	made, length := append([]byte(nil), y.xor...), int(y.length)
	for tags := y.tags; len(tags) >= parityTag; tags = tags[parityTag:] {
		p := i.kept.packet(tags, &used)
		switch {
		case p != nil && len(p) <= len(made):
			subtle.XORBytes(made, made[:len(p)], p)
			length ^= len(p)
		case p != nil || missing != nil:
			return nil
		default:
			missing = tags[:parityTag]
		}
	}
	if missing == nil || length <= bigPacket || length > len(made) ||
		made[length-1] != missing[1] || made[length-2] != missing[0] {
		return nil
	}
	made = made[:length]
	i.keep(made, func() time.Duration { return now })
	return made
}
