package codersdk

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
)

// SessionTokenHeader carries the token of a request. (AU-02)
const SessionTokenHeader = "Coder-Session-Token"

// BuildVersionHeader carries the server's version in every response. (CP-15)
const BuildVersionHeader = "X-Coder-Build-Version"

// maxBody is the largest response body that is read: 128 MiB.
const maxBody = 128 << 20

// Client calls the REST API of one server, with one method per endpoint. If the
// server explains a failure, the error is an *Error with the code of the HTTP
// status; other errors come from the network. A Client is safe for concurrent use.
type Client struct {
	URL          *url.URL     // the server, without /api/v2
	SessionToken string       // session token, agent token, or ""
	Header       http.Header  // sent with every request; can be nil
	HTTP         *http.Client // nil means http.DefaultClient

	tunnels string // path of tunnels, with %s for the agent; empty for the path that users have
}

// New returns a client of the server at u, without a token.
func New(u *url.URL) *Client { return &Client{URL: u} }

// Endpoint returns the URL of an API path such as "/users/me".
func (c *Client) Endpoint(path string, q url.Values) *url.URL {
	u := *c.URL
	u.Path = strings.TrimSuffix(u.Path, "/") + "/api/v2" + path
	if p, err := url.PathUnescape(u.Path); err == nil {
		u.RawPath, u.Path = u.Path, p
	}
	u.RawQuery = q.Encode()
	return &u
}

// Request sends one request and returns the raw response, whose body the caller
// closes. body is nil, an io.Reader, or a value that is sent as JSON.
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

// do sends a request and decodes the body of a successful response into out, unless nil.
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
		return fmt.Errorf("decode response of %s %s: %w", method, path, err)
	}
	return nil
}

// ReadError returns the error of an unsuccessful response.
func ReadError(resp *http.Response) error {
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	var r Response
	if json.Unmarshal(b, &r) != nil || r.Message == "" {
		r.Message = fmt.Sprintf("the server responded %s", resp.Status)
		r.Detail = strings.TrimSpace(string(b[:min(len(b), 200)]))
	}
	return &Error{Code: codeOf(resp.StatusCode), Message: r.Message, Detail: r.Detail, Fields: r.Validations}
}

// FirstUserExists calls GET /users/first, which responds 404 if there is no user.
func (c *Client) FirstUserExists(ctx context.Context) (bool, error) {
	err := c.do(ctx, http.MethodGet, "/users/first", nil, nil, nil)
	if Is(err, CodeNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Upload calls POST /files with a tar or zip archive.
func (c *Client) Upload(ctx context.Context, contentType string, r io.Reader) (out UploadResponse, err error) {
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

// Download calls GET on a path whose response is not JSON, such as /files/{id} or
// /workspacebuilds/{id}/state, and returns the whole body.
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

// Dial opens a WebSocket at an API path. The caller closes the connection.
func (c *Client) Dial(ctx context.Context, path string, q url.Values) (*websocket.Conn, error) {
	return c.DialURL(ctx, c.Endpoint(path, q))
}

// DialURL opens a WebSocket at a URL of the server, such as that of a workspace
// app, and sends the session token to it. The caller closes the connection.
func (c *Client) DialURL(ctx context.Context, u *url.URL) (*websocket.Conn, error) {
	h := http.Header{}
	c.authorize(h)
	conn, resp, err := websocket.Dial(ctx, u.String(), &websocket.DialOptions{
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

// Follow opens a WebSocket at an API path and calls each for every JSON message. It
// returns nil when the server closes the connection, and the error of each or ctx
// otherwise.
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
			return errors.Join(errors.New("the server sent a message that is not valid JSON"), err)
		}
		if err := each(v); err != nil {
			return err
		}
	}
}

// keepAlive sends pings, so that a broken connection is detected within about 30 seconds.
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
