package lane

import (
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/quic-go/quic-go"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/path"
)

// A record on the wire:
//
//	0x23, counter uint64, sealed: kind byte, body
//
// counter is the nonce; it is authenticated like the rest. The body of data:
//
//	stream uint64, got uint64, read uint64, window uint32, offset uint64, bytes
//
// got and read acknowledge the other direction of the stream. The body of
// acknowledgements is one or more of:
//
//	stream uint64, got uint64, read uint64, missing uint64
const (
	kindData byte = 1
	kindAck  byte = 2

	header  = 1 + 8
	tag     = 16
	ackSize = 4 * 8
	dataAt  = 1 + 8 + 8 + 8 + 4 + 8 // offset of the bytes in the sealed body
	maxAcks = 64
)

// Piece is the maximum number of stream bytes in one record.
const Piece = path.MaxRecord - header - tag - dataAt

// ack states what an end has received of a stream.
type ack struct {
	stream quic.StreamID
	got    uint64 // all data before this offset arrived
	read   uint64 // all data before this offset was read and frees window space
	// missing is the offset of the first data that arrived after a gap; 0 means that nothing
	// arrived beyond the gap.
	missing uint64
}

// record is the content of a record.
type record struct {
	ack
	kind   byte
	window uint32
	offset uint64
	data   []byte // in buf
	buf    *buffer
	acks   []ack
}

// buffer holds one record: either a small one, which suffices for most typed input, or one of
// any size. It returns to its pool when all holders have freed it.
type buffer struct {
	storage []byte
	data    []byte
	refs    atomic.Int32
}

const small = 2 << 10

var (
	smallBuffers = sync.Pool{New: func() any { return &buffer{storage: make([]byte, small)} }}
	bigBuffers   = sync.Pool{New: func() any { return &buffer{storage: make([]byte, path.MaxRecord)} }}
)

// newBuffer returns a buffer for a record of n bytes.
func newBuffer(n int) *buffer {
	pool := &bigBuffers
	if n <= small {
		pool = &smallBuffers
	}
	b := pool.Get().(*buffer)
	b.data = b.storage[:0]
	b.refs.Store(1)
	return b
}

func (b *buffer) retain() { b.refs.Add(1) }

func (b *buffer) free() {
	switch {
	case b == nil || b.refs.Add(-1) > 0:
	case len(b.storage) == small:
		smallBuffers.Put(b)
	default:
		bigBuffers.Put(b)
	}
}

// sealRecord returns a record whose body of n bytes is appended by add. The body is built in
// place of the ciphertext, which an AEAD permits.
func (l *Lane) sealRecord(n int, add func(body []byte) []byte) *buffer {
	b := newBuffer(header + n + tag)
	head := binary.BigEndian.AppendUint64(append(b.data, path.RecordMark), l.sealed.Add(1))
	b.data = l.out.Seal(head, nonce(head), add(head)[header:], head)
	return b
}

// sealData returns a record of data.
func (l *Lane) sealData(a ack, window uint32, offset uint64, p []byte) *buffer {
	return l.sealRecord(dataAt+len(p), func(body []byte) []byte {
		body = append(body, kindData)
		body = binary.BigEndian.AppendUint64(body, uint64(a.stream))
		body = binary.BigEndian.AppendUint64(body, a.got)
		body = binary.BigEndian.AppendUint64(body, a.read)
		body = binary.BigEndian.AppendUint32(body, window)
		body = binary.BigEndian.AppendUint64(body, offset)
		return append(body, p...)
	})
}

func (l *Lane) sealAcks(acks []ack) *buffer {
	return l.sealRecord(1+len(acks)*ackSize, func(body []byte) []byte {
		body = append(body, kindAck)
		for _, a := range acks {
			for _, v := range []uint64{uint64(a.stream), a.got, a.read, a.missing} {
				body = binary.BigEndian.AppendUint64(body, v)
			}
		}
		return body
	})
}

// nonce returns the nonce of a record with this header.
func nonce(head []byte) []byte {
	var b [12]byte
	copy(b[4:], head[1:header])
	return b[:]
}

var errRecord = errors.New("not a record of this tunnel")

// openRecord opens a record that the other end sealed. The caller owns its buffer. A duplicate
// is harmless: it contains nothing new.
func (l *Lane) openRecord(b []byte) (record, error) { return unseal(l.in, b) }

// openOwnRecord opens a record that this end sealed.
func (l *Lane) openOwnRecord(b []byte) (record, error) { return unseal(l.out, b) }

func unseal(key cipher.AEAD, b []byte) (r record, err error) {
	if len(b) < header+tag+1 || len(b) > path.MaxRecord || b[0] != path.RecordMark {
		return r, errRecord
	}
	r.buf = newBuffer(len(b))
	body, err := key.Open(r.buf.data, nonce(b), b[header:], b[:header])
	if err != nil || !r.parse(body) {
		r.buf.free()
		return record{}, errRecord
	}
	return r, nil
}

func (r *record) parse(b []byte) bool {
	r.kind = b[0]
	switch r.kind {
	case kindData:
		if len(b) < dataAt {
			return false
		}
		r.stream = quic.StreamID(binary.BigEndian.Uint64(b[1:]))
		r.got, r.read = binary.BigEndian.Uint64(b[9:]), binary.BigEndian.Uint64(b[17:])
		r.window, r.offset = binary.BigEndian.Uint32(b[25:]), binary.BigEndian.Uint64(b[29:])
		r.data = b[dataAt:]
		return r.offset < 1<<62
	case kindAck:
		b = b[1:]
		if len(b)%ackSize != 0 || len(b) > maxAcks*ackSize {
			return false
		}
		for ; len(b) > 0; b = b[ackSize:] {
			v := func(i int) uint64 { return binary.BigEndian.Uint64(b[8*i:]) }
			r.acks = append(r.acks, ack{quic.StreamID(v(0)), v(1), v(2), v(3)})
		}
		return true
	}
	return false
}
