// Package instance believes public clouds what they say of their machines, and
// nobody else. A machine gets a signed statement of who it is from its cloud's
// metadata service; whoever brings one runs on that machine, or did. Amazon signs
// a document with one key for each region, whose certificates it publishes
// (aws.pem holds them); Azure a message with a certificate of
// metadata.azure.com that the public authorities vouch for; Google a JSON web
// token with keys that it publishes. (AG-02)
//
// What is said of machines holds for their number alone: an agent's template
// says which number it expects.
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

	"github.com/seed-2a7f8fe7/coder"
)

// Audience is whom a machine of Google asks to be introduced to.
const Audience = "coder"

const (
	googleIssuer = "https://accounts.google.com"
	googleKeys   = "https://www.googleapis.com/oauth2/v3/certs"
	// askTimeout bounds a question to a cloud's own servers.
	askTimeout = 10 * time.Second
)

//go:embed aws.pem
var awsCertificates []byte

// Config is whom a Verifier believes. All may be left out: then it is the public
// clouds.
type Config struct {
	// AWS are the certificates of the keys of Amazon's regions.
	AWS []*x509.Certificate
	// AzureRoots are the authorities that vouch for Azure's certificate.
	AzureRoots *x509.CertPool
	// GoogleKeys is the URL of Google's keys.
	GoogleKeys string
	// HTTP asks for Google's keys and for certificates between Azure's and its
	// authority; nil: a client of its own with a timeout.
	HTTP *http.Client
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Verifier is safe for concurrent use. Its errors are CodeUnauthenticated for
// what is not believed, and CodeUnavailable when a cloud could not be asked.
type Verifier struct {
	aws    []*x509.Certificate
	azure  azure
	google *oidc.IDTokenVerifier
	now    func() time.Time
}

// New gives a verifier. It asks nobody yet.
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

// AWS gives the number of the machine that Amazon's document is about.
func (v *Verifier) AWS(t coder.AWSInstanceIdentityToken) (string, error) {
	signature, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(t.Signature), ""))
	if err != nil || len(signature) == 0 {
		return "", coder.Invalid("signature", "it is not base64")
	}
	signed := false
	for _, c := range v.aws {
		if signed = c.CheckSignature(x509.SHA256WithRSA, []byte(t.Document), signature) == nil; signed {
			break
		}
	}
	if !signed {
		return "", refuse("Amazon did not sign this document; send it as it came, byte by byte", nil)
	}
	var d struct {
		InstanceID string `json:"instanceId"`
	}
	if err := json.Unmarshal([]byte(t.Document), &d); err != nil {
		return "", refuse("Amazon's document cannot be read", err)
	}
	return named(d.InstanceID)
}

// Google gives the number of the machine that Google's token is about.
func (v *Verifier) Google(ctx context.Context, t coder.GoogleInstanceIdentityToken) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	id, err := v.google.Verify(ctx, t.JSONWebToken)
	if err != nil && (ctx.Err() != nil || strings.Contains(err.Error(), "fetching keys")) {
		return "", coder.Errorf(coder.CodeUnavailable, "Google's keys could not be fetched; try again").WithCause(err)
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
		return "", refuse("Google's token cannot be read", err)
	}
	if claims.Google.ComputeEngine.InstanceID == "" {
		return "", refuse("Google's token says nothing of a machine; ask the metadata service for it with format=full", nil)
	}
	return named(claims.Google.ComputeEngine.InstanceID)
}

func named(id string) (string, error) {
	if id == "" || len(id) > 200 {
		return "", refuse("what the cloud signed does not name a machine", nil)
	}
	return id, nil
}

func refuse(why string, err error) error {
	return coder.Errorf(coder.CodeUnauthenticated, "The identity of this machine is not believed: %s", why).WithCause(err)
}
