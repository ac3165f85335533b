package agent

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

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
)

// How an agent proves who it is: the values of CODER_AGENT_AUTH.
const (
	AuthToken  = "token"
	AuthAWS    = "aws-instance-identity"
	AuthAzure  = "azure-instance-identity"
	AuthGoogle = "google-instance-identity"
)

const (
	// metadataAddress is where clouds answer their machines, and googleAddress
	// where Google does.
	metadataAddress = "http://169.254.169.254"
	googleAddress   = "http://metadata.google.internal"
	// metadataPatience is how long one question may take: the answer is next door.
	metadataPatience = 10 * time.Second
	maxMetadata      = 64 << 10
)

// prove gets the agent's token from the server for what the cloud says of this
// machine, where the agent has no other. With one already it does nothing, unless
// the server refused that one: a newer build has made another agent.
func (a *Agent) prove(ctx context.Context) error {
	if a.c.Auth == AuthToken || a.server().SessionToken != "" && !a.refused {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	said, err := a.introduction(ctx)
	if err != nil {
		return err
	}
	c := client.New(a.c.URL)
	c.HTTP = a.c.HTTP
	token, err := c.AuthenticateInstance(ctx, a.c.Auth, said)
	if err != nil {
		return fmt.Errorf("prove this machine to the server: %w", err)
	}
	if _, err := uuid.Parse(token); err != nil {
		return errors.New("prove this machine to the server: it answers without a token")
	}
	c.SessionToken = token
	a.client.Store(c)
	a.refused = false
	return nil
}

// introduction asks the cloud what it says of this machine.
func (a *Agent) introduction(ctx context.Context) (any, error) {
	m := metadataService{http: &http.Client{Timeout: metadataPatience, Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}, base: a.c.MetadataURL}
	switch a.c.Auth {
	case AuthAWS:
		return m.aws(ctx)
	case AuthAzure:
		return m.azure(ctx)
	default:
		return m.google(ctx)
	}
}

// metadataService is where a cloud answers its machines.
type metadataService struct {
	http *http.Client
	base string // "": where the cloud has it
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
		return "", fmt.Errorf("the metadata service of the cloud does not answer; is this machine where CODER_AGENT_AUTH says? %w", err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxMetadata))
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the metadata service of the cloud answers %s to %s %s; is this machine where CODER_AGENT_AUTH says, and may it ask?", resp.Status, method, path)
	}
	return string(b), nil
}

// aws asks Amazon's service, of version 2: machines that only answer version 1
// answer without a token too.
func (m metadataService) aws(ctx context.Context) (coder.AWSInstanceIdentityToken, error) {
	var t coder.AWSInstanceIdentityToken
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

func (m metadataService) azure(ctx context.Context) (t coder.AzureInstanceIdentityToken, err error) {
	b, err := m.ask(ctx, http.MethodGet, metadataAddress, "/metadata/attested/document?api-version=2020-09-01", "Metadata", "true")
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal([]byte(b), &t); err != nil || t.Signature == "" {
		return t, errors.New("the metadata service of the cloud answers without a signature")
	}
	return t, nil
}

func (m metadataService) google(ctx context.Context) (t coder.GoogleInstanceIdentityToken, err error) {
	q := url.Values{"audience": {"coder"}, "format": {"full"}}
	t.JSONWebToken, err = m.ask(ctx, http.MethodGet, googleAddress, "/computeMetadata/v1/instance/service-accounts/default/identity?"+q.Encode(), "Metadata-Flavor", "Google")
	t.JSONWebToken = strings.TrimSpace(t.JSONWebToken)
	return t, err
}
