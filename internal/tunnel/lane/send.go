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
	// A stream's window bounds the bytes that the other end may have to keep. It doubles
	// while the reader keeps up.
	initialStreamWindow = 256 << 10
	maxStreamWindow     = 12 << 20
	// maxUnacked is the maximum number of records of a stream in flight.
	maxUnacked = 2048
	// A stream sends bulk data if it wrote bulkBytes within bulkTime.
	bulkBytes = 128 << 10
	bulkTime  = time.Second
	// minTimeout and maxTimeout bound the time after which a sender asks for a missing
	// acknowledgement.
	minTimeout = 80 * time.Millisecond
	maxTimeout = 4 * time.Second
	// After awayAfter without an acknowledgement the other end is away: the sender asks
	// only every awayTimeout, since Changed reports its return.
	awayAfter   = 10 * time.Minute
	awayTimeout = 5 * time.Minute
)

// unackedRecord is a record that the other end may not have yet.
type unackedRecord struct {
	*buffer
	offset, end uint64
	sentAt      time.Time // when the record was sent; zero once it was retransmitted
}

// sender is the sending direction of a stream.
type sender struct {
	s       *Stream
	writeMu sync.Mutex // serializes writers; locked before mu
	mu      sync.Mutex

	useRecords   bool   // writes go by records
	nextOffset   uint64 // offset of the next write
	ackedTo      uint64 // the other end has received all data before this offset
	readTo       uint64 // the other end has read all data before this offset
	unacked      []unackedRecord
	window       uint64
	resending    bool      // a goroutine retransmits
	resendTo     uint64    // offset up to which records are retransmitted
	ackWaitSince time.Time // since when an acknowledgement is missing, or was asked for
	lastAck      time.Time // when data was acknowledged, or first sent with nothing in flight
	timeout      time.Duration
	lastGap      uint64 // start of the last gap that was retransmitted
	lastGapAt    time.Time

	closing    bool // CloseWrite was called
	quicClosed bool // the QUIC stream was closed
	err        error
	deadline   deadline

	// Guarded by writeMu.
	bulkWritten int // bytes written since bulkSince
	bulkSince   time.Time
}

func (d *sender) init(s *Stream) {
	d.s, d.window, d.timeout = s, initialStreamWindow, minTimeout
	context.AfterFunc(s.q.Context(), func() { // the other end stopped reading, or the tunnel ended
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.err == nil && !d.quicClosed {
			d.err = context.Cause(s.q.Context())
		}
		d.endSending()
	})
}

func (d *sender) wakeWriters() { d.s.l.flow.wakeSenders() }

// endSending releases all records and window space. The caller holds mu.
func (d *sender) endSending() {
	if d.err == nil {
		d.err = net.ErrClosed
	}
	d.freeRecords(len(d.unacked))
	d.markRead(d.nextOffset)
	d.s.markEnded(&d.s.sendEnded)
}

// freeRecords frees the first n records, and wakes waiting senders. The caller holds mu.
func (d *sender) freeRecords(n int) {
	bytes := uint64(0)
	for _, k := range d.unacked[:n] {
		bytes += k.end - k.offset
		k.free()
	}
	d.s.l.flow.releaseInFlight(bytes)
	rest := copy(d.unacked, d.unacked[n:])
	clear(d.unacked[rest:])
	d.unacked = d.unacked[:rest]
}

// markRead notes that the other end has read all data before an offset. The caller holds mu.
func (d *sender) markRead(offset uint64) {
	if offset > d.readTo {
		d.s.l.flow.releaseUnread(offset - d.readTo)
		d.readTo = offset
	}
}

// write implements Stream.Write.
func (d *sender) write(p []byte) (n int, err error) {
	d.writeMu.Lock()
	defer d.writeMu.Unlock()
	for {
		var m int
		if d.chooseRecords() {
			m, err = d.writeRecord(p)
		} else {
			m, err = d.writeQUIC(p)
		}
		n, d.bulkWritten = n+m, d.bulkWritten+m
		p = p[m:]
		if err != nil || len(p) == 0 {
			return n, err
		}
	}
}

// chooseRecords reports whether the next write goes by records. The caller holds writeMu.
func (d *sender) chooseRecords() bool {
	use := d.s.l.records.Use()
	if now := time.Now(); now.Sub(d.bulkSince) > bulkTime {
		d.bulkWritten, d.bulkSince = 0, now
	}
	bulk := d.bulkWritten >= bulkBytes
	d.mu.Lock()
	fallBack := d.useRecords && use == path.UseNone
	switch {
	case d.useRecords:
		d.useRecords = use != path.UseBulk || bulk || len(d.unacked) > 0
	case d.nextOffset > 0: // the first bytes go by QUIC, which opens the stream
		d.useRecords = use == path.UseAll || use == path.UseBulk && bulk
	}
	records := d.useRecords && !fallBack
	d.mu.Unlock()
	if fallBack {
		d.fallBackToQUIC()
	}
	if !records && bulk {
		d.s.l.records.SeekWire()
	}
	return records
}

