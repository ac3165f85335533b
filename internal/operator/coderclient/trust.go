package coderclient

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// maxTrusted bounds the cached sets of authorities.
const maxTrusted = 256

// trust returns the HTTP client that also trusts the authorities, which are
// PEM; "" means the system's only.
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
		return nil, codersdk.Invalid("authorities", "the Secrets in spec.certs and spec.tls contain no PEM certificate for the control plane")
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
