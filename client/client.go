// Package client speaks the REST API: one method per endpoint, one file per
// noun. A failure that the server explained is a *coder.Error with the code of
// its HTTP status; any other is of the network. A Client is safe for
// concurrent use.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-2a7f8fe7/coder"
)

// SessionTokenHeader carries the token of a request. (AU-02)
const SessionTokenHeader = "Coder-Session-Token"

// BuildVersionHeader carries the server's version in every answer. (CP-15)
const BuildVersionHeader = "X-Coder-Build-Version"

// maxBody bounds what is read of one answer.
const maxBody = 128 << 20

// Client is a server and who we are to it.
type Client struct {
	URL          *url.URL     // the server, without /api/v2
	SessionToken string       // session token, agent token, or ""
	Header       http.Header  // sent with every request, may be nil
	HTTP         *http.Client // nil: http.DefaultClient

	tunnels string // where tunnels are, with %s for the agent; "": where users' are
}

// New gives a client of the server at u, without a token.
func New(u *url.URL) *Client { return &Client{URL: u} }

// Endpoint gives the URL of an API path such as "/users/me".
func (c *Client) Endpoint(path string, q url.Values) *url.URL {
	u := *c.URL
	u.Path = strings.TrimSuffix(u.Path, "/") + "/api/v2" + path
	if p, err := url.PathUnescape(u.Path); err == nil {
		u.RawPath, u.Path = u.Path, p
	}
	u.RawQuery = q.Encode()
	return &u
}

// Request sends one request and gives the answer as it comes; the caller
// closes its body. body may be nil, an io.Reader, or what is sent as JSON.
func (c *Client) Request(ctx context.Context, method, path string, q url.Values, body any) (*http.Response, error) {
	var r io.Reader
	kind := ""
	switch b := body.(type) {
	case nil:
	case io.Reader:
		r = b
	default:
		j, err := json.Marshal(b)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		r, kind = bytes.NewReader(j), "application/json"
	}
	req, err := http.NewRequestWithContext(ctx, method, c.Endpoint(path, q).String(), r)
	if err != nil {
		return nil, err
	}
	c.authorize(req.Header)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	return c.http().Do(req)
}

func (c *Client) authorize(h http.Header) {
	for k, v := range c.Header {
		h[k] = v
	}
	if c.SessionToken != "" {
		h.Set(SessionTokenHeader, c.SessionToken)
	}
}

func (c *Client) http() *http.Client {
	if c.HTTP != nil {
		return c.HTTP
	}
	return http.DefaultClient
}

// do sends a request and decodes a successful answer into out, unless nil.
func (c *Client) do(ctx context.Context, method, path string, q url.Values, body, out any) error {
	resp, err := c.Request(ctx, method, path, q, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return ReadError(resp)
	}
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxBody)).Decode(out); err != nil {
		return fmt.Errorf("decode answer of %s %s: %w", method, path, err)
	}
	return nil
}

// ReadError makes an error of an unsuccessful answer.
func ReadError(resp *http.Response) error {
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	var r coder.Response
	if json.Unmarshal(b, &r) != nil || r.Message == "" {
		r.Message = fmt.Sprintf("the server answered %s", resp.Status)
		r.Detail = strings.TrimSpace(string(b[:min(len(b), 200)]))
	}
	return &coder.Error{Code: codeOf(resp.StatusCode), Message: r.Message, Detail: r.Detail, Fields: r.Validations}
}

// FirstUserExists calls GET /users/first, where "no" is a 404.
func (c *Client) FirstUserExists(ctx context.Context) (bool, error) {
	err := c.do(ctx, http.MethodGet, "/users/first", nil, nil, nil)
	if coder.Is(err, coder.CodeNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Upload calls POST /files with a tar or zip archive.
func (c *Client) Upload(ctx context.Context, contentType string, r io.Reader) (out coder.UploadResponse, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Endpoint("/files", nil).String(), r)
	if err != nil {
		return out, err
	}
	c.authorize(req.Header)
	req.Header.Set("Content-Type", contentType)
	resp, err := c.http().Do(req)
	if err != nil {
		return out, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return out, ReadError(resp)
	}
	return out, json.NewDecoder(io.LimitReader(resp.Body, maxBody)).Decode(&out)
}

// Download calls GET on a path whose answer is not JSON, such as
// /files/{id} or /workspacebuilds/{id}/state, and gives the whole body.
func (c *Client) Download(ctx context.Context, path string, q url.Values) ([]byte, error) {
	resp, err := c.Request(ctx, http.MethodGet, path, q, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return nil, ReadError(resp)
	}
	return io.ReadAll(io.LimitReader(resp.Body, maxBody))
}

// Dial opens a WebSocket at an API path. The caller closes it.
func (c *Client) Dial(ctx context.Context, path string, q url.Values) (*websocket.Conn, error) {
	h := http.Header{}
	c.authorize(h)
	conn, resp, err := websocket.Dial(ctx, c.Endpoint(path, q).String(), &websocket.DialOptions{
		HTTPClient: c.http(), HTTPHeader: h, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			defer resp.Body.Close()
			return nil, ReadError(resp)
		}
		return nil, err
	}
	return conn, nil
}

// Follow opens a WebSocket at an API path and calls each with every JSON
// message, until the server closes (nil), each fails, or ctx ends.
func Follow[T any](ctx context.Context, c *Client, path string, q url.Values, each func(T) error) error {
	conn, err := c.Dial(ctx, path, q)
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	conn.SetReadLimit(16 << 20)
	ping, stop := context.WithCancel(ctx)
	defer stop()
	go keepAlive(ping, conn)
	for {
		_, b, err := conn.Read(ctx)
		if s := websocket.CloseStatus(err); s == websocket.StatusNormalClosure || s == websocket.StatusGoingAway {
			return nil
		}
		if err != nil {
			return err
		}
		var v T
		if err := json.Unmarshal(b, &v); err != nil {
			return errors.Join(errors.New("the server sent a message that cannot be read"), err)
		}
		if err := each(v); err != nil {
			return err
		}
	}
}

// keepAlive pings so that a dead path is noticed within about half a minute.
func keepAlive(ctx context.Context, conn *websocket.Conn) {
	t := time.NewTicker(15 * time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			p, cancel := context.WithTimeout(ctx, 15*time.Second)
			err := conn.Ping(p)
			cancel()
			if err != nil {
				conn.CloseNow()
				return
			}
		}
	}
}
