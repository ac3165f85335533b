package listen

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// The body of a request must arrive at bodyRate or faster, after bodyGrace. A
// slower client is disconnected, so that slow clients cannot hold connections
// for long.
const (
	bodyGrace = 30 * time.Second
	bodyRate  = 16 << 10 // bytes per second, on average
)

type bodyKey struct{}

// body is a request body with a deadline that moves as bytes arrive.
type body struct {
	io.ReadCloser
	control *http.ResponseController

	mu    sync.Mutex
	until time.Time // zero means no deadline
}

// boundBodies sets a deadline for the bodies of all requests to next.
func boundBodies(grace time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		b := &body{ReadCloser: r.Body, control: http.NewResponseController(w), until: time.Now().Add(grace)}
		b.apply()
		r = r.WithContext(context.WithValue(r.Context(), bodyKey{}, b))
		r.Body = b
		next.ServeHTTP(w, r)
	})
}

// UnboundBody removes the deadline from the body of the request that ctx
// belongs to. It is for requests to workspace apps, which may take as long as
// they like.
func UnboundBody(ctx context.Context) {
	if b, ok := ctx.Value(bodyKey{}).(*body); ok {
		b.lift()
	}
}

// Read reads the body. Each read moves the deadline. The end of the body
// removes it, because net/http would take an expired deadline for a
// disconnected client.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		return n, err
	}
	if err == io.EOF {
		b.until = time.Time{}
	} else {
		b.until = b.until.Add(time.Duration(n) * time.Second / bodyRate)
	}
	b.apply()
	return n, err
}

func (b *body) lift() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.until = time.Time{}
	b.apply()
}

// apply sets the connection's deadline. The caller holds mu, or has exclusive
// access.
func (b *body) apply() {
	_ = b.control.SetReadDeadline(b.until) // fails only on a closed connection
}
