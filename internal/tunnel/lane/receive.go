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

// maxAhead is the maximum number of pieces that wait behind a gap.
const maxAhead = maxUnacked

// maxReadAhead bounds the unread bytes for which the receiver reads ahead from QUIC.
const maxReadAhead = 128 << 10

// piece is a part of the received data.
type piece struct {
	offset uint64
	data   []byte
	buf    *buffer // of data
}

func (p piece) end() uint64 { return p.offset + uint64(len(p.data)) }

// receiver is the receiving direction of a stream.
type receiver struct {
	s       *Stream
	mu      sync.Mutex
	changed sync.Cond // signals that data arrived, data was read, or the stream ended

	readTo      uint64  // offset up to which data was read
	receivedTo  uint64  // offset up to which data arrived without a gap
	ready       []piece // from readTo to receivedTo
	ahead       []piece // behind a gap, in order of offsets
	ackDue      bool    // an acknowledgement is to be sent
	reportedGap uint64  // offset of the last reported gap plus one; 0: none
	window      uint32  // bytes that the other end may have in flight
	quicBytes   int     // bytes read from QUIC since the last RecordSender.SeekWire
	endOffset   uint64  // offset of the end of the stream, if endKnown is set
	endKnown    bool
	err         error // returned after the ready data
	deadline    deadline
}

func (r *receiver) init(s *Stream) {
	r.s, r.window = s, initialStreamWindow
	r.changed.L = &r.mu
}

func (r *receiver) wakeReader() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed.Broadcast()
}

// currentAck returns the state to acknowledge.
func (r *receiver) currentAck() ack {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buildAck()
}

// dueAck returns the state to acknowledge, if an acknowledgement is due.
func (r *receiver) dueAck() (a ack, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ackDue {
		return a, false
	}
	return r.buildAck(), true
}

func (r *receiver) buildAck() ack {
	r.ackDue = false
	a := ack{stream: r.s.q.StreamID(), got: r.receivedTo, read: r.readTo}
	if len(r.ahead) > 0 {
		a.missing = r.ahead[0].offset
	}
	return a
}

// scheduleAck has the lane acknowledge that n bytes arrived or were read. The caller holds mu.
func (r *receiver) scheduleAck(n int, now bool) {
	r.ackDue = true
	r.s.l.scheduleAck(r.s, n, int(r.window), now)
}

// addRecord adds the data of a record and keeps its buffer.
func (r *receiver) addRecord(rec record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.window = rec.window
	p := piece{rec.offset, rec.data, rec.buf}
	full := r.s.l.buffered.Load() > maxBuffered && (p.offset > r.receivedTo || p.end() > r.readTo+minStreamUnread+Piece)
	switch {
	case r.err != nil || p.end() > r.readTo+maxStreamWindow+Piece || full || len(r.ahead) >= maxAhead:
		p.buf.free()
		return
	case p.end() <= r.receivedTo: // a duplicate
		p.buf.free()
		r.scheduleAck(0, true)
		return
	}
	gap := p.offset > r.receivedTo && r.reportedGap != r.receivedTo+1
	if gap {
		r.reportedGap = r.receivedTo + 1
	}
	r.insertPiece(p)
	r.scheduleAck(len(rec.data), gap)
}

// insertPiece inserts a piece at its offset. The caller holds mu.
func (r *receiver) insertPiece(p piece) {
	r.s.l.buffered.Add(int64(len(p.buf.storage)))
	if p.offset > r.receivedTo {
		i, found := slices.BinarySearchFunc(r.ahead, p.offset, func(a piece, o uint64) int { return cmp.Compare(a.offset, o) })
		if found && r.ahead[i].end() >= p.end() {
			r.dropPiece(p)
			return
		}
		r.ahead = slices.Insert(r.ahead, i, p)
		return
	}
	r.appendReady(p)
	n := 0
	for ; n < len(r.ahead) && r.ahead[n].offset <= r.receivedTo; n++ {
		r.appendReady(r.ahead[n])
	}
	r.ahead = slices.Delete(r.ahead, 0, n)
	r.changed.Broadcast()
}

// dropPiece frees a piece that was inserted.
func (r *receiver) dropPiece(p piece) {
	r.s.l.buffered.Add(-int64(len(p.buf.storage)))
	p.buf.free()
}

