package switchboard

import (
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/replicatoken"
)

// hopSigner signs the tokens of replicas that want to reach an agent of another.
// All replicas derive its key from the authority of tunnels.
func hopSigner(c Config) *replicatoken.Signer {
	if c.Authority == nil {
		return nil
	}
	return replicatoken.New(c.Authority.Secret("coder relay between replicas"), c.Now)
}

// hopToken proves to the replica to that the bearer is a replica of this
// deployment that wants to reach an agent.
func (b *Board) hopToken(to, agentID uuid.UUID) string {
	return b.hops.signer.Token(to, agentID[:])
}

// AdmitHop checks the token of a replica that wants to reach an agent here.
func (b *Board) AdmitHop(token string, agentID uuid.UUID) error {
	if b.hops.signer == nil {
		return codersdk.Errorf(codersdk.CodeUnauthenticated, "Only servers of this deployment may connect here")
	}
	return b.hops.signer.Admit(token, b.c.Replica.ID, agentID[:])
}
