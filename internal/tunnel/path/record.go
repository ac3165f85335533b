package path

// Records are sealed pieces of streams that travel beside QUIC's packets where the
// way is a TCP connection, which has no need of what QUIC does: over the relay, or
// over a connection straight between the two ends (wire.go). A record is a packet
// that begins with recordMark and is bigger than QUIC's may be.
const recordMark = 0x22

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
func isRecord(b []byte) bool { return len(b) > 0 && b[0] == recordMark }
