package lane

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
)

// maxAhead is how many pieces may wait behind a gap.
const maxAhead = maxKept

// pieceLimit is how much QUIC brings ahead of who reads.
const pieceLimit = 128 << 10

// piece is a part of what came.
type piece struct {
	offset uint64
	data   []byte
	buf    *buffer // of data
}

func (p piece) end() uint64 { return p.offset + uint64(len(p.data)) }

// receiver is what a stream receives.
type receiver struct {
	s     *Stream
	mu    sync.Mutex
	moved sync.Cond // something came, was read or ended

	head    uint64  // what was read
	got     uint64  // what came without a gap
	ready   []piece // from head to got
	ahead   []piece // behind a gap, in their order
	due     bool    // something is to be
	gap     uint64  // where a gap begins that was told, plus one
	window  uint32  // what the other end may have under way
	brought int     // by QUIC, since a better way was last asked for
	last    uint64  // where the stream ends, once known
	ends    bool
	err     error // after what is ready
	late    deadline
}

func (r *receiver) init(s *Stream) {
	r.s, r.window = s, firstKept
	r.moved.L = &r.mu
}

func (r *receiver) wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moved.Broadcast()
}

// ack returns what is to be acknowledged.
func (r *receiver) ack() ack {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tell()
}

// dueAck is ack when there is something to be acknowledged.
func (r *receiver) dueAck() (a ack, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.due {
		return a, false
	}
	return r.tell(), true
}

func (r *receiver) tell() ack {
	r.due = false
	a := ack{stream: r.s.q.StreamID(), got: r.got, read: r.head}
	if len(r.ahead) > 0 {
		a.missing = r.ahead[0].offset
	}
	return a
}

// acknowledge has the lane tell that n bytes came, or were read. The caller holds mu.
func (r *receiver) acknowledge(n int, now bool) {
	r.due = true
	r.s.l.ack(r.s, n, int(r.window), now)
}

// take takes data of a record, with its buffer.
func (r *receiver) take(rec record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.window = rec.window
	p := piece{rec.offset, rec.data, rec.buf}
	full := r.s.l.buffered.Load() > maxBuffered && (p.offset > r.got || p.end() > r.head+share+Piece)
	switch {
	case r.err != nil || p.end() > r.head+mostKept+Piece || full || len(r.ahead) >= maxAhead:
		p.buf.free()
		return
	case p.end() <= r.got: // it came twice
		p.buf.free()
		r.acknowledge(0, true)
		return
	}
	gap := p.offset > r.got && r.gap != r.got+1
	if gap {
		r.gap = r.got + 1
	}
	r.add(p)
	r.acknowledge(len(rec.data), gap)
}

// add puts a piece where it belongs. The caller holds mu.
func (r *receiver) add(p piece) {
	r.s.l.buffered.Add(int64(len(p.buf.room)))
	if p.offset > r.got {
		i, there := slices.BinarySearchFunc(r.ahead, p.offset, func(a piece, o uint64) int { return cmp.Compare(a.offset, o) })
		if there && r.ahead[i].end() >= p.end() {
			r.drop(p)
			return
		}
		r.ahead = slices.Insert(r.ahead, i, p)
		return
	}
	r.append(p)
	n := 0
	for ; n < len(r.ahead) && r.ahead[n].offset <= r.got; n++ {
		r.append(r.ahead[n])
	}
	r.ahead = slices.Delete(r.ahead, 0, n)
	r.moved.Broadcast()
}

// drop frees a piece that was added.
func (r *receiver) drop(p piece) {
	r.s.l.buffered.Add(-int64(len(p.buf.room)))
	p.buf.free()
}

// append adds a piece that begins where what is ready ends, or before. The caller
// holds mu.
func (r *receiver) append(p piece) {
	if p.end() <= r.got {
		r.drop(p)
		return
	}
	p.data = p.data[r.got-p.offset:]
	p.offset = r.got
	r.got = p.end()
	// What is typed comes in small pieces: they share a buffer.
	if n := len(r.ready); n > 0 {
		if last := &r.ready[n-1]; cap(last.data)-len(last.data) >= len(p.data) {
			last.data = append(last.data, p.data...)
			r.drop(p)
			return
		}
	}
	r.ready = append(r.ready, p)
}

// read is Read.
func (r *receiver) read(p []byte) (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		switch {
		case r.late.passed():
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case len(r.ready) > 0:
			n = r.copy(p)
			r.acknowledge(n, false)
			r.moved.Broadcast() // of what QUIC brings there may be more
			return n, nil
		case r.ends && r.head >= r.last:
			return 0, io.EOF
		case r.err != nil:
			return 0, r.err
		}
		r.moved.Wait()
	}
}

// copy returns what is ready. The caller holds mu.
func (r *receiver) copy(p []byte) (n int) {
	taken := 0
	for taken < len(r.ready) && n < len(p) {
		next := &r.ready[taken]
		m := copy(p[n:], next.data)
		n += m
		next.data, next.offset = next.data[m:], next.offset+uint64(m)
		if len(next.data) == 0 {
			r.drop(*next)
			taken++
		}
	}
	r.ready = slices.Delete(r.ready, 0, taken)
	r.head += uint64(n)
	return n
}

// fail ends the reading with an error, after what is ready or, now, at once.
func (r *receiver) fail(err error, now bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now {
		for _, p := range slices.Concat(r.ready, r.ahead) {
			r.drop(p)
		}
		r.ready, r.ahead, r.err = nil, nil, err
	}
	if r.err == nil {
		r.err = err
	}
	r.moved.Broadcast()
}

// pump takes what QUIC brings until its end, by when all came that records brought.
func (r *receiver) pump() {
	r.fail(r.chunks(), false)
	r.s.ended(&r.s.received)
}

// chunks reads the pieces, each behind its head.
func (r *receiver) chunks() error {
	var head [chunkHead]byte
	for {
		if _, err := io.ReadFull(r.s.q, head[:]); err != nil {
			return err
		}
		offset, left := binary.BigEndian.Uint64(head[:]), binary.BigEndian.Uint32(head[8:])
		if left == chunkEnd {
			r.mu.Lock()
			r.last, r.ends = offset, true
			r.moved.Broadcast()
			r.mu.Unlock()
			continue
		}
		if left > chunk || offset > 1<<62 {
			return r.nonsense()
		}
		for left > 0 {
			n, err := r.bring(offset, int(left))
			if err != nil {
				return err
			}
			offset, left = offset+uint64(n), left-uint32(n)
		}
	}
}

// bring takes at most n bytes from QUIC, when they are wanted.
func (r *receiver) bring(offset uint64, n int) (int, error) {
	r.mu.Lock()
	for len(r.ready) > 0 && r.got-r.head >= pieceLimit && r.err == nil {
		r.moved.Wait()
	}
	r.mu.Unlock()
	b := newBuffer(n)
	n, err := r.s.q.Read(b.room[:min(n, len(b.room))])
	if n == 0 {
		b.free()
		return 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil || offset > r.got { // of pieces that QUIC brings none is missing before
		b.free()
		return 0, cmp.Or(r.err, r.nonsense())
	}
	r.add(piece{offset, b.room[:n], b})
	if r.brought += n; r.brought >= bulk {
		r.brought = 0
		r.s.l.way.Want()
	}
	return n, nil // an error comes again
}

// nonsense ends a stream whose other side does not keep to the protocol.
func (r *receiver) nonsense() error {
	r.s.q.CancelRead(0)
	return errors.New("the other side of a tunnel speaks another protocol")
}
