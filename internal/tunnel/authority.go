package tunnel

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// CertificateLifetime is the period after its issue in which a client's certificate opens a
// tunnel. An open tunnel outlives its certificate.
const CertificateLifetime = 10 * time.Minute

// clockSkew is the maximum by which an agent's clock may be behind the server's.
const clockSkew = 10 * time.Minute

// Grant states which streams a user may open on an agent. It is the only URI among the subject
// alternative names of the client's certificate.
type Grant struct {
	UserID      uuid.UUID
	WorkspaceID uuid.UUID
	AgentID     uuid.UUID
	// Actions are kinds of streams: KindSSH, KindTCP, KindPTY, KindAgentAPI.
	Actions []string
}

// Allows reports whether g permits streams of a kind.
func (g Grant) Allows(kind string) bool { return slices.Contains(g.Actions, kind) }

func (g Grant) uri() *url.URL {
	return &url.URL{Scheme: "coder", Host: "tunnel", RawQuery: url.Values{
		"user": {g.UserID.String()}, "workspace": {g.WorkspaceID.String()},
		"agent": {g.AgentID.String()}, "actions": {strings.Join(g.Actions, ",")},
	}.Encode()}
}

func parseGrant(u *url.URL) (g Grant, err error) {
	if u.Scheme != "coder" || u.Host != "tunnel" {
		return g, errors.New("not the certificate of a tunnel client")
	}
	q := u.Query()
	for name, id := range map[string]*uuid.UUID{"user": &g.UserID, "workspace": &g.WorkspaceID, "agent": &g.AgentID} {
		if *id, err = uuid.Parse(q.Get(name)); err != nil {
			return Grant{}, fmt.Errorf("%s of the tunnel certificate: %w", name, err)
		}
	}
	g.Actions = strings.Split(q.Get("actions"), ",")
	return g, nil
}

// Authority certifies clients for agents. All replicas derive the same authority from the same
// seed. It is safe for concurrent use.
type Authority struct {
	key         ed25519.PrivateKey
	certificate *x509.Certificate
}

// SeedSize is the length of an Authority's seed in bytes.
const SeedSize = ed25519.SeedSize

// NewAuthority returns the authority of a random seed of SeedSize bytes.
func NewAuthority(seed []byte) (*Authority, error) {
	if len(seed) != SeedSize {
		return nil, fmt.Errorf("the seed of the tunnel authority has %d bytes, not %d", len(seed), SeedSize)
	}
	key := ed25519.NewKeyFromSeed(seed)
	t := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "coder tunnel authority"},
		NotBefore:             epoch(),
		NotAfter:              epoch().AddDate(200, 0, 0),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make the tunnel authority: %w", err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{key: key, certificate: c}, nil
}

// Certificate returns the authority's certificate as DER, which agents trust.
func (a *Authority) Certificate() []byte { return a.certificate.Raw }

// Secret derives a key of 32 bytes for a purpose. All replicas derive the same key.
func (a *Authority) Secret(purpose string) []byte {
	k, err := hkdf.Key(sha256.New, a.key.Seed(), nil, purpose, 32)
	if err != nil { // fails only for lengths that SHA-256 cannot derive
		panic(err)
	}
	return k
}

// Issue returns a certificate, as DER, that grants g to a client's public key: an ed25519 key
// of 32 bytes.
func (a *Authority) Issue(public []byte, g Grant, now time.Time) ([]byte, error) {
	if len(public) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("a tunnel key has %d bytes, not %d", ed25519.PublicKeySize, len(public))
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "coder client"},
		NotBefore:    now.Add(-clockSkew),
		NotAfter:     now.Add(CertificateLifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		URIs:         []*url.URL{g.uri()},
	}
	return x509.CreateCertificate(rand.Reader, t, a.certificate, ed25519.PublicKey(public), a.key)
}

// verifier verifies the certificates of clients for an agent.
type verifier struct {
	authority []byte // DER
	agentID   uuid.UUID
	now       func() time.Time
}

// grant returns what a certificate grants on this agent, or an error if the certificate is not
// valid here.
func (v verifier) grant(c *x509.Certificate) (Grant, error) {
	ca, err := x509.ParseCertificate(v.authority)
	if err != nil {
		return Grant{}, fmt.Errorf("the authority of tunnel clients: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	_, err = c.Verify(x509.VerifyOptions{
		Roots: roots, CurrentTime: v.now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return Grant{}, err
	}
	if len(c.URIs) != 1 {
		return Grant{}, errors.New("not the certificate of a tunnel client")
	}
	g, err := parseGrant(c.URIs[0])
	if err != nil {
		return Grant{}, err
	}
	if g.AgentID != v.agentID {
		return Grant{}, errors.New("the certificate is for another agent")
	}
	return g, nil
}

// verifyPinned returns an error unless the peer's certificate is exactly want.
func verifyPinned(want []byte, shown [][]byte) error {
	if len(shown) == 0 || !bytes.Equal(want, shown[0]) {
		return errors.New("the agent shows another certificate than the one it registered with the server")
	}
	return nil
}
