package login

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // x5t is the SHA-1 of a certificate, by RFC 7515
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// clientKey authenticates this deployment at a provider with a key instead of a secret: a signed
// assertion with each request (RFC 7523).
type clientKey struct {
	key         *rsa.PrivateKey
	certificate []byte // DER
}

func readClientKey(keyFile, certFile string) (*clientKey, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "--oidc-client-key-file and --oidc-client-cert-file: %s", err)
	}
	key, ok := pair.PrivateKey.(*rsa.PrivateKey)
	if !ok {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "--oidc-client-key-file must contain an RSA key")
	}
	return &clientKey{key, pair.Certificate[0]}, nil
}

// assertionLifetime is the validity period of an assertion.
const assertionLifetime = 5 * time.Minute

// assertion returns the additional parameters of a token request, nil if a secret is used.
func (p *oidcProvider) assertion(found *oidc.Provider) ([]oauth2.AuthCodeOption, error) {
	if p.key == nil {
		return nil, nil
	}
	statement, err := p.key.sign(p.c.ClientID, found.Endpoint().TokenURL, p.now())
	if err != nil {
		return nil, err
	}
	return []oauth2.AuthCodeOption{
		oauth2.SetAuthURLParam("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
		oauth2.SetAuthURLParam("client_assertion", statement),
	}, nil
}

// sign returns a JWT with RS256 that names the certificate.
func (k *clientKey) sign(client, audience string, now time.Time) (string, error) {
	thumb := sha1.Sum(k.certificate) //nolint:gosec // see above
	encode := func(v any) (string, error) {
		b, err := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(b), err
	}
	header, err := encode(map[string]string{"alg": "RS256", "typ": "JWT", "x5t": base64.RawURLEncoding.EncodeToString(thumb[:])})
	if err != nil {
		return "", fmt.Errorf("sign for the identity provider: %w", err)
	}
	body, err := encode(map[string]any{
		"iss": client, "sub": client, "aud": audience, "jti": rand.Text(),
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(assertionLifetime).Unix(),
	})
	if err != nil {
		return "", fmt.Errorf("sign for the identity provider: %w", err)
	}
	digest := sha256.Sum256([]byte(header + "." + body))
	signature, err := rsa.SignPKCS1v15(rand.Reader, k.key, crypto.SHA256, digest[:])
	if err != nil {
		return "", fmt.Errorf("sign for the identity provider: %w", err)
	}
	return header + "." + body + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}
