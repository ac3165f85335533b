// Package instance verifies the identity documents of cloud machines. A machine
// receives a signed document from its cloud's metadata service; a client that
// presents one runs, or ran, on that machine. Amazon signs a document with one
// key per region, whose certificates it publishes (aws.pem contains them).
// Azure signs a document with a certificate of metadata.azure.com from a public
// authority. Google issues a JSON Web Token with keys that it publishes.
// (AG-02)
//
// A document proves only the machine's id; the agent's template determines
// which id it expects.
package instance

import (
	"context"
	"crypto/x509"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Audience is the audience of tokens that Google issues to machines.
const Audience = "coder"

const (
	googleIssuer = "https://accounts.google.com"
	googleKeys   = "https://www.googleapis.com/oauth2/v3/certs"
	// askTimeout bounds a request to a cloud's server.
	askTimeout = 10 * time.Second
)

//go:embed aws.pem
var awsCertificates []byte

// Config configures a Verifier. The zero value trusts the public clouds.
type Config struct {
	// AWS are the certificates of Amazon's regions.
	AWS []*x509.Certificate
	// AzureRoots are the trusted authorities for Azure's certificate.
	AzureRoots *x509.CertPool
	// GoogleKeys is the URL of Google's keys.
	GoogleKeys string
	// HTTP downloads Google's keys and Azure's intermediate certificates; nil
	// means a client with a timeout.
	HTTP *http.Client
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Verifier verifies documents. It is safe for concurrent use. Its errors are
// CodeUnauthenticated for an invalid document, and CodeUnavailable if a cloud's
// server could not be reached.
type Verifier struct {
	aws    []*x509.Certificate
	azure  azure
	google *oidc.IDTokenVerifier
	now    func() time.Time
}

// New returns a verifier. It sends no request yet.
func New(c Config) (*Verifier, error) {
	if c.AWS == nil {
		for block, rest := pem.Decode(awsCertificates); block != nil; block, rest = pem.Decode(rest) {
			cert, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, fmt.Errorf("read the certificates of Amazon: %w", err)
			}
			c.AWS = append(c.AWS, cert)
		}
	}
	if c.HTTP == nil {
		c.HTTP = &http.Client{Timeout: askTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.GoogleKeys == "" {
		c.GoogleKeys = googleKeys
	}
	keys := oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), c.HTTP), c.GoogleKeys)
	return &Verifier{
		aws: c.AWS, now: c.Now, azure: azure{roots: c.AzureRoots, http: c.HTTP, now: c.Now},
		google: oidc.NewVerifier(googleIssuer, keys, &oidc.Config{ClientID: Audience, Now: c.Now, SupportedSigningAlgs: []string{oidc.RS256}}),
	}, nil
}

// AWS returns the id of the machine in a document that Amazon signed.
func (v *Verifier) AWS(t codersdk.AWSInstanceIdentityToken) (string, error) {
	signature, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(t.Signature), ""))
	if err != nil || len(signature) == 0 {
		return "", codersdk.Invalid("signature", "is not base64")
	}
	signed := false
	for _, c := range v.aws {
		if signed = c.CheckSignature(x509.SHA256WithRSA, []byte(t.Document), signature) == nil; signed {
			break
		}
	}
	if !signed {
		return "", refuse("Amazon did not sign this document; send it unchanged, byte by byte", nil)
	}
	var d struct {
		InstanceID string `json:"instanceId"`
	}
	if err := json.Unmarshal([]byte(t.Document), &d); err != nil {
		return "", refuse("Amazon's document cannot be parsed", err)
	}
	return named(d.InstanceID)
}

// Google returns the id of the machine in a token that Google issued.
func (v *Verifier) Google(ctx context.Context, t codersdk.GoogleInstanceIdentityToken) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	id, err := v.google.Verify(ctx, t.JSONWebToken)
	if err != nil && (ctx.Err() != nil || strings.Contains(err.Error(), "fetching keys")) {
		return "", codersdk.Errorf(codersdk.CodeUnavailable, "Google's keys could not be downloaded; try again").WithCause(err)
	}
	if expired := new(oidc.TokenExpiredError); errors.As(err, &expired) {
		return "", refuse("Google's token has expired; fetch a new one", err)
	}
	if err != nil {
		return "", refuse(fmt.Sprintf("Google did not sign this token, or not for the audience %q", Audience), err)
	}
	var claims struct {
		Google struct {
			ComputeEngine struct {
				InstanceID string `json:"instance_id"`
			} `json:"compute_engine"`
		} `json:"google"`
	}
	if err := id.Claims(&claims); err != nil {
		return "", refuse("Google's token cannot be parsed", err)
	}
	if claims.Google.ComputeEngine.InstanceID == "" {
		return "", refuse("Google's token does not describe a machine; request it from the metadata service with format=full", nil)
	}
	return named(claims.Google.ComputeEngine.InstanceID)
}

func named(id string) (string, error) {
	if id == "" || len(id) > 200 {
		return "", refuse("the document does not name a machine", nil)
	}
	return id, nil
}

func refuse(why string, err error) error {
	return codersdk.Errorf(codersdk.CodeUnauthenticated, "The identity of this machine could not be verified: %s", why).WithCause(err)
}
