package instance_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smallstep/pkcs7"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/instance"
)

// keyed is a certificate with its key.
type keyed struct {
	*x509.Certificate
	key *rsa.PrivateKey
}

// certify makes a certificate, self-signed or signed by another.
func certify(t *testing.T, by *keyed, change func(*x509.Certificate)) *keyed {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true,
	}
	change(c)
	parent, signer := c, key
	if by != nil {
		parent, signer = by.Certificate, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	must(t, err)
	parsed, err := x509.ParseCertificate(der)
	must(t, err)
	return &keyed{parsed, key}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (k *keyed) sign(t *testing.T, b []byte) []byte {
	t.Helper()
	sum := sha256.Sum256(b)
	s, err := rsa.SignPKCS1v15(rand.Reader, k.key, crypto.SHA256, sum[:])
	must(t, err)
	return s
}

func verifier(t *testing.T, c instance.Config) *instance.Verifier {
	t.Helper()
	v, err := instance.New(c)
	must(t, err)
	return v
}

// check holds what a verifier said to the wanted id, or code of error and words.
func check(t *testing.T, name, id string, err error, want string, code codersdk.Code, words string) {
	t.Helper()
	if code == "" {
		if err != nil || id != want {
			t.Errorf("%s: %q, %v", name, id, err)
		}
		return
	}
	if id != "" || !codersdk.Is(err, code) || !strings.Contains(fmt.Sprint(err), words) {
		t.Errorf("%s: %q, %v; want %s with %q", name, id, err, code, words)
	}
}

func TestAWS(t *testing.T) {
	region, stranger := certify(t, nil, func(*x509.Certificate) {}), certify(t, nil, func(*x509.Certificate) {})
	v := verifier(t, instance.Config{AWS: []*x509.Certificate{certify(t, nil, func(*x509.Certificate) {}).Certificate, region.Certificate}})
	const document = "{\n  \"instanceId\" : \"i-0123\",\n  \"region\" : \"eu-central-1\"\n}"
	signed := func(by *keyed, doc string) string {
		s := base64.StdEncoding.EncodeToString(by.sign(t, []byte(doc)))
		return s[:64] + "\n" + s[64:] // as Amazon's service breaks it
	}
	for name, x := range map[string]struct {
		document, signature, want string
		code                      codersdk.Code
		words                     string
	}{
		"good":       {document, signed(region, document), "i-0123", "", ""},
		"changed":    {strings.Replace(document, "0123", "0124", 1), signed(region, document), "", codersdk.CodeUnauthenticated, "did not sign"},
		"stranger":   {document, signed(stranger, document), "", codersdk.CodeUnauthenticated, "did not sign"},
		"no number":  {`{}`, signed(region, `{}`), "", codersdk.CodeUnauthenticated, "does not name"},
		"not JSON":   {`i-0123`, signed(region, `i-0123`), "", codersdk.CodeUnauthenticated, "cannot be parsed"},
		"not base64": {document, "%%%", "", codersdk.CodeInvalid, "base64"},
		"empty":      {"", "", "", codersdk.CodeInvalid, "base64"},
	} {
		id, err := v.AWS(codersdk.AWSInstanceIdentityToken{Document: x.document, Signature: x.signature})
		check(t, name, id, err, x.want, x.code, x.words)
	}
}

// The certificates that Amazon publishes can be read, and believe no others.
func TestPublished(t *testing.T) {
	v := verifier(t, instance.Config{})
	stranger := certify(t, nil, func(*x509.Certificate) {})
	const document = `{"instanceId":"i-0123"}`
	id, err := v.AWS(codersdk.AWSInstanceIdentityToken{Document: document, Signature: base64.StdEncoding.EncodeToString(stranger.sign(t, []byte(document)))})
	check(t, "stranger", id, err, "", codersdk.CodeUnauthenticated, "did not sign")
}

func message(t *testing.T, by *keyed, content string) string {
	t.Helper()
	m, err := pkcs7.NewSignedData([]byte(content))
	must(t, err)
	m.SetDigestAlgorithm(pkcs7.OIDDigestAlgorithmSHA256)
	must(t, m.AddSigner(by.Certificate, by.key, pkcs7.SignerInfoConfig{}))
	der, err := m.Finish()
	must(t, err)
	return base64.StdEncoding.EncodeToString(der)
}

// roundTrips answers requests without a network.
type roundTrips func(*http.Request) (*http.Response, error)

func (f roundTrips) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAzure(t *testing.T) {
	authority := func(c *x509.Certificate) { c.IsCA, c.KeyUsage = true, x509.KeyUsageCertSign }
	root := certify(t, nil, authority)
	between := certify(t, root, authority)
	leaf := func(by *keyed, host, issuer string) *keyed {
		return certify(t, by, func(c *x509.Certificate) { c.DNSNames, c.IssuingCertificateURL = []string{host}, []string{issuer} })
	}
	const at = "http://www.microsoft.com/pkiops/between.crt"
	good := leaf(between, "westeurope.metadata.azure.com", at)
	roots := x509.NewCertPool()
	roots.AddCert(root.Certificate)
	var asked atomic.Int64
	v := verifier(t, instance.Config{AzureRoots: roots, HTTP: &http.Client{Transport: roundTrips(func(r *http.Request) (*http.Response, error) {
		asked.Add(1)
		switch r.URL.String() {
		case at:
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(string(between.Raw)))}, nil
		case "http://www.microsoft.com/broken":
			return &http.Response{StatusCode: 404, Body: http.NoBody}, nil
		}
		t.Errorf("%s was asked for", r.URL)
		return nil, io.ErrUnexpectedEOF
	})}})
	stamp := func(until time.Time) string {
		return fmt.Sprintf(`{"vmId":"5c4a","timeStamp":{"createdOn":"x","expiresOn":"%s"}}`, until.UTC().Format("01/02/06 15:04:05 -0700"))
	}
	now := stamp(time.Now().Add(time.Hour))
	der, err := base64.StdEncoding.DecodeString(message(t, good, now))
	must(t, err)
	forged := base64.StdEncoding.EncodeToString([]byte(strings.Replace(string(der), "5c4a", "5c4b", 1)))
	for _, x := range []struct {
		name, encoding, signature, want string
		code                            codersdk.Code
		words                           string
	}{
		{"good", "pkcs7", message(t, good, now), "5c4a", "", ""},
		{"again", "", message(t, good, now), "5c4a", "", ""},
		{"changed", "pkcs7", forged, "", codersdk.CodeUnauthenticated, "does not match the document"},
		{"late", "pkcs7", message(t, good, stamp(time.Now().Add(-time.Minute))), "", codersdk.CodeUnauthenticated, "expired"},
		{"without time", "pkcs7", message(t, good, `{"vmId":"5c4a"}`), "", codersdk.CodeUnauthenticated, "expired"},
		{"other host", "pkcs7", message(t, leaf(between, "metadata.azure.com.evil.example", at), now), "", codersdk.CodeUnauthenticated, "does not belong"},
		{"own authority", "pkcs7", message(t, leaf(nil, "metadata.azure.com", at), now), "", codersdk.CodeUnauthenticated, "is not trusted"},
		{"authority elsewhere", "pkcs7", message(t, leaf(between, "metadata.azure.com", "http://169.254.169.254/x"), now), "", codersdk.CodeUnauthenticated, "an address of its authority"},
		{"authority away", "pkcs7", message(t, leaf(between, "metadata.azure.com", "http://www.microsoft.com/broken"), now), "", codersdk.CodeUnavailable, "www.microsoft.com"},
		{"and again", "pkcs7", message(t, leaf(between, "metadata.azure.com", "http://www.microsoft.com/broken"), now), "", codersdk.CodeUnavailable, "in a minute"},
		{"no number", "pkcs7", message(t, good, strings.Replace(now, "vmId", "x", 1)), "", codersdk.CodeUnauthenticated, "does not name"},
		{"encoding", "jwt", "AAAA", "", codersdk.CodeInvalid, "pkcs7"},
		{"not base64", "pkcs7", "%", "", codersdk.CodeInvalid, "base64"},
		{"nonsense", "pkcs7", "AAAA", "", codersdk.CodeUnauthenticated, "PKCS #7"},
	} {
		id, err := v.Azure(t.Context(), codersdk.AzureInstanceIdentityToken{Encoding: x.encoding, Signature: x.signature})
		check(t, x.name, id, err, x.want, x.code, x.words)
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("certificates were asked for %d times", n)
	}
}

