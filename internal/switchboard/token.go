package switchboard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

const (
	// tokenAge is how far the clocks of two replicas may be apart, and how long
	// a token is remembered as used.
	tokenAge = time.Minute
	// maxNonces bounds what is remembered; more hops a minute are refused.
	maxNonces = 100_000
	nonceSize = 16
)

// hopToken proves to the replica to that the bearer is a replica of this
// deployment who wants to reach an agent: the time, a random number, and their
// HMAC under a key that all replicas derive from the authority of tunnels. It
// is good once and for a minute, so a token that was seen on the way is worth
// nothing.
func (b *Board) hopToken(to, agentID uuid.UUID) string {
	t := make([]byte, 8+nonceSize, 8+nonceSize+sha256.Size)
	binary.BigEndian.PutUint64(t, uint64(b.c.Now().Unix()))
	_, _ = rand.Read(t[8:]) // never fails
	return base64.RawURLEncoding.EncodeToString(append(t, b.hopMAC(t, to, agentID)...))
}

func (b *Board) hopMAC(t []byte, to, agentID uuid.UUID) []byte {
	m := hmac.New(sha256.New, b.c.Authority.Secret("coder relay between replicas"))
	m.Write(t)
	m.Write(to[:])
	m.Write(agentID[:])
	return m.Sum(nil)
}

// AdmitHop checks the token of a replica that wants to reach an agent here.
func (b *Board) AdmitHop(token string, agentID uuid.UUID) error {
	refused := coder.Errorf(coder.CodeUnauthenticated, "Only servers of this deployment may connect here")
	t, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(t) != 8+nonceSize+sha256.Size || b.c.Authority == nil {
		return refused
	}
	claim, mac := t[:8+nonceSize], t[8+nonceSize:]
	if !hmac.Equal(mac, b.hopMAC(claim, b.c.Replica.ID, agentID)) {
		return refused
	}
	now := b.c.Now()
	if age := now.Sub(time.Unix(int64(binary.BigEndian.Uint64(claim)), 0)); age > tokenAge || age < -tokenAge {
		return coder.Errorf(coder.CodeUnauthenticated, "The clocks of the two servers differ by %s", age.Abs().Round(time.Second))
	}
	if !b.hops.seen.first([nonceSize]byte(claim[8:]), now) {
		return refused
	}
	return nil
}

// nonces are the random numbers of tokens that were used.
type nonces struct {
	mu       sync.Mutex
	new, old map[[nonceSize]byte]struct{}
	turned   time.Time
}

// first notes a number and says whether it is new. Numbers are forgotten when
// their tokens are too old: two generations of twice that age.
func (n *nonces) first(x [nonceSize]byte, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.new == nil || now.Sub(n.turned) > 2*tokenAge {
		n.old, n.new, n.turned = n.new, make(map[[nonceSize]byte]struct{}), now
	}
	_, a := n.new[x]
	_, b := n.old[x]
	if a || b || len(n.new) >= maxNonces {
		return false
	}
	n.new[x] = struct{}{}
	return true
}
