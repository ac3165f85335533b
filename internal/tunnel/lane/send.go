package lane

import (
	"context"
	"encoding/binary"
	"net"
	"os"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/path"
)

const (
	// A stream's window is how much of it the other end may have to keep. It doubles
	// while that is read as quickly as it comes.
	firstKept = 256 << 10
	mostKept  = 12 << 20
	// maxKept is how many records may be under way.
	maxKept = 2048
	// A stream has much to send when it wrote bulk within bulkTime.
	bulk     = 128 << 10
	bulkTime = time.Second
	// leastTimeout is after how long without an acknowledgement one is asked for at
	// least, and maxTimeout at most.
	leastTimeout = 80 * time.Millisecond
	maxTimeout   = 4 * time.Second
	// asleep is after how long without an acknowledgement one is asked for only each
	// asleepTimeout: the other end is away, and its return is reported (Changed).
	asleep        = 10 * time.Minute
	asleepTimeout = 5 * time.Minute
)

// kept is a record that the other end may not have yet.
type kept struct {
	*buffer
	offset, end uint64
	at          time.Time // when it was sent; zero once it was sent again
}

// sender is what a stream sends.
type sender struct {
	s    *Stream
	turn sync.Mutex // of who writes; taken before mu
	mu   sync.Mutex

	records bool   // what is written now goes by records
	next    uint64 // the offset of what is written next
	got     uint64 // the other end has all before
	read    uint64 // and read all before
	kept    []kept
	window  uint64
	mending bool      // a goroutine sends again what is kept
	mendTo  uint64    // before this offset
	heard   time.Time // since when an acknowledgement is missing, or was asked for
	acked   time.Time // when something was acknowledged, or was sent with nothing under way
	timeout time.Duration
	gap     uint64 // where the last gap began that was mended
	gapAt   time.Time

	closing bool // CloseWrite was called
	closed  bool // and QUIC told
	err     error
	late    deadline

	// Of who has the turn.
	lot   int // written since lotAt
	lotAt time.Time
}

func (d *sender) init(s *Stream) {
	d.s, d.window, d.timeout = s, firstKept, leastTimeout
	context.AfterFunc(s.q.Context(), func() { // the other side stopped reading, or the tunnel ended
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.err == nil && !d.closed {
			d.err = context.Cause(s.q.Context())
		}
		d.end()
	})
}

func (d *sender) wake() { d.s.l.flow.wake() }

// end lets go of everything. The caller holds mu.
func (d *sender) end() {
	if d.err == nil {
		d.err = net.ErrClosed
	}
	d.free(len(d.kept))
	d.hasRead(d.next)
	d.s.ended(&d.s.sent)
}

// free forgets the first n records, and has all look who wait. The caller holds mu.
func (d *sender) free(n int) {
	bytes := uint64(0)
	for _, k := range d.kept[:n] {
		bytes += k.end - k.offset
		k.free()
	}
	d.s.l.flow.arrived(bytes)
	rest := copy(d.kept, d.kept[n:])
	clear(d.kept[rest:])
	d.kept = d.kept[:rest]
}

// hasRead notes that the other end has read all before an offset. The caller holds mu.
func (d *sender) hasRead(offset uint64) {
	if offset > d.read {
		d.s.l.flow.read(offset - d.read)
		d.read = offset
	}
}

// write is Write.
func (d *sender) write(p []byte) (n int, err error) {
	d.turn.Lock()
	defer d.turn.Unlock()
	for {
		var m int
		if d.choose() {
			m, err = d.writeRecord(p)
		} else {
			m, err = d.writeQUIC(p)
		}
		n, d.lot = n+m, d.lot+m
		p = p[m:]
		if err != nil || len(p) == 0 {
			return n, err
		}
	}
}

// choose reports whether what is written next goes by records. The caller holds turn.
func (d *sender) choose() bool {
	use := d.s.l.way.Use()
	if now := time.Now(); now.Sub(d.lotAt) > bulkTime {
		d.lot, d.lotAt = 0, now
	}
	much := d.lot >= bulk
	d.mu.Lock()
	back := d.records && use == path.UseNone
	switch {
	case d.records:
		d.records = use != path.UseBulk || much || len(d.kept) > 0
	case d.next > 0: // what comes first opens the stream, which is QUIC's
		d.records = use == path.UseAll || use == path.UseBulk && much
	}
	records := d.records && !back
	d.mu.Unlock()
	if back {
		d.fallBack()
	}
	if !records && much {
		d.s.l.way.Want()
	}
	return records
}

