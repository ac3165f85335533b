// Package instanceid proves the identity of a cloud instance to the server, which returns the token of the
// instance's agent.
package instanceid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Values of CODER_AGENT_AUTH, beside token.
const (
	AWS    = "aws-instance-identity"
	Azure  = "azure-instance-identity"
	Google = "google-instance-identity"
)

const (
	// metadataAddress is the metadata service of most clouds, and googleAddress
	// that of Google Cloud.
	metadataAddress = "http://169.254.169.254"
	googleAddress   = "http://metadata.google.internal"
	// metadataPatience bounds one request to the metadata service, which is
	// local.
	metadataPatience = 10 * time.Second
	maxMetadata      = 64 << 10
)

// Token exchanges the identity of this instance, by a value of CODER_AGENT_AUTH, for the token of its agent. Of
// several agents it is the one with the name.
// metadataURL replaces the address of the cloud's metadata service; "" keeps it.
func Token(ctx context.Context, c *codersdk.Client, auth, agentName, metadataURL string) (string, error) {
	said, err := requestIdentity(ctx, auth, agentName, metadataURL)
	if err != nil {
		return "", err
	}
	token, err := c.AuthenticateInstance(ctx, auth, said)
	if err != nil {
		return "", fmt.Errorf("authenticate this instance with the server: %w", err)
	}
	if _, err := uuid.Parse(token); err != nil {
		return "", errors.New("authenticate this instance with the server: the response has no token")
	}
	return token, nil
}

// requestIdentity requests the instance's identity document from the cloud.
func requestIdentity(ctx context.Context, auth, agentName, metadataURL string) (any, error) {
	m := metadataService{http: &http.Client{Timeout: metadataPatience, Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}, base: metadataURL}
	switch auth {
	case AWS:
		t, err := m.aws(ctx)
		t.AgentName = agentName
		return t, err
	case Azure:
		t, err := m.azure(ctx)
		t.AgentName = agentName
		return t, err
	default:
		t, err := m.google(ctx)
		t.AgentName = agentName
		return t, err
	}
}

// metadataService is the metadata service of a cloud.
type metadataService struct {
	http *http.Client
	base string // "" means the cloud's default
}

func (m metadataService) ask(ctx context.Context, method, base, path string, h ...string) (string, error) {
	if m.base != "" {
		base = m.base
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, nil)
	if err != nil {
		return "", err
	}
	for i := 0; i+1 < len(h); i += 2 {
		req.Header.Set(h[i], h[i+1])
	}
	resp, err := m.http.Do(req)
	if err != nil {
		return "", fmt.Errorf("the cloud's metadata service does not respond; does CODER_AGENT_AUTH match this cloud? %w", err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxMetadata))
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the cloud's metadata service responded %s to %s %s; does CODER_AGENT_AUTH match this cloud, and is "+
			"access to the service allowed?", resp.Status, method, path)
	}
	return string(b), nil
}

// aws requests the identity from Amazon's service, version 2. Machines with
// version 1 only respond without a session token, too.
func (m metadataService) aws(ctx context.Context) (codersdk.AWSInstanceIdentityToken, error) {
	var t codersdk.AWSInstanceIdentityToken
	var with []string
	if token, err := m.ask(ctx, http.MethodPut, metadataAddress, "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds", "60"); err == nil {
		with = []string{"X-aws-ec2-metadata-token", token}
	}
	var err error
	if t.Document, err = m.ask(ctx, http.MethodGet, metadataAddress, "/latest/dynamic/instance-identity/document", with...); err != nil {
		return t, err
	}
	t.Signature, err = m.ask(ctx, http.MethodGet, metadataAddress, "/latest/dynamic/instance-identity/signature", with...)
	return t, err
}

func (m metadataService) azure(ctx context.Context) (t codersdk.AzureInstanceIdentityToken, err error) {
	b, err := m.ask(ctx, http.MethodGet, metadataAddress, "/metadata/attested/document?api-version=2020-09-01", "Metadata", "true")
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal([]byte(b), &t); err != nil || t.Signature == "" {
		return t, errors.New("the cloud's metadata service returned no signature")
	}
	return t, nil
}

func (m metadataService) google(ctx context.Context) (t codersdk.GoogleInstanceIdentityToken, err error) {
	q := url.Values{"audience": {"coder"}, "format": {"full"}}
	t.JSONWebToken, err = m.ask(
		ctx,
		http.MethodGet,
		googleAddress,
		"/computeMetadata/v1/instance/service-accounts/default/identity?"+q.Encode(),
		"Metadata-Flavor",
		"Google",
	)
	t.JSONWebToken = strings.TrimSpace(t.JSONWebToken)
	return t, err
}
