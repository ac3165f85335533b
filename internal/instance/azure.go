package instance

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/smallstep/pkcs7"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

const (
	// maxIssuers bounds the intermediate certificates between Azure's and its
	// authority, and maxKept the cached ones.
	maxIssuers, maxKept = 3, 64
	maxCertificate      = 64 << 10
	// failurePause is the time without further requests after a failed one,
	// because any client can trigger requests.
	failurePause = time.Minute
)

// azure verifies documents that Azure signed. They contain Azure's certificate
// only. The intermediate certificates change every few months and are
// downloaded once from the address that the certificate names.
type azure struct {
	roots *x509.CertPool // nil means the system's
	http  *http.Client
	now   func() time.Time

	mu     sync.Mutex
	kept   map[string]*x509.Certificate // by URL
	failed map[string]time.Time         // time of the last failed download
}

// azureHosts returns the names of the metadata services of Azure's clouds, and
// the hosts from which certificates may be downloaded.
func azureHosts() (metadata, issuers []string) {
	return []string{"metadata.azure.com", "metadata.azure.us", "metadata.azure.cn"},
		[]string{"www.microsoft.com", "caissuers.microsoft.com", "cacerts.digicert.com", "cacerts.digicert.cn"}
}

// Azure returns the id of the machine in a document that Azure signed.
func (v *Verifier) Azure(ctx context.Context, t codersdk.AzureInstanceIdentityToken) (string, error) {
	if t.Encoding != "" && !strings.EqualFold(t.Encoding, "pkcs7") {
		return "", codersdk.Invalid("encoding", "%q is not supported; use pkcs7", t.Encoding)
	}
	der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(t.Signature), ""))
	if err != nil || len(der) == 0 {
		return "", codersdk.Invalid("signature", "is not base64")
	}
	message, err := pkcs7.Parse(der)
	if err != nil {
		return "", refuse("the document is not a PKCS #7 message", err)
	}
	signer := message.GetOnlySigner()
	if signer == nil {
		return "", refuse("the document is not signed by exactly one certificate that it contains", nil)
	}
	metadata, _ := azureHosts()
	if !slices.ContainsFunc(metadata, func(host string) bool { return covers(signer, host) }) {
		return "", refuse("the document is signed by a certificate that does not belong to Azure's metadata service", nil)
	}
	if err := message.Verify(); err != nil {
		return "", refuse("the signature does not match the document", err)
	}
	if err := v.azure.vouched(ctx, signer, message.Certificates); err != nil {
		return "", err
	}
	var d struct {
		VMID      string `json:"vmId"`
		TimeStamp struct {
			ExpiresOn string `json:"expiresOn"`
		} `json:"timeStamp"`
	}
	if err := json.Unmarshal(message.Content, &d); err != nil {
		return "", refuse("Azure's document cannot be parsed", err)
	}
	until, err := time.Parse("01/02/06 15:04:05 -0700", d.TimeStamp.ExpiresOn)
	if err != nil || v.now().After(until) {
		return "", refuse("Azure's document has expired; fetch a new one", err)
	}
	return named(d.VMID)
}

// covers reports whether a certificate is for a host or a subdomain of it.
func covers(c *x509.Certificate, host string) bool {
	return slices.ContainsFunc(c.DNSNames, func(n string) bool {
		n = strings.ToLower(n)
		return n == host || strings.HasSuffix(n, "."+host)
	})
}

// vouched checks that an authority signed a certificate.
func (a *azure) vouched(ctx context.Context, leaf *x509.Certificate, beside []*x509.Certificate) error {
	between := x509.NewCertPool()
	for _, c := range beside {
		between.AddCert(c)
	}
	check := func() error {
		_, err := leaf.Verify(x509.VerifyOptions{
			Roots: a.roots, Intermediates: between, CurrentTime: a.now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
		})
		return err
	}
	err := check()
	var nobody x509.UnknownAuthorityError
	for c, n := leaf, 0; errors.As(err, &nobody) && n < maxIssuers && len(c.IssuingCertificateURL) > 0; n++ {
		issuer, fetched := a.issuer(ctx, c.IssuingCertificateURL)
		if fetched != nil {
			return fetched
		}
		between.AddCert(issuer)
		c, err = issuer, check()
	}
	if err != nil {
		return refuse("the certificate that signed the document is not trusted", err)
	}
	return nil
}

// issuer returns the certificate at the first allowed URL.
func (a *azure) issuer(ctx context.Context, urls []string) (*x509.Certificate, error) {
	_, hosts := azureHosts()
	for _, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Port() != "" || !slices.Contains(hosts, strings.ToLower(u.Hostname())) {
			continue
		}
		a.mu.Lock()
		defer a.mu.Unlock() // one download at a time
		if c := a.kept[raw]; c != nil {
			return c, nil
		}
		if at, ok := a.failed[raw]; ok && a.now().Sub(at) < failurePause {
			return nil, codersdk.Errorf(codersdk.CodeUnavailable,
				"Azure's intermediate certificates could not be downloaded from %s; try again in a minute", u.Host)
		}
		c, err := a.fetch(ctx, u)
		if a.kept == nil || len(a.kept) > maxKept || len(a.failed) > maxKept {
			a.kept, a.failed = map[string]*x509.Certificate{}, map[string]time.Time{}
		}
		if err != nil {
			a.failed[raw] = a.now()
			return nil, codersdk.Errorf(codersdk.CodeUnavailable,
				"Azure's intermediate certificates could not be downloaded from %s; allow the server to reach it", u.Host).WithCause(err)
		}
		a.kept[raw] = c
		return c, nil
	}
	return nil, refuse("the certificate that signed the document does not name an address of its authority", nil)
}

func (a *azure) fetch(ctx context.Context, u *url.URL) (*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s responded %s", u, resp.Status)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxCertificate))
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(b)
}
