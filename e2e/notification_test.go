package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/smtptest"
	"github.com/seed-2a7f8fe7/coder/internal/testport"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// receivers is a webhook receiver and a mail server. Both delay the response to the
// first message until the test ends, so that the test can kill the server meanwhile.
type receivers struct {
	hook *httptest.Server
	mail *smtptest.Server

	held    chan string // receives the method of each delayed message
	release chan struct{}
	mu      sync.Mutex
	first   map[string]bool
	ids     map[string][]string // IDs of received messages, by method
}

func newReceivers(t *testing.T) *receivers {
	r := &receivers{held: make(chan string, 10), release: make(chan struct{}), first: map[string]bool{}, ids: map[string][]string{}}
	r.hook = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		var body struct {
			ID string `json:"msg_id"`
		}
		if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
			t.Errorf("a webhook: %v", err)
		}
		r.receive("webhook", body.ID)
	}))
	t.Cleanup(r.hook.Close)
	id := regexp.MustCompile(`(?m)^Message-ID: <([^@]+)@`)
	r.mail = smtptest.New(t, func(m smtptest.Message) error {
		if found := id.FindStringSubmatch(m.Data); found != nil {
			r.receive("smtp", found[1])
		}
		return nil
	})
	t.Cleanup(func() { close(r.release) }) // before the servers end
	return r
}

func (r *receivers) receive(method, id string) {
	r.mu.Lock()
	r.ids[method] = append(r.ids[method], id)
	again := r.first[method]
	r.first[method] = true
	r.mu.Unlock()
	if !again {
		r.held <- method
		<-r.release
	}
}

// counts returns how often a method received a message, and whether all messages had
// the same ID.
func (r *receivers) counts(method string) (n int, same bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	same = true
	for _, id := range r.ids[method] {
		same = same && id == r.ids[method][0]
	}
	return len(r.ids[method]), same
}

// client returns a client that is signed in as the user of the CLI.
func (p *testServer) client(t *testing.T) *codersdk.Client {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(p.dir, "config", "session"))
	if err != nil {
		t.Fatal(err)
	}
	c := codersdk.New(&url.URL{Scheme: "http", Host: p.address})
	c.SessionToken = strings.TrimSpace(string(token))
	return c
}

// TestKilledServerDeliversNotifications kills a server between an event and its
// notification, and again between the notification and the response of the receiver.
// Email and webhook must arrive at least once. The inbox must have each notification
// exactly once.
func TestKilledServerDeliversNotifications(t *testing.T) {
	t.Parallel()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	r := newReceivers(t)
	p := &testServer{bin: bin, dir: t.TempDir(), address: testport.FreeAddress(t), tmp: shortDir(t)}
	p.provideDatabase(t)
	serve := func() {
		t.Helper()
		p.server = p.start(t, filepath.Join(p.dir, "server.log"), p.env(
			"CODER_NOTIFICATIONS_METHOD=webhook", "CODER_NOTIFICATIONS_WEBHOOK_ENDPOINT="+r.hook.URL, "CODER_EMAIL_SMARTHOST="+r.mail.Address,
			"CODER_EMAIL_FROM=coder@example.com", "CODER_NOTIFICATIONS_FETCH_INTERVAL=200ms", "CODER_NOTIFICATIONS_LEASE_PERIOD=10s",
			"CODER_NOTIFICATIONS_DISPATCH_TIMEOUT=5s", "CODER_NOTIFICATIONS_RETRY_INTERVAL=1s",
		), "server", "--http-address", p.address, "--access-url", "http://"+p.address, "--provisioner-daemons", "0")
		awaitHealth(t, p.address)
	}
	serve()
	p.run(t, "login", "http://"+p.address, "--first-user-username", "admin", "--first-user-email", "admin@example.com", "--first-user-password", password)
	user := p.client(t)
	resp, err := user.Request(t.Context(), "PUT", "/notifications/templates/"+notification.Test.String()+"/method", nil,
		codersdk.UpdateNotificationTemplateMethod{Method: codersdk.NotificationMethodSMTP})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("set the method: %s", resp.Status)
	}

	p.run(t, "notifications", "pause")
	p.run(t, "notifications", "custom", "By webhook", "Sent once the server is back.")
	p.run(t, "notifications", "test")
	kill(p.server)
	serve()
	if webhooks, _ := r.counts("webhook"); webhooks != 0 {
		t.Errorf("%d webhooks were sent during the pause", webhooks)
	}
	p.run(t, "notifications", "resume")
	methods := testwait.Receive(t, "the first message", r.held) + " " + testwait.Receive(t, "the second message", r.held)
	kill(p.server)
	before := map[string]int{}
	for _, method := range strings.Fields(methods) {
		before[method], _ = r.counts(method)
	}
	serve()
	for method, n := range before {
		testwait.Until(t, method+" receives the message again", func() bool { again, _ := r.counts(method); return again > n })
		if _, same := r.counts(method); !same {
			t.Errorf("%s received other messages: %v", method, r.ids[method])
		}
	}
	inbox, err := user.InboxNotifications(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	titles := map[string]int{}
	for _, n := range inbox.Notifications {
		titles[n.Title]++
	}
	if len(before) != 2 || len(titles) != 2 || titles["By webhook"] != 1 || titles["Test notification"] != 1 {
		t.Errorf("messages by %q; the inbox has %v", methods, titles)
	}
}
