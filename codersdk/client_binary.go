package codersdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// ErrUnchanged reports that the local copy is identical to the server's.
var ErrUnchanged = errors.New("unchanged")

// Binary downloads the server's version of coder for an operating system and an
// architecture, as coder_agent names them. have is the SHA-256 of the local copy in
// hexadecimal, "" for none; if it is identical, the error is ErrUnchanged. The
// caller closes body and should compare its SHA-256 with sum.
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
		return nil, "", fmt.Errorf("the server sent no checksum of %s", u.Path)
	}
	return resp.Body, sum, nil
}
