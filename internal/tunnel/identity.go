package tunnel

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"
)

// Identity is the key of one end of tunnels. Every process creates its own and never stores
// it. An agent presents its self-signed certificate, which clients pin. The Authority
// certifies the public key of a client.
type Identity struct {
	key         ed25519.PrivateKey
	certificate []byte
}

// NewIdentity returns a new key with its self-signed certificate.
func NewIdentity() (*Identity, error) {
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, selfSigned(), selfSigned(), pub, key)
	if err != nil {
		return nil, fmt.Errorf("make the tunnel certificate: %w", err)
	}
	return &Identity{key: key, certificate: der}, nil
}

// selfSigned returns the template of an agent's certificate. Clients do not check its validity
// period, since the key lives only as long as the process.
func selfSigned() *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "coder agent"},
		NotBefore:    epoch(),
		NotAfter:     epoch().AddDate(200, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

// PublicKey returns the key that a client asks the server to certify.
func (i *Identity) PublicKey() ed25519.PublicKey { return i.key.Public().(ed25519.PublicKey) }

// Certificate returns the self-signed certificate as DER, for an agent to
// register with the server.
func (i *Identity) Certificate() []byte { return i.certificate }

// tls returns the certificate that this end presents: der, or the self-signed one if der is
// nil.
func (i *Identity) tls(der []byte) tls.Certificate {
	if der == nil {
		der = i.certificate
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: i.key}
}

// epoch returns the start of the validity of certificates whose validity period nobody checks.
func epoch() time.Time { return time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC) }
