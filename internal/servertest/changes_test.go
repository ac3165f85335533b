package servertest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// TestChanges: a page hears of what others do, of what it asked for alone, from
// the moment on that it is told of.
func TestChanges(t *testing.T) {
	s := servertest.Start(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn := listenTo(t, ctx, s, `{"topics": ["user"], "ready": true}`)
	for _, when := range []string{"listening began", "something changed"} {
		_, message, err := conn.Read(ctx)
		must(t, err)
		var c codersdk.Change
		must(t, json.Unmarshal(message, &c))
		if c.Topic != "user" {
			t.Fatalf("when %s, heard of %q", when, c.Topic)
		}
		_, err = s.Client.UpdateUserProfile(ctx, "me", codersdk.UpdateUserProfileRequest{Username: "owner", Name: "After " + when})
		must(t, err)
	}
}

// TestChangesRefuses: what is no list of topics ends the connection, politely.
func TestChangesRefuses(t *testing.T) {
	s := servertest.Start(t, nil)
	for _, bad := range []string{`{"topics": ["user", "../../etc"]}`, `{"topics": "user"}`, `nonsense`} {
		conn := listenTo(t, t.Context(), s, bad)
		_, _, err := conn.Read(t.Context())
		if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
			t.Errorf("%s: %v", bad, err)
		}
	}
	conn, resp, err := websocket.Dial(t.Context(), s.AccessURL().String()+"/api/v2/changes", nil)
	if err == nil {
		conn.CloseNow() //nolint:errcheck // it should not be there
		t.Fatal("nobody in particular may listen")
	}
	if resp == nil || resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("got %v", err)
	}
}

func listenTo(t *testing.T, ctx context.Context, s *servertest.Server, first string) *websocket.Conn {
	t.Helper()
	conn, _, err := websocket.Dial(ctx, s.AccessURL().String()+"/api/v2/changes", &websocket.DialOptions{
		HTTPHeader: http.Header{"Coder-Session-Token": {s.Client.SessionToken}},
	})
	must(t, err)
	t.Cleanup(func() { conn.CloseNow() }) //nolint:errcheck // the test is over
	must(t, conn.Write(ctx, websocket.MessageText, []byte(first)))
	return conn
}
