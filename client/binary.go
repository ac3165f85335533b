package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// ErrUnchanged says that what is here already is what would be fetched.
var ErrUnchanged = errors.New("unchanged")

// Binary fetches coder for an operating system and an architecture in the words
// of coder_agent, of the server's own version. have is the SHA-256, in
// hexadecimal, of the one that is here already, "" for none; when it is still
// right the error is ErrUnchanged. The caller closes the body, whose SHA-256
// should be sum.
func (c *Client) Binary(ctx context.Context, os, arch, have string) (body io.ReadCloser, sum string, err error) {
	u := *c.URL
	u.Path = strings.TrimSuffix(u.Path, "/") + "/bin/coder-" + os + "-" + arch
	if os == "windows" {
		u.Path += ".exe"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("User-Agent", "coder")
	for k, v := range c.Header {
		req.Header[k] = v
	}
	if have != "" {
		req.Header.Set("If-None-Match", `"`+have+`", "`+have+`-gzip"`)
	}
	resp, err := c.http().Do(req)
	if err != nil {
		return nil, "", err
	}
	switch sum = resp.Header.Get("X-Coder-SHA256"); {
	case resp.StatusCode == http.StatusNotModified:
		resp.Body.Close()
		return nil, have, ErrUnchanged
	case resp.StatusCode != http.StatusOK:
		defer resp.Body.Close()
		return nil, "", ReadError(resp)
	case len(sum) != 64:
		resp.Body.Close()
		return nil, "", fmt.Errorf("the server does not say what %s is", u.Path)
	}
	return resp.Body, sum, nil
}
