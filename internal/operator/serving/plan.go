package serving

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"slices"
	"time"
)

// How long a certificate is good, how long before its end the next one is made,
// and how long that one is expected before it is shown.
const (
	lifetime = 90 * 24 * time.Hour
	ahead    = 30 * 24 * time.Hour
	notice   = time.Hour
	slack    = 5 * time.Minute // clocks are not all the same
)

// pair is a certificate and its key, as PEM.
type pair struct{ certificate, key []byte }

// state is what the Secret holds: what is shown, and what will be.
type state struct{ current, next pair }

func stateOf(data map[string][]byte) state {
	return state{pair{data["tls.crt"], data["tls.key"]}, pair{data["next.crt"], data["next.key"]}}
}

func (s state) data() map[string][]byte {
	out := map[string][]byte{"tls.crt": s.current.certificate, "tls.key": s.current.key}
	if len(s.next.certificate) > 0 {
		out["next.crt"], out["next.key"] = s.next.certificate, s.next.key
	}
	return out
}

func (s state) equal(o state) bool {
	return bytes.Equal(s.current.certificate, o.current.certificate) && bytes.Equal(s.next.certificate, o.next.certificate)
}

// bundle is what the API server has to expect.
func (s state) bundle() []byte { return slices.Concat(s.current.certificate, s.next.certificate) }

// plan returns the state after the step that is due at now.
func plan(s state, hosts []string, now time.Time) (state, error) {
	current, next := s.current.parse(hosts), s.next.parse(hosts)
	if next != nil && now.After(next.NotAfter) {
		next = nil
	}
	if next == nil {
		s.next = pair{}
	}
	var err error
	switch {
	case current == nil || !now.Before(current.NotAfter):
		if next != nil {
			return state{current: s.next}, nil
		}
		s.current, err = issue(hosts, now)
	case next != nil && !now.Before(next.NotBefore.Add(slack+notice)):
		return state{current: s.next}, nil
	case next == nil && current.NotAfter.Sub(now) < ahead:
		s.next, err = issue(hosts, now)
	}
	return s, err
}

// parse returns the certificate, nil where it is none for the hosts with its key.
func (p pair) parse(hosts []string) *x509.Certificate {
	both, err := tls.X509KeyPair(p.certificate, p.key)
	if err != nil {
		return nil
	}
	c, err := x509.ParseCertificate(both.Certificate[0])
	if err != nil {
		return nil
	}
	for _, h := range hosts {
		if c.VerifyHostname(h) != nil {
			return nil
		}
	}
	return c
}

// issue makes a certificate that signs itself.
func issue(hosts []string, now time.Time) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return pair{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: hosts[0]}, DNSNames: hosts,
		NotBefore: now.Add(-slack), NotAfter: now.Add(lifetime), BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return pair{}, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return pair{}, err
	}
	return pair{
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
	}, nil
}
