package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
)

// Proxy is a workspace proxy as a server knows it.
type Proxy struct {
	ID          uuid.UUID `json:"id"`
	Name        string    `json:"name"`
	DisplayName string    `json:"display_name"`
	IconURL     string    `json:"icon_url"`
}

// maxProxies bounds what is read of an answer about proxies.
const maxProxies = 4 << 20

// Proxies lists the proxies of a server; coder.CodeNotFound says that it knows
// none such things.
func (s *Sites) Proxies(ctx context.Context, a Access) ([]Proxy, error) {
	var out struct {
		Regions []Proxy `json:"regions"`
	}
	err := s.call(ctx, a, "GET", "/workspaceproxies", nil, &out)
	return out.Regions, err
}

// proxyToken is the answer that has a proxy's token, once.
type proxyToken struct {
	Proxy Proxy  `json:"proxy"`
	Token string `json:"proxy_token"`
}

// NewProxy registers a proxy and gives its token.
func (s *Sites) NewProxy(ctx context.Context, a Access, p Proxy) (uuid.UUID, string, error) {
	var out proxyToken
	err := s.call(ctx, a, "POST", "/workspaceproxies", map[string]any{"name": p.Name, "display_name": p.DisplayName, "icon": p.IconURL}, &out)
	return out.Proxy.ID, out.Token, err
}

// NewProxyToken gives a proxy a new token; the old one ends.
func (s *Sites) NewProxyToken(ctx context.Context, a Access, p Proxy) (string, error) {
	var out proxyToken
	err := s.call(ctx, a, "PATCH", "/workspaceproxies/"+p.ID.String(), map[string]any{
		"id": p.ID, "name": p.Name, "display_name": p.DisplayName, "icon": p.IconURL, "regenerate_token": true,
	}, &out)
	return out.Token, err
}

// DeleteProxy deletes a proxy; that it is gone already is no failure.
func (s *Sites) DeleteProxy(ctx context.Context, a Access, id string) error {
	if err := s.call(ctx, a, "DELETE", "/workspaceproxies/"+id, nil, nil); !coder.Is(err, coder.CodeNotFound) {
		return err
	}
	return nil
}

// call is one request of the part of the API that package client leaves out.
func (s *Sites) call(ctx context.Context, a Access, method, path string, body, out any) error {
	c, err := s.Client(a)
	if err != nil {
		return err
	}
	c.Header = nil // a few calls, with whatever credentials a person gave
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	resp, err := c.Request(ctx, method, path, nil, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	if resp.StatusCode >= 300 {
		return client.ReadError(resp)
	}
	if out == nil {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxProxies))
	if err != nil {
		return err
	}
	return json.NewDecoder(bytes.NewReader(b)).Decode(out)
}
