package tunnel

import (
	"slices"

	"github.com/google/uuid"
	"github.com/quic-go/quic-go"
)

// Peers returns the number of clients with a direct path now, and of those that use the relay.
func (l *Listener) Peers() (direct, relayed int) { return l.path.Count() }

// Users returns the users on whose behalf tunnels are open, without duplicates. It omits
// uuid.Nil, which is the server itself.
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

// End ends the tunnels that are open on behalf of a user, and notifies their clients.
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
