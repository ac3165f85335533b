package path

import "github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"

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
	// Changed says that records may take another way from now on, or that some of
	// those that were sent may be lost.
	Changed()
}

// isRecord says that a packet claims to be a record.
func isRecord(b []byte) bool { return len(b) > 0 && b[0] == RecordMark }

// Ways of records.
type RecordWay int

const (
	// RecordsByQUIC is a way that QUIC's packets do better on, or none.
	RecordsByQUIC RecordWay = iota
	// RecordsByWire is a wire beside a direct path.
	RecordsByWire
	// RecordsByRelay is the relay, by which everything goes.
	RecordsByRelay
)

// TakeRecords has the records of a session taken from now on.
func (e *Peer) TakeRecords(r Records) { e.records.Store(&r) }

// RecordWay says which way records would take now.
func (p *Path) RecordWay(e *Peer) RecordWay {
	if e.wire.Load() != nil {
		return RecordsByWire
	}
	if t := e.direct.Load(); t != nil && t.good(p.since()) {
		return RecordsByQUIC
	}
	return RecordsByRelay
}

// SendRecord sends a record by the wire or through the relay, waiting while the way
// is busy; false says that there was none. It keeps nothing of b.
func (p *Path) SendRecord(e *Peer, b []byte) bool {
	e.moved.Add(1)
	if c := p.capture.Load(); c != nil {
		c.packets(b, len(b), true)
	}
	if w := e.wire.Load(); w != nil {
		return w.send(b) == nil
	}
	p.mu.Lock()
	out := p.out
	p.mu.Unlock()
	return out != nil && out.Packet(e.session, b)
}

// record takes a record of a session.
func (p *Path) record(e *Peer, b []byte) {
	e.moved.Add(1)
	if c := p.capture.Load(); c != nil {
		c.packets(b, len(b), false)
	}
	if r := e.records.Load(); r != nil {
		(*r).Record(b)
	}
}

// recordsChanged says that the way of a session's records has changed.
func (e *Peer) recordsChanged() {
	if r := e.records.Load(); r != nil {
		(*r).Changed()
	}
}

// onlyRecord gives the record that is all of a message's packets.
func onlyRecord(packets []byte) []byte {
	b, rest, ok := relay.NextPacket(packets)
	if !ok || len(rest) > 0 || !isRecord(b) {
		return nil
	}
	return b
}
