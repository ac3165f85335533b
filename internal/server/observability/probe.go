package observability

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/coder/websocket"

	"github.com/seed-2a7f8fe7/coder/internal/health"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
)

// maxProbeBody bounds the part of an answer that a health check reads, in bytes.
const maxProbeBody = 1 << 10

// prober sends the requests of health checks.
type prober struct{ base *base.Base }

// page requests a page.
func (p prober) page(ctx context.Context, url string) (health.Answer, error) {
	status, body, err := p.base.Get(ctx, url, maxProbeBody, true)
	return health.Answer{Status: status, Body: strings.ToValidUTF8(string(body), "")}, err
}

// socket sends a text by WebSocket and returns the answer. The status beside an
// error is 101 if the WebSocket was opened.
func (p prober) socket(ctx context.Context, url, text string) (a health.Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, base.RequestTimeout)
	defer cancel()
	conn, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: &http.Client{Transport: p.base.Outgoing}})
	if resp != nil {
		a.Status = resp.StatusCode
	}
	if err != nil {
		if resp != nil && resp.Body != nil {
			b, _ := io.ReadAll(io.LimitReader(resp.Body, maxProbeBody)) // as much as arrived
			a.Body = strings.ToValidUTF8(string(b), "")
		}
		return a, err
	}
	defer conn.CloseNow() //nolint:errcheck // the answer was read
	conn.SetReadLimit(maxProbeBody)
	if err := conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		return a, err
	}
	_, b, err := conn.Read(ctx)
	a.Body = string(b)
	return a, err
}