// writeRecord sends the first part of p as one record, waiting for window space. It sends
// nothing if records have become useless meanwhile.
func (d *sender) writeRecord(p []byte) (int, error) {
	d.mu.Lock()
	n, window := uint64(min(len(p), Piece)), uint64(0)
	for {
		seen := d.s.l.flow.changeCount() // before the checks: a change between a check and waitForChange must not be lost
		if err := d.writeError(); err != nil {
			d.mu.Unlock()
			return 0, err
		}
		if d.s.l.records.Use() == path.UseNone {
			d.mu.Unlock()
			return 0, nil
		}
		if len(d.unacked) < maxUnacked && d.nextOffset-d.readTo+n <= d.window {
			if window = d.s.l.flow.reserveBytes(n, d.nextOffset-d.ackedTo, d.nextOffset-d.readTo); window > 0 {
				break
			}
		}
		d.s.l.flow.waitForChange(&d.mu, seen)
	}
	offset := d.nextOffset
	b := d.s.l.sealData(d.s.recv.currentAck(), uint32(min(d.window, window)), offset, p[:n])
	now := time.Now()
	if len(d.unacked) == 0 {
		d.lastAck, d.ackWaitSince, d.timeout = now, now, d.ackTimeout()
	}
	d.nextOffset += n
	d.unacked = append(d.unacked, unackedRecord{b, offset, d.nextOffset, now})
	b.retain()
	d.mu.Unlock()
	d.s.l.sendRecord(b) // a lost record is retransmitted
	d.s.l.scheduleCheck()
	return int(n), nil
}

// writeError returns the reason why nothing can be written, if any. The caller holds mu.
func (d *sender) writeError() error {
	switch {
	case d.err != nil:
		return d.err
	case d.closing:
		return net.ErrClosed
	case d.deadline.passed():
		return os.ErrDeadlineExceeded
	}
	return nil
}

// chunk is the maximum size of one write to QUIC. It exceeds the usual copy buffer, so that
// one copied buffer is one chunk.
const chunk = 128 << 10

// chunkHead is the size of the header of each chunk that QUIC carries: its offset and its
// length.
const chunkHead = 8 + 4

// chunkEnd, as a length, marks the offset as the end of the stream.
const chunkEnd = 1<<32 - 1

var chunks = sync.Pool{New: func() any { b := make([]byte, 0, chunkHead+chunk); return &b }}

// writeQUIC writes the first part of p to QUIC.
func (d *sender) writeQUIC(p []byte) (int, error) {
	d.mu.Lock()
	err := d.writeError()
	offset := d.nextOffset
	d.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n := min(len(p), chunk)
	if err := d.writeChunk(offset, p[:n]); err != nil {
		return 0, err
	}
	d.mu.Lock()
	d.nextOffset += uint64(n)
	d.ackedTo, d.readTo = d.nextOffset, d.nextOffset // QUIC delivers it
	d.mu.Unlock()
	return n, nil
}

func (d *sender) writeChunk(offset uint64, p []byte) error {
	b := chunks.Get().(*[]byte)
	defer chunks.Put(b)
	out := binary.BigEndian.AppendUint64((*b)[:0], offset)
	out = binary.BigEndian.AppendUint32(out, uint32(len(p)))
	out = append(out, p...)
	n, err := d.s.out.Write(out)
	if n > 0 && n < len(out) { // as with TLS, data after half a chunk cannot be parsed
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.err == nil {
			d.err = err
		}
	}
	return err
}

// closeWrite implements Stream.CloseWrite.
func (d *sender) closeWrite() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		_ = d.s.out.Close() // QUIC forgets a stream only after Close or CancelWrite
		return d.err
	}
	d.closing = true
	d.wakeWriters()
	d.closeWhenAcked()
	if !d.quicClosed {
		go d.sendEnd()
	}
	return nil
}

// sendEnd sends the offset of the stream's end while records are in flight.
func (d *sender) sendEnd() {
	d.writeMu.Lock()
	defer d.writeMu.Unlock()
	d.mu.Lock()
	needless, end := d.quicClosed || d.err != nil, d.nextOffset
	d.mu.Unlock()
	if needless {
		return // QUIC has closed the stream
	}
	b := binary.BigEndian.AppendUint64(nil, end)
	_, _ = d.s.out.Write(binary.BigEndian.AppendUint32(b, chunkEnd)) // fails only when the other end stopped reading
}

func (d *sender) cancelWrite() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endSending()
}
