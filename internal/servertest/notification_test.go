package servertest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// hooks is a receiver of webhooks that fails first.
type hooks struct {
	*httptest.Server
	bodies chan map[string]any
}

func newHooks(t *testing.T) *hooks {
	h := &hooks{bodies: make(chan map[string]any, 100)}
	var failed atomic.Bool
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if failed.CompareAndSwap(false, true) {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		b, err := io.ReadAll(r.Body)
		var body map[string]any
		if err == nil {
			err = json.Unmarshal(b, &body)
		}
		if err != nil || r.Header.Get("X-Coder-Signature") == "" {
			t.Errorf("a webhook without JSON or signature: %v %v", err, r.Header)
		}
		h.bodies <- body
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hooks) into(c *server.Config) {
	u, err := url.Parse(h.URL)
	if err != nil {
		panic(err)
	}
	c.Notifications.Method, c.Notifications.WebhookURL, c.Notifications.WebhookSecret = "webhook", u, "secret"
	c.Notifications.Retry, c.Notifications.Fetch = 1, 100e6
}

// TestNotifications sends notifications through a whole server: the inbox and its
// watch, and a webhook in the form that receivers read.
func TestNotifications(t *testing.T) {
	receiver := newHooks(t)
	s := servertest.Start(t, receiver.into)
	ctx := t.Context()
	watch, err := s.Client.Dial(ctx, "/notifications/inbox/watch", url.Values{"format": {"plaintext"}})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.CloseNow() //nolint:errcheck // the test is over
	if err := s.Client.PostTestNotification(ctx); err != nil {
		t.Fatal(err)
	}
	kind, b, err := watch.Read(ctx)
	var got codersdk.GetInboxNotificationResponse
	if err == nil {
		err = json.Unmarshal(b, &got)
	}
	if err != nil || kind != websocket.MessageText || got.Notification.Title != "Test notification" || got.UnreadCount != 1 {
		t.Fatalf("%s %v", b, err)
	}
	body := <-receiver.bodies
	payload, _ := body["payload"].(map[string]any)
	if body["_version"] != "1.0" || body["msg_id"] == "" || body["title"] != "Test notification" || payload["notification_name"] != "Test notification" ||
		payload["user_username"] != "admin" || payload["user_email"] != "admin@example.com" || payload["labels"] == nil || payload["data"] == nil {
		t.Errorf("the webhook has %v", body)
	}
	list, err := s.Client.InboxNotifications(ctx, nil)
	if err != nil || len(list.Notifications) != 1 || list.UnreadCount != 1 {
		t.Fatalf("%+v %v", list, err)
	}
	read, err := s.Client.UpdateInboxNotificationReadStatus(ctx, list.Notifications[0].ID, codersdk.UpdateInboxNotificationReadStatusRequest{IsRead: true})
	if err != nil || read.UnreadCount != 0 || read.Notification.ReadAt == nil {
		t.Errorf("%+v %v", read, err)
	}
	for range 2 { // the second changes nothing
		if err := s.Client.PutNotificationsSettings(ctx, codersdk.NotificationsSettings{NotifierPaused: true}); err != nil {
			t.Fatal(err)
		}
	}
	member, _ := s.Member(t, "member")
	if err := member.PostTestNotification(ctx); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("a member sent a test: %v", err)
	}
}

// The keys of the browser in the example of RFC 8291.
const (
	browserKey    = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
	browserSecret = "BTBZMqHH6r4Tts7J_aSIgg"
)

// TestWebPush subscribes a browser over the API and sends a test notification to its
// push service, signed with the key of the build information.
func TestWebPush(t *testing.T) {
	received := make(chan string, 10)
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received <- r.URL.Path + " " + r.Header.Get("Authorization")
		w.WriteHeader(http.StatusCreated)
	}))
	defer vendor.Close()
	host := strings.TrimPrefix(vendor.URL, "http://")
	s := servertest.Start(t, func(c *server.Config) { c.Notifications.PushServices = []string{host} })
	member, _ := s.Member(t, "dev")
	call := func(method, path string, body any, want int) {
		t.Helper()
		resp, err := member.Request(t.Context(), method, "/users/me/webpush"+path, nil, body)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Fatalf("%s %s: %d, want %d", method, path, resp.StatusCode, want)
		}
	}
	browser := codersdk.WebpushSubscription{Endpoint: vendor.URL + "/push/1", P256dhKey: browserKey, AuthKey: browserSecret}
	call("POST", "/subscription", browser, http.StatusNoContent)
	call("POST", "/test", nil, http.StatusNoContent)
	info, err := member.BuildInfo(t.Context())
	if err != nil || info.WebpushPublicKey == "" {
		t.Fatalf("%+v %v", info, err)
	}
	if got := <-received; !strings.HasPrefix(got, "/push/1 vapid t=") || !strings.HasSuffix(got, ", k="+info.WebpushPublicKey) {
		t.Errorf("the push service received %q, and the key is %q", got, info.WebpushPublicKey)
	}
	for range 2 {
		call("DELETE", "/subscription", codersdk.DeleteWebpushSubscription{Endpoint: browser.Endpoint}, http.StatusNoContent)
	}
	if got := titles(t, member); len(got) != 0 {
		t.Errorf("the inbox has %q", got)
	}
}
