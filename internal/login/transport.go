package login

import (
	"io"
	"net/http"
	"time"
)

// Bounds of a question to a provider.
const (
	askAtMost = 15 * time.Second
	maxAnswer = 1 << 20 // bytes
)

// bounded keeps a provider from answering without end.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	return resp, nil
}
