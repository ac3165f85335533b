// Package replicatoken proves to a replica that a request comes from another replica of the same
// deployment, so that no session token leaves the replica that a user is connected to. A token is good
// for one subject at one replica, once, for a minute: a token that was seen on the way is worthless.
package replicatoken

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Header is the request header that carries a token.
const Header = "Coder-Replica-Token"

const (
	// maxAge bounds the difference between the clocks of two replicas, and the time
	// for which a used token is remembered.
	maxAge = time.Minute
	// maxNonces bounds the remembered tokens. More tokens within a minute are refused.
	maxNonces = 100_000
	nonceSize = 16
	claimSize = 8 + nonceSize // the time in seconds since 1970, and a random number
)

// Signer creates and checks tokens. It is safe for concurrent use.
type Signer struct {
	key  []byte
	now  func() time.Time
	seen nonces
}

// New returns a Signer. The key is secret, for one purpose, and the same on all replicas.
func New(key []byte, now func() time.Time) *Signer { return &Signer{key: key, now: now} }

// Token returns a token for a subject, such as a request, at the replica to.
func (s *Signer) Token(to uuid.UUID, subject []byte) string {
	t := make([]byte, claimSize, claimSize+sha256.Size)
	binary.BigEndian.PutUint64(t, uint64(s.now().Unix()))
	rand.Read(t[8:]) //nolint:errcheck // documented never to fail
	return base64.RawURLEncoding.EncodeToString(append(t, s.mac(t, to, subject)...))
}

func (s *Signer) mac(claim []byte, to uuid.UUID, subject []byte) []byte {
	m := hmac.New(sha256.New, s.key)
	m.Write(claim)
	m.Write(to[:])
	m.Write(subject)
	return m.Sum(nil)
}

// Admit checks a token for a subject at this replica. It returns an error of
// CodeUnauthenticated unless a Signer with the same key created the token for
// exactly that, less than a minute ago, and it is used for the first time.
func (s *Signer) Admit(token string, here uuid.UUID, subject []byte) error {
	refused := codersdk.Errorf(codersdk.CodeUnauthenticated, "Only servers of this deployment may connect here")
	t, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(t) != claimSize+sha256.Size {
		return refused
	}
	claim, mac := t[:claimSize], t[claimSize:]
	if !hmac.Equal(mac, s.mac(claim, here, subject)) {
		return refused
	}
	now := s.now()
	if age := now.Sub(time.Unix(int64(binary.BigEndian.Uint64(claim)), 0)); age > maxAge || age < -maxAge {
		return codersdk.Errorf(codersdk.CodeUnauthenticated, "The clocks of the two servers differ by %s", age.Abs().Round(time.Second))
	}
	if !s.seen.add([nonceSize]byte(claim[8:]), now) {
		return refused
	}
	return nil
}

// nonces are the random numbers of used tokens, in two generations.
type nonces struct {
	mu         sync.Mutex
	newer, old map[[nonceSize]byte]struct{}
	turned     time.Time
}

// add records a number and reports whether it is new. A number is forgotten after
// its token is too old.
func (n *nonces) add(x [nonceSize]byte, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.newer == nil || now.Sub(n.turned) > 2*maxAge {
		n.old, n.newer, n.turned = n.newer, make(map[[nonceSize]byte]struct{}), now
	}
	_, a := n.newer[x]
	_, b := n.old[x]
	if a || b || len(n.newer) >= maxNonces {
		return false
	}
	n.newer[x] = struct{}{}
	return true
}
