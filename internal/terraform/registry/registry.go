// Package registry fetches providers and modules from a Terraform or OpenTofu registry: service discovery, the
// protocols of both, and the checksums and signatures of archives.
package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
)

// Client requests registries over HTTPS. It is safe for concurrent use.
type Client struct {
	http *http.Client
	now  func() time.Time

	mu    sync.Mutex
	found map[string]services  // by hostname
	down  map[string]time.Time // until when a registry that did not answer is not asked again
}

// services are the addresses of the protocols of a registry, relative to its own; "" for absent ones.
type services struct {
	Providers string `json:"providers.v1"`
	Modules   string `json:"modules.v1"`
}

// Bounds of answers and of their time.
const (
	maxDocument     = 8 << 20 // bytes
	documentTimeout = 30 * time.Second
	maxRedirects    = 5
	downFor         = 30 * time.Second
)

// ErrUnreachable is the error of a registry that does not answer.
var ErrUnreachable = errors.New("the registry cannot be reached")

// New returns a client that uses the transport; nil means one with the proxies of the environment.
func New(transport http.RoundTripper, now func() time.Time) *Client {
	if transport == nil {
		transport = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 30 * time.Second, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
		}
	}
	check := func(r *http.Request, via []*http.Request) error {
		if r.URL.Scheme != "https" || len(via) > maxRedirects {
			return errors.New("the registry redirects to an address without HTTPS, or too often")
		}
		return nil
	}
	return &Client{
		http: &http.Client{Transport: transport, CheckRedirect: check}, now: now,
		found: map[string]services{}, down: map[string]time.Time{},
	}
}

// Version is a version of a provider with its platforms, or of a module without any.
type Version struct {
	Version   string
	Platforms []providermirror.Platform
}

// Versions returns the versions of a provider or a module. The error is codersdk.CodeNotFound if the registry does
// not know it, and wraps ErrUnreachable if the registry does not answer.
func (c *Client) Versions(ctx context.Context, p providermirror.Address) ([]Version, error) {
	if p.Kind() == providermirror.KindModule {
		return c.moduleVersions(ctx, p)
	}
	at, err := c.address(ctx, p, "versions")
	if err != nil {
		return nil, err
	}
	var list struct {
		Versions []struct {
			Version   string                    `json:"version"`
			Platforms []providermirror.Platform `json:"platforms"`
		} `json:"versions"`
	}
	if err := c.document(ctx, at, &list); err != nil {
		return nil, fmt.Errorf("list the versions of %s: %w", p, err)
	}
	var out []Version
	for _, v := range list.Versions {
		if providermirror.CheckVersion(v.Version) != nil {
			continue
		}
		v.Platforms = slices.DeleteFunc(v.Platforms, func(p providermirror.Platform) bool { return p.Check() != nil })
		out = append(out, Version{v.Version, v.Platforms})
	}
	return out, nil
}

// Checksums returns the SHA-256 checksums of all archives of a version, by platform, after a check of the
// signature.
func (c *Client) Checksums(ctx context.Context, p providermirror.Address, v Version) (map[providermirror.Platform][]byte, error) {
	if len(v.Platforms) == 0 {
		return nil, codersdk.Errorf(codersdk.CodeNotFound, "%s %s has no archive in its registry", p, v.Version)
	}
	t := providermirror.Target{Address: p, Version: v.Version, Platform: v.Platforms[0]}
	d, err := c.describe(ctx, t)
	if err != nil {
		return nil, err
	}
	stated, _, err := c.stated(ctx, t, d)
	if err != nil {
		return nil, err
	}
	sums := providermirror.ParseChecksums(stated.Checksums)
	out := map[providermirror.Platform][]byte{}
	for _, platform := range v.Platforms {
		t.Platform = platform
		if sum := sums[t.Filename()]; sum != nil {
			out[platform] = sum
		}
	}
	return out, nil
}

// address returns the address of a document of a provider or a module.
func (c *Client) address(ctx context.Context, p providermirror.Address, rest ...string) (*url.URL, error) {
	at := &url.URL{Scheme: "https", Host: p.Hostname, Path: "/.well-known/terraform.json"}
	s, err := c.discover(ctx, at)
	if err != nil {
		return nil, err
	}
	reference := s.Providers
	if p.Kind() == providermirror.KindModule {
		reference = s.Modules
	}
	base, err := secure(at, reference)
	if err != nil || reference == "" {
		return nil, codersdk.Errorf(codersdk.CodeNotFound, "%s has no registry service for the kind %s", p.Hostname, p.Kind())
	}
	return base.JoinPath(append([]string{p.Namespace, p.Type}, rest...)...), nil
}

// discover returns the services of the registry with a discovery document.
func (c *Client) discover(ctx context.Context, at *url.URL) (services, error) {
	c.mu.Lock()
	s, known := c.found[at.Host]
	down := c.down[at.Host]
	c.mu.Unlock()
	if c.now().Before(down) {
		return s, fmt.Errorf("%w: %s did not answer a moment ago", ErrUnreachable, at.Host)
	}
	if known {
		return s, nil
	}
	if err := c.document(ctx, at, &s); err != nil {
		return s, fmt.Errorf("discover the services of %s: %w", at.Host, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found[at.Host] = s
	return s, nil
}

// secure resolves a reference of a document, which must lead to HTTPS. The error does not have the reference, which
// may contain credentials.
func secure(base *url.URL, reference string) (*url.URL, error) {
	u, err := base.Parse(reference)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "the registry %s names an address that is not an HTTPS address", base.Host)
	}
	return u, nil
}

// document reads a JSON document.
func (c *Client) document(ctx context.Context, at *url.URL, into any) error {
	b, err := c.read(ctx, at)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("the answer of %s is not valid JSON: %w", at.Host, err)
	}
	return nil
}

// read reads a document of limited size.
func (c *Client) read(ctx context.Context, at *url.URL) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, documentTimeout)
	defer cancel()
	resp, err := c.get(ctx, at)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err == nil && len(b) > maxDocument {
		err = fmt.Errorf("the answer of %s is larger than %d bytes", at.Host, maxDocument)
	}
	return b, err
}

// get requests an address. The caller closes the body. The errors name only the host, because paths may contain
// credentials, too.
func (c *Client) get(ctx context.Context, at *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		c.failed(ctx, at.Host)
		return nil, fmt.Errorf("%w: %s: %w", ErrUnreachable, at.Host, cause(err))
	}
	switch {
	case resp.StatusCode == http.StatusOK, resp.StatusCode == http.StatusNoContent:
		return resp, nil
	case resp.StatusCode == http.StatusNotFound:
		err = codersdk.Errorf(codersdk.CodeNotFound, "%s answered %s", at.Host, resp.Status)
	case resp.StatusCode >= http.StatusInternalServerError || resp.StatusCode == http.StatusTooManyRequests:
		err = fmt.Errorf("%w: %s answered %s", ErrUnreachable, at.Host, resp.Status)
	default:
		err = fmt.Errorf("%s answered %s", at.Host, resp.Status)
	}
	return nil, errors.Join(err, resp.Body.Close())
}

// failed remembers that a registry does not answer, unless the caller gave up.
func (c *Client) failed(ctx context.Context, hostname string) {
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down[hostname] = c.now().Add(downFor)
}

// cause returns an error of a request without its address, which may carry a signature.
func cause(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
