package codersdk

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

func TestCodesSurviveTheWire(t *testing.T) {
	for _, c := range []Code{
		CodeInvalid, CodeUnauthenticated, CodeForbidden, CodeNotFound, CodeConflict,
		CodePrecondition, CodeTooLarge, CodeRateLimited, CodeUnavailable, CodeInternal,
	} {
		if got := codeOf(Status(c)); got != c {
			t.Errorf("%s comes back as %s", c, got)
		}
	}
}

func server(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL + "/below/")
	if err != nil {
		t.Fatal(err)
	}
	c := New(u)
	c.SessionToken = "token"
	return c
}

func TestRequests(t *testing.T) {
	c := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(SessionTokenHeader) != "token" {
			t.Error("no token")
		}
		switch r.URL.EscapedPath() {
		case "/below/api/v2/users/a%2Fb":
			w.Write([]byte(`{"username": "a/b"}`)) //nolint:errcheck // a test
		case "/below/api/v2/users/broken":
			w.Write([]byte(`<html>`)) //nolint:errcheck // a test
		case "/below/api/v2/users/refused":
			w.WriteHeader(http.StatusConflict)
			w.Write([]byte(`{"message": "no", "detail": "why", "validations": [{"field": "f", "detail": "d"}]}`)) //nolint:errcheck // a test
		default:
			http.Error(w, "a proxy's page", http.StatusBadGateway)
		}
	})
	if u, err := c.User(t.Context(), "a/b"); err != nil || u.Username != "a/b" {
		t.Errorf("a name with a slash: %+v, %v", u, err)
	}
	if _, err := c.User(t.Context(), "broken"); err == nil || CodeOf(err) != CodeInternal {
		t.Errorf("an answer that is no JSON: %v", err)
	}
	if _, err := c.User(t.Context(), "refused"); !Is(err, CodeConflict) || err.Error() != "no: why (f: d)" {
		t.Errorf("a refusal: %v", err)
	}
	if _, err := c.User(t.Context(), "elsewhere"); !Is(err, CodeUnavailable) {
		t.Errorf("a proxy's failure: %v", err)
	}
}

func TestFollow(t *testing.T) {
	c := server(t, func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		for i := range 3 {
			wsjson.Write(r.Context(), conn, map[string]int{"id": i}) //nolint:errcheck // a test
		}
		conn.Close(websocket.StatusNormalClosure, "") //nolint:errcheck // a test
	})
	sum := 0
	if err := Follow(t.Context(), c, "/logs", nil, func(l ProvisionerJobLog) error { sum += int(l.ID) + 1; return nil }); err != nil || sum != 6 {
		t.Errorf("sum %d, %v", sum, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := Follow(ctx, c, "/logs", nil, func(ProvisionerJobLog) error { cancel(); return ctx.Err() }); err == nil {
		t.Error("a follower that has enough is not told so")
	}
}
