package tunnel

import (
	"log/slog"

	"github.com/quic-go/quic-go"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/lane"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/path"
)

// recordWay is how the records of a tunnel travel.
type recordWay struct {
	path *path.Path
	peer *path.Peer
}

// Use says what records are of use for now: through the relay for everything, by a
// wire beside a direct path for much.
func (w recordWay) Use() lane.Use {
	switch w.path.RecordWay(w.peer) {
	case path.RecordsByRelay:
		return lane.UseAll
	case path.RecordsByWire:
		return lane.UseBulk
	}
	return lane.UseNone
}

// Send sends a record.
func (w recordWay) Send(b []byte) bool { return w.path.SendRecord(w.peer, b) }

// Want has a wire made.
func (w recordWay) Want() { w.path.WantWire(w.peer) }

// openLane gives a connection whose handshake is done its lane; nil when the other
// end knows of none.
func openLane(c *quic.Conn, agent bool, p *path.Path, e *path.Peer, log *slog.Logger) *lane.Lane {
	if c.ConnectionState().TLS.NegotiatedProtocol != protocol2 {
		return nil
	}
	l, err := lane.New(c, agent, recordWay{p, e})
	if err != nil {
		log.Warn("a tunnel has no keys for records", "error", err)
		_ = c.CloseWithError(closedByAgent, "no keys for records")
		return nil
	}
	e.TakeRecords(l)
	return l
}
