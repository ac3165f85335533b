package coderclient

import (
	"context"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Server describes a server and the operator's access to it.
type Server struct {
	Version string
	// Account is the user of the token.
	Account string
	// ExternalProvisioners is the entitlement to external provisioners, in the
	// server's words.
	ExternalProvisioners string
}

// featureExternalProvisioners is the contract's name of that entitlement.
const featureExternalProvisioners = "external_provisioner_daemons"

// Probe reads a server's version and checks the token. Without a token it reads
// the version only.
func (s *Sites) Probe(ctx context.Context, a Access) (Server, error) {
	var out Server
	c, err := s.Client(a)
	if err != nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	b, err := c.BuildInfo(ctx)
	if err != nil {
		return out, err
	}
	out.Version = b.Version
	if a.Token == "" {
		return out, nil
	}
	me, err := c.User(ctx, "me")
	if codersdk.Is(err, codersdk.CodePrecondition) {
		s.limit(a)
		c.Header = nil
		me, err = c.User(ctx, "me")
	}
	if err != nil {
		return out, err
	}
	out.Account = me.Username
	e, err := c.Entitlements(ctx)
	if err != nil {
		return out, err
	}
	out.ExternalProvisioners = string(codersdk.EntitlementEntitled)
	if f, ok := e.Features[featureExternalProvisioners]; ok {
		out.ExternalProvisioners = string(f.Entitlement)
	}
	return out, nil
}

// Revoke revokes the token of a, which the server then rejects. A token that it
// rejects already is not an error.
func (s *Sites) Revoke(ctx context.Context, a Access) error {
	id, _, ok := strings.Cut(a.Token, "-")
	c, err := s.Client(a)
	if err != nil || !ok {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	c.Header = nil
	err = c.DeleteAPIKey(ctx, "me", id)
	if err != nil && !codersdk.Is(err, codersdk.CodeUnauthenticated, codersdk.CodeNotFound) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[a.URL] == a.Token {
		delete(s.known, a.URL)
	}
	return nil
}
