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

// Identity is the key of one end of tunnels, made by every process and
// never written down. An agent shows its self-signed certificate, which
// clients pin; a client has its public key certified by the Authority.
type Identity struct {
	key         ed25519.PrivateKey
	certificate []byte
}

// NewIdentity makes a key and its self-signed certificate.
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

// selfSigned is what an end says of itself: nothing but that it is one. Its
// time is not checked, for the key lives as long as the process.
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

// PublicKey is what a client asks the server to certify.
func (i *Identity) PublicKey() ed25519.PublicKey { return i.key.Public().(ed25519.PublicKey) }

// Certificate returns the self-signed certificate as DER, for an agent to
// register with the server.
func (i *Identity) Certificate() []byte { return i.certificate }

// tls returns the certificate that the end shows: der, or its own when nil.
func (i *Identity) tls(der []byte) tls.Certificate {
	if der == nil {
		der = i.certificate
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: i.key}
}

// epoch is the start of all certificates whose time nobody checks.
func epoch() time.Time { return time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC) }
