package remote

import (
	"context"

	"github.com/seed-2a7f8fe7/coder"
)

// Server is what a server says of itself and of the operator.
type Server struct {
	Version string
	// Account is whom the token is of.
	Account string
	// ExternalProvisioners is the entitlement to provisioners of one's own, as
	// the server words it.
	ExternalProvisioners string
}

// featureExternalProvisioners is the contract's name of that entitlement.
const featureExternalProvisioners = "external_provisioner_daemons"

// Probe asks a server who it is and whether it takes the token. Without a token
// it gives the version alone.
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
	if coder.Is(err, coder.CodePrecondition) {
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
	out.ExternalProvisioners = string(coder.EntitlementEntitled)
	if f, ok := e.Features[featureExternalProvisioners]; ok {
		out.ExternalProvisioners = string(f.Entitlement)
	}
	return out, nil
}
