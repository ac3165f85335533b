package tunnel

import (
	"slices"

	"github.com/google/uuid"
	"github.com/quic-go/quic-go"
)

// Peers returns how many clients are reached directly now, and how many through
// the relay.
func (l *Listener) Peers() (direct, relayed int) { return l.path.Count() }

// Users returns those on whose behalf tunnels are open, each once. uuid.Nil, which
// is the server itself, is not among them.
func (l *Listener) Users() []uuid.UUID {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []uuid.UUID
	for c := range l.conns {
		if u := userOf(c); u != uuid.Nil && !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}

// End ends the tunnels that are open on behalf of a user, and tells their clients
// so.
func (l *Listener) End(user uuid.UUID) {
	l.mu.Lock()
	var ended []*quic.Conn
	for c := range l.conns {
		if userOf(c) == user {
			ended = append(ended, c)
		}
	}
	l.mu.Unlock()
	for _, c := range ended {
		_ = c.CloseWithError(closedByAgent, "you no longer have access to this workspace")
	}
}

// userOf returns the user of a tunnel's certificate.
func userOf(c *quic.Conn) uuid.UUID {
	certificates := c.ConnectionState().TLS.PeerCertificates
	if len(certificates) == 0 || len(certificates[0].URIs) != 1 {
		return uuid.Nil
	}
	g, err := parseGrant(certificates[0].URIs[0])
	if err != nil {
		return uuid.Nil
	}
	return g.UserID
}
