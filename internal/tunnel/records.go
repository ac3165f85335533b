package tunnel

import (
	"log/slog"

	"github.com/quic-go/quic-go"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/lane"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/path"
)

// openLane returns the lane of a connection whose handshake is complete, or nil if the other
// end does not support records.
func openLane(c *quic.Conn, agent bool, p *path.Path, e *path.Peer, log *slog.Logger) *lane.Lane {
	if c.ConnectionState().TLS.NegotiatedProtocol != protocol2 {
		return nil
	}
	l, err := lane.New(c, agent, p.RecordSender(e))
	if err != nil {
		log.Warn("a tunnel has no keys for records", "error", err)
		_ = c.CloseWithError(closedByAgent, "no keys for records")
		return nil
	}
	e.TakeRecords(l)
	return l
}