// writeRecord sends the first part of p as one record, waiting for room; nothing
// when the way has changed meanwhile.
func (d *sender) writeRecord(p []byte) (int, error) {
	d.mu.Lock()
	n, room := uint64(min(len(p), Piece)), uint64(0)
	for {
		seen := d.s.l.flow.seen() // before the checks: a change between a check and wait must not be lost
		if err := d.failed(); err != nil {
			d.mu.Unlock()
			return 0, err
		}
		if d.s.l.way.Use() == path.UseNone {
			d.mu.Unlock()
			return 0, nil
		}
		if len(d.kept) < maxKept && d.next-d.read+n <= d.window {
			if room = d.s.l.flow.take(n, d.next-d.got, d.next-d.read); room > 0 {
				break
			}
		}
		d.s.l.flow.wait(&d.mu, seen)
	}
	offset := d.next
	b := d.s.l.sealData(d.s.recv.ack(), uint32(min(d.window, room)), offset, p[:n])
	now := time.Now()
	if len(d.kept) == 0 {
		d.acked, d.heard, d.timeout = now, now, d.patience()
	}
	d.next += n
	d.kept = append(d.kept, kept{b, offset, d.next, now})
	b.hold()
	d.mu.Unlock()
	d.s.l.send(b) // what is lost is sent again
	d.s.l.watch()
	return int(n), nil
}

// failed reports why nothing can be written. The caller holds mu.
func (d *sender) failed() error {
	switch {
	case d.err != nil:
		return d.err
	case d.closing:
		return net.ErrClosed
	case d.late.passed():
		return os.ErrDeadlineExceeded
	}
	return nil
}

// chunk is the most of what is written to QUIC at once: more than what is usually
// copied at once, which then is one piece.
const chunk = 128 << 10

// chunkHead comes before each piece that QUIC carries: its offset and its length.
const chunkHead = 8 + 4

// chunkEnd as a length says that the stream ends at the offset.
const chunkEnd = 1<<32 - 1

var chunks = sync.Pool{New: func() any { b := make([]byte, 0, chunkHead+chunk); return &b }}

// writeQUIC writes the first part of p to QUIC.
func (d *sender) writeQUIC(p []byte) (int, error) {
	d.mu.Lock()
	err := d.failed()
	offset := d.next
	d.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n := min(len(p), chunk)
	if err := d.putQUIC(offset, p[:n]); err != nil {
		return 0, err
	}
	d.mu.Lock()
	d.next += uint64(n)
	d.got, d.read = d.next, d.next // QUIC sees to it
	d.mu.Unlock()
	return n, nil
}

func (d *sender) putQUIC(offset uint64, p []byte) error {
	b := chunks.Get().(*[]byte)
	defer chunks.Put(b)
	out := binary.BigEndian.AppendUint64((*b)[:0], offset)
	out = binary.BigEndian.AppendUint32(out, uint32(len(p)))
	out = append(out, p...)
	n, err := d.s.out.Write(out)
	if n > 0 && n < len(out) { // as with TLS, what comes after half a piece is not understood
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.err == nil {
			d.err = err
		}
	}
	return err
}

// close is CloseWrite.
func (d *sender) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		_ = d.s.out.Close() // QUIC forgets a stream only after Close or CancelWrite
		return d.err
	}
	d.closing = true
	d.wake()
	d.finish()
	if !d.closed {
		go d.sayEnd()
	}
	return nil
}

// sayEnd sends the offset of the stream's end, while records are under way.
func (d *sender) sayEnd() {
	d.turn.Lock()
	defer d.turn.Unlock()
	d.mu.Lock()
	needless, end := d.closed || d.err != nil, d.next
	d.mu.Unlock()
	if needless {
		return // QUIC has said it
	}
	b := binary.BigEndian.AppendUint64(nil, end)
	_, _ = d.s.out.Write(binary.BigEndian.AppendUint32(b, chunkEnd)) // fails only when nobody wants it
}

func (d *sender) cancel() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end()
}
