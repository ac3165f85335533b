package coderclient

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Proxy is a workspace proxy of a server.
type Proxy struct {
	ID          uuid.UUID `json:"id"`
	Name        string    `json:"name"`
	DisplayName string    `json:"display_name"`
	IconURL     string    `json:"icon_url"`
}

// maxProxies bounds a response about proxies, in bytes.
const maxProxies = 4 << 20

// Proxies lists the proxies of a server. CodeNotFound means that the server
// does not support proxies.
func (s *Sites) Proxies(ctx context.Context, a Access) ([]Proxy, error) {
	var out struct {
		Regions []Proxy `json:"regions"`
	}
	err := s.call(ctx, a, "GET", "/workspaceproxies", nil, &out)
	return out.Regions, err
}

// proxyToken is the response with a new proxy token.
type proxyToken struct {
	Proxy Proxy  `json:"proxy"`
	Token string `json:"proxy_token"`
}

// NewProxy registers a proxy and returns its token.
func (s *Sites) NewProxy(ctx context.Context, a Access, p Proxy) (uuid.UUID, string, error) {
	var out proxyToken
	err := s.call(ctx, a, "POST", "/workspaceproxies", map[string]any{"name": p.Name, "display_name": p.DisplayName, "icon": p.IconURL}, &out)
	return out.Proxy.ID, out.Token, err
}

// NewProxyToken replaces the token of a proxy.
func (s *Sites) NewProxyToken(ctx context.Context, a Access, p Proxy) (string, error) {
	var out proxyToken
	err := s.call(ctx, a, "PATCH", "/workspaceproxies/"+p.ID.String(), map[string]any{
		"id": p.ID, "name": p.Name, "display_name": p.DisplayName, "icon": p.IconURL, "regenerate_token": true,
	}, &out)
	return out.Token, err
}

// DeleteProxy deletes a proxy. A proxy that does not exist is not an error.
func (s *Sites) DeleteProxy(ctx context.Context, a Access, id string) error {
	if err := s.call(ctx, a, "DELETE", "/workspaceproxies/"+id, nil, nil); !codersdk.Is(err, codersdk.CodeNotFound) {
		return err
	}
	return nil
}

// call sends a request that package codersdk does not support.
func (s *Sites) call(ctx context.Context, a Access, method, path string, body, out any) error {
	c, err := s.Client(a)
	if err != nil {
		return err
	}
	c.Header = nil // few calls, with the user's credentials
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	resp, err := c.Request(ctx, method, path, nil, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // the body was read
	if resp.StatusCode >= 300 {
		return codersdk.ReadError(resp)
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
