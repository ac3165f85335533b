package observability

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"

	"github.com/seed-2a7f8fe7/coder/internal/metrics"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
	"github.com/seed-2a7f8fe7/coder/internal/sysstat"
)

// disks returns the file systems of the server's directories. Directories that
// do not exist yet are absent.
func (g *Group) disks() (all []metrics.Disk, err error) {
	for _, name := range slices.Sorted(maps.Keys(g.from.Directories)) {
		a, err := sysstat.Disk(g.from.Directories[name])
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, metrics.Disk{Directory: name, Free: *a.Total - a.Used, Size: *a.Total})
	}
	return all, nil
}

// readCertificates reads the certificates of the listener, once: the listener
// does not read its files again either.
func readCertificates(files []string) (all []metrics.Certificate, err error) {
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		block, _ := pem.Decode(b)
		if block == nil {
			return nil, fmt.Errorf("%s is not a PEM file", f)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read the certificate %s: %w", f, err)
		}
		name := c.Subject.CommonName
		if len(c.DNSNames) > 0 {
			name = c.DNSNames[0]
		}
		all = append(all, metrics.Certificate{Name: name, Source: "listener", End: c.NotAfter})
	}
	return all, nil
}

// certificates returns the certificates of the listener and the one that clients
// get at the access URL, which may be that of a proxy. An access URL without an
// answer has none.
func (g *Group) certificates(ctx context.Context) ([]metrics.Certificate, error) {
	all := slices.Clone(g.listener)
	if g.base.AccessURL.Scheme != "https" {
		return all, nil
	}
	ctx, cancel := context.WithTimeout(ctx, base.RequestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.base.AccessURL.JoinPath("healthz").String(), nil)
	if err != nil {
		return nil, err
	}
	var leaf *x509.Certificate
	resp, err := g.base.Outgoing.RoundTrip(req)
	var refused *tls.CertificateVerificationError
	switch {
	case errors.As(err, &refused) && len(refused.UnverifiedCertificates) > 0: // such as one that ended
		leaf = refused.UnverifiedCertificates[0]
	case err != nil:
		g.base.Logger("metrics").DebugContext(ctx, "cannot read the certificate of the access URL", "error", err)
		return all, nil
	default:
		resp.Body.Close()
		if resp.TLS != nil && len(resp.TLS.PeerCertificates) > 0 {
			leaf = resp.TLS.PeerCertificates[0]
		}
	}
	if leaf != nil {
		all = append(all, metrics.Certificate{Name: g.base.AccessURL.Hostname(), Source: "access_url", End: leaf.NotAfter})
	}
	return all, nil
}