// appendReady appends a piece that begins at or before the end of the ready data. The caller
// holds mu.
func (r *receiver) appendReady(p piece) {
	if p.end() <= r.receivedTo {
		r.dropPiece(p)
		return
	}
	p.data = p.data[r.receivedTo-p.offset:]
	p.offset = r.receivedTo
	r.receivedTo = p.end()
	// Typed input arrives in small pieces: they share a buffer.
	if n := len(r.ready); n > 0 {
		if last := &r.ready[n-1]; cap(last.data)-len(last.data) >= len(p.data) {
			last.data = append(last.data, p.data...)
			r.dropPiece(p)
			return
		}
	}
	r.ready = append(r.ready, p)
}

// read implements Stream.Read.
func (r *receiver) read(p []byte) (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		switch {
		case r.deadline.passed():
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case len(r.ready) > 0:
			n = r.copyReady(p)
			r.scheduleAck(n, false)
			r.changed.Broadcast() // readChunkData may continue
			return n, nil
		case r.endKnown && r.readTo >= r.endOffset:
			return 0, io.EOF
		case r.err != nil:
			return 0, r.err
		}
		r.changed.Wait()
	}
}

// copyReady copies ready data to p. The caller holds mu.
func (r *receiver) copyReady(p []byte) (n int) {
	copied := 0
	for copied < len(r.ready) && n < len(p) {
		next := &r.ready[copied]
		m := copy(p[n:], next.data)
		n += m
		next.data, next.offset = next.data[m:], next.offset+uint64(m)
		if len(next.data) == 0 {
			r.dropPiece(*next)
			copied++
		}
	}
	r.ready = slices.Delete(r.ready, 0, copied)
	r.readTo += uint64(n)
	return n
}

// fail ends the reading with an error: at once if now is set, or after the ready data.
func (r *receiver) fail(err error, now bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now {
		for _, p := range slices.Concat(r.ready, r.ahead) {
			r.dropPiece(p)
		}
		r.ready, r.ahead, r.err = nil, nil, err
	}
	if r.err == nil {
		r.err = err
	}
	r.changed.Broadcast()
}

// receiveQUIC reads the chunks of the QUIC stream until it ends. By then all data of records
// has arrived too.
func (r *receiver) receiveQUIC() {
	r.fail(r.readChunks(), false)
	r.s.markEnded(&r.s.receiveEnded)
}

// readChunks reads the chunks, each after its header.
func (r *receiver) readChunks() error {
	var head [chunkHead]byte
	for {
		if _, err := io.ReadFull(r.s.q, head[:]); err != nil {
			return err
		}
		offset, left := binary.BigEndian.Uint64(head[:]), binary.BigEndian.Uint32(head[8:])
		if left == chunkEnd {
			r.mu.Lock()
			r.endOffset, r.endKnown = offset, true
			r.changed.Broadcast()
			r.mu.Unlock()
			continue
		}
		if left > chunk || offset > 1<<62 {
			return r.protocolError()
		}
		for left > 0 {
			n, err := r.readChunkData(offset, int(left))
			if err != nil {
				return err
			}
			offset, left = offset+uint64(n), left-uint32(n)
		}
	}
}

// readChunkData reads at most n bytes from QUIC, once the reader needs them.
func (r *receiver) readChunkData(offset uint64, n int) (int, error) {
	r.mu.Lock()
	for len(r.ready) > 0 && r.receivedTo-r.readTo >= maxReadAhead && r.err == nil {
		r.changed.Wait()
	}
	r.mu.Unlock()
	b := newBuffer(n)
	n, err := r.s.q.Read(b.storage[:min(n, len(b.storage))])
	if n == 0 {
		b.free()
		return 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil || offset > r.receivedTo { // QUIC delivers chunks without gaps
		b.free()
		return 0, cmp.Or(r.err, r.protocolError())
	}
	r.insertPiece(piece{offset, b.storage[:n], b})
	if r.quicBytes += n; r.quicBytes >= bulkBytes {
		r.quicBytes = 0
		r.s.l.records.SeekWire()
	}
	return n, nil // the next read returns the error
}

// protocolError resets a stream whose other end violates the protocol.
func (r *receiver) protocolError() error {
	r.s.q.CancelRead(0)
	return errors.New("the other side of a tunnel speaks another protocol")
}
