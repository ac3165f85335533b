package remote

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"

	"github.com/seed-2a7f8fe7/coder"
)

// maxTrusted bounds how many sets of authorities are remembered.
const maxTrusted = 256

// trust gives the HTTP client that takes certificates of authorities too, which
// are PEM; "" is the system's alone.
func (s *Sites) trust(authorities string) (*http.Client, error) {
	if authorities == "" {
		return s.http, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.trusted[authorities]; c != nil {
		return c, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM([]byte(authorities)) {
		return nil, coder.Invalid("authorities", "the Secrets of certs and tls hold no certificate in PEM that the control plane could be known by")
	}
	base, ok := s.http.Transport.(*http.Transport)
	if !ok {
		base = http.DefaultTransport.(*http.Transport) //nolint:forcetypeassert // documented to be one
	}
	t := base.Clone()
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	if len(s.trusted) >= maxTrusted {
		clear(s.trusted)
	}
	c := *s.http
	c.Transport = t
	s.trusted[authorities] = &c
	return &c, nil
}
