package path

import (
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/probe"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// Records are sealed pieces of streams that travel beside QUIC's packets over TCP
// connections, which need neither QUIC's congestion control nor its retransmission. The
// connection is the relay's, or a wire directly between the two ends (wire.go). A record is
// a packet that begins with RecordMark and may be bigger than QUIC's packets.

// MaxRecord is the maximum size of a record in bytes.
const MaxRecord = 32<<10 - 64

// Records receives the records of a session. Its methods do not block.
type Records interface {
	// Record receives a record. Record must not keep b after it returns.
	Record(b []byte)
	// Changed is called when records may travel over another path from now on, or when
	// records that were sent may be lost.
	Changed()
}

// RecordMark is the first byte of a record.
const RecordMark = probe.Mark + 2

// isRecord reports whether a packet claims to be a record.
func isRecord(b []byte) bool { return len(b) > 0 && b[0] == RecordMark }

// Use is the kind of data for which records are better than QUIC's packets now.
type Use int

const (
	// UseNone stands for a path that suits QUIC's packets better, or for no path.
	UseNone Use = iota
	// UseBulk stands for a wire beside a direct path. Records carry only bulk data, because
	// keystrokes arrive sooner in QUIC's packets.
	UseBulk
	// UseAll stands for the relay, which carries packets over the same TCP connections.
	UseAll
)

// TakeRecords delivers the records of a session to r from now on.
func (e *Peer) TakeRecords(r Records) { e.records.Store(&r) }

// RecordSender sends the records of a session. It is safe for concurrent use.
type RecordSender struct {
	p *Path
	e *Peer
}

// RecordSender returns the sender of a peer's records.
func (p *Path) RecordSender(e *Peer) RecordSender { return RecordSender{p, e} }

// Use returns the kind of data for which records are better than QUIC's packets now.
func (r RecordSender) Use() Use {
	if r.e.wire.Load() != nil {
		return UseBulk
	}
	if t := r.e.direct.Load(); t != nil && t.works(r.p.elapsed()) {
		return UseNone
	}
	return UseAll
}

// Send sends a record over the wire or the relay, and waits while that connection is busy.
// Send does not keep b. It returns false if there was no connection.
func (r RecordSender) Send(b []byte) bool {
	r.e.moved.Add(1)
	if c := r.p.capture.Load(); c != nil {
		c.Packets(b, len(b), true)
	}
	if wire := r.e.wire.Load(); wire != nil {
		return wire.sendRecord(b) == nil
	}
	out, _ := r.p.outbox(r.e)
	return out != nil && out.Packet(r.e.session, b)
}

// receiveRecord handles a record of a session.
func (p *Path) receiveRecord(e *Peer, b []byte) {
	e.moved.Add(1)
	if c := p.capture.Load(); c != nil {
		c.Packets(b, len(b), false)
	}
	if r := e.records.Load(); r != nil {
		(*r).Record(b)
	}
}

// notifyRecordsChanged calls Records.Changed of a session: the path of its records has changed.
func (e *Peer) notifyRecordsChanged() {
	if r := e.records.Load(); r != nil {
		(*r).Changed()
	}
}

// onlyRecord returns the record if the packets of a message are a single record, else nil.
func onlyRecord(packets []byte) []byte {
	b, rest, ok := relay.NextPacket(packets)
	if !ok || len(rest) > 0 || !isRecord(b) {
		return nil
	}
	return b
}
