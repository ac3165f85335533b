package path

import (
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/probe"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// Records are sealed pieces of streams that travel beside QUIC's packets where the
// way is a TCP connection, which has no need of what QUIC does: over the relay, or
// over a connection straight between the two ends (wire.go). A record is a packet
// that begins with RecordMark and is bigger than QUIC's may be.

// MaxRecord is the most bytes of a record.
const MaxRecord = 32<<10 - 64

// Records takes the records of a session. Its methods do not block.
type Records interface {
	// Record takes a record that came, of which nothing may be kept.
	Record(b []byte)
	// Changed reports that records may take another way from now on, or that some of
	// those that were sent may be lost.
	Changed()
}

// RecordMark is the first byte of a record.
const RecordMark = probe.Mark + 2

// isRecord reports that a packet claims to be a record.
func isRecord(b []byte) bool { return len(b) > 0 && b[0] == RecordMark }

// Use is what records are of use for now.
type Use int

const (
	// UseNone is a way that QUIC's packets do better on, or none.
	UseNone Use = iota
	// UseBulk is a wire beside a direct path: for much, as what is typed is quicker in
	// QUIC's packets.
	UseBulk
	// UseAll is the relay, which takes packets by the same TCP connections.
	UseAll
)

// TakeRecords has the records of a session taken from now on.
func (e *Peer) TakeRecords(r Records) { e.records.Store(&r) }

// RecordWay is how the records of a session travel. It is safe for concurrent use.
type RecordWay struct {
	p *Path
	e *Peer
}

// RecordWay returns the way of a peer's records.
func (p *Path) RecordWay(e *Peer) RecordWay { return RecordWay{p, e} }

// Use reports what records are of use for now.
func (w RecordWay) Use() Use {
	if w.e.wire.Load() != nil {
		return UseBulk
	}
	if t := w.e.direct.Load(); t != nil && t.good(w.p.since()) {
		return UseNone
	}
	return UseAll
}

// Send sends a record by the wire or through the relay, waiting while that is busy, and
// keeps nothing of it; false says that there was none.
func (w RecordWay) Send(b []byte) bool {
	w.e.moved.Add(1)
	if c := w.p.capture.Load(); c != nil {
		c.Packets(b, len(b), true)
	}
	if wire := w.e.wire.Load(); wire != nil {
		return wire.send(b) == nil
	}
	out, _ := w.p.outbox(w.e)
	return out != nil && out.Packet(w.e.session, b)
}

// record takes a record of a session.
func (p *Path) record(e *Peer, b []byte) {
	e.moved.Add(1)
	if c := p.capture.Load(); c != nil {
		c.Packets(b, len(b), false)
	}
	if r := e.records.Load(); r != nil {
		(*r).Record(b)
	}
}

// recordsChanged reports that the way of a session's records has changed.
func (e *Peer) recordsChanged() {
	if r := e.records.Load(); r != nil {
		(*r).Changed()
	}
}

// onlyRecord returns the record that is all of a message's packets.
func onlyRecord(packets []byte) []byte {
	b, rest, ok := relay.NextPacket(packets)
	if !ok || len(rest) > 0 || !isRecord(b) {
		return nil
	}
	return b
}
