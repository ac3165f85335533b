package switchboard

import "github.com/google/uuid"

// HopToken returns the token that one replica shows another.
func HopToken(from, to *Board, agentID uuid.UUID) string {
	return from.hopToken(to.c.Replica.ID, agentID)
}