func TestGoogle(t *testing.T) {
	key, stranger := certify(t, nil, func(*x509.Certificate) {}), certify(t, nil, func(*x509.Certificate) {})
	enc := base64.RawURLEncoding.EncodeToString
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"keys":[{"kty":"RSA","alg":"RS256","use":"sig","kid":"k","n":"%s","e":"AQAB"}]}`, enc(key.key.N.Bytes()))
	}))
	defer srv.Close()
	v := verifier(t, instance.Config{GoogleKeys: srv.URL})
	token := func(by *keyed, change map[string]any) string {
		claims := map[string]any{
			"iss": "https://accounts.google.com", "aud": instance.Audience, "sub": "1", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
			"google": map[string]any{"compute_engine": map[string]any{"instance_id": "4711"}},
		}
		for k, c := range change {
			claims[k] = c
		}
		b, err := json.Marshal(claims)
		must(t, err)
		text := enc([]byte(`{"alg":"RS256","kid":"k","typ":"JWT"}`)) + "." + enc(b)
		return text + "." + enc(by.sign(t, []byte(text)))
	}
	none := enc([]byte(`{"alg":"none"}`)) + "." + strings.Split(token(key, nil), ".")[1] + "."
	for name, x := range map[string]struct {
		token, want string
		code        codersdk.Code
		words       string
	}{
		"good":            {token(key, nil), "4711", "", ""},
		"stranger":        {token(stranger, nil), "", codersdk.CodeUnauthenticated, "did not sign"},
		"audience":        {token(key, map[string]any{"aud": "bank"}), "", codersdk.CodeUnauthenticated, "audience"},
		"issuer":          {token(key, map[string]any{"iss": "https://evil.example"}), "", codersdk.CodeUnauthenticated, "did not sign"},
		"late":            {token(key, map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}), "", codersdk.CodeUnauthenticated, "expired"},
		"no machine":      {token(key, map[string]any{"google": nil}), "", codersdk.CodeUnauthenticated, "format=full"},
		"unsigned":        {none, "", codersdk.CodeUnauthenticated, "did not sign"},
		"no token":        {"nonsense", "", codersdk.CodeUnauthenticated, "did not sign"},
		"no token at all": {"", "", codersdk.CodeUnauthenticated, "did not sign"},
	} {
		id, err := v.Google(t.Context(), codersdk.GoogleInstanceIdentityToken{JSONWebToken: x.token})
		check(t, name, id, err, x.want, x.code, x.words)
	}
	away := verifier(t, instance.Config{GoogleKeys: "http://127.0.0.1:1/certs"})
	id, err := away.Google(t.Context(), codersdk.GoogleInstanceIdentityToken{JSONWebToken: token(key, nil)})
	check(t, "keys away", id, err, "", codersdk.CodeUnavailable, "try again")
}

func FuzzAzure(f *testing.F) {
	v, err := instance.New(instance.Config{AzureRoots: x509.NewCertPool(), HTTP: &http.Client{Transport: roundTrips(func(*http.Request) (*http.Response, error) {
		return nil, io.ErrUnexpectedEOF
	})}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{0x30, 0x80})
	f.Fuzz(func(t *testing.T, der []byte) {
		if id, err := v.Azure(t.Context(), codersdk.AzureInstanceIdentityToken{Signature: base64.StdEncoding.EncodeToString(der)}); err == nil {
			t.Errorf("%q was believed", id)
		}
	})
}
