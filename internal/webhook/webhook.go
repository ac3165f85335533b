// Package webhook posts JSON to a URL of the operator, with a signature by which
// the receiver can check the sender.
//
// The signature is in the header X-Coder-Signature, as t=<Unix time>,v1=<hex>. The
// hexadecimal part is the HMAC-SHA-256 of "<Unix time>.<body>" with the shared
// secret. Without a secret there is no signature.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// SignatureHeader holds the signature.
const SignatureHeader = "X-Coder-Signature"

// Client posts to one URL. It is safe for concurrent use.
type Client struct {
	URL       string
	Secret    string            // of the signature; "" for none
	Transport http.RoundTripper // nil: http.DefaultTransport
	UserAgent string
	Now       func() time.Time // nil: time.Now
}

// Post sends a JSON body once. id identifies the message: it is the same for every
// attempt, so that the receiver can drop repetitions. retry reports whether
// another attempt can succeed. Redirects are not followed.
func (c *Client) Post(ctx context.Context, id string, body []byte) (retry bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return false, fmt.Errorf("webhook: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", c.UserAgent)
	req.Header.Set("X-Message-Id", id)
	if c.Secret != "" {
		req.Header.Set(SignatureHeader, c.signature(body))
	}
	client := http.Client{
		Transport:     c.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return true, fmt.Errorf("webhook: %w", err)
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 500)) // a part is enough for the log
	if resp.StatusCode/100 == 2 {
		return false, nil
	}
	return retryable(resp.StatusCode), fmt.Errorf("webhook: the receiver answered %s: %.200q", resp.Status, answer)
}

// retryable reports whether a status is about the receiver's present state and not
// about the request.
func retryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusNotFound:
		return true // the receiver may be starting behind its proxy
	}
	return status >= 500
}

func (c *Client) signature(body []byte) string {
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	at := strconv.FormatInt(now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(c.Secret))
	mac.Write([]byte(at + ".")) //nolint:errcheck // a hash takes everything
	mac.Write(body)             //nolint:errcheck // as above
	return "t=" + at + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}
