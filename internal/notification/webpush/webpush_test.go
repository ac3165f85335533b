package webpush_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notification/webpush"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
)

// pushService is the push service of a vendor and a browser that subscribed there.
type pushService struct {
	*httptest.Server
	key    *ecdh.PrivateKey // of the browser
	secret []byte           // of the browser

	mu     sync.Mutex
	status int // of the next responses; 0: 201
	got    []pushed
}

type pushed struct {
	header http.Header
	body   []byte
}

func newPushService(t *testing.T) *pushService {
	t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &pushService{key: key, secret: make([]byte, 16)}
	rand.Read(p.secret) //nolint:errcheck // documented never to fail
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.got = append(p.got, pushed{r.Header, b})
		status := p.status
		if status == 0 {
			status = http.StatusCreated
		}
		w.Header().Set("Location", "https://elsewhere.example.com/")
		w.WriteHeader(status)
		io.WriteString(w, strings.Repeat("because ", 1000)) //nolint:errcheck // the client may not read it
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *pushService) host() string { return strings.TrimPrefix(p.URL, "https://") }

func (p *pushService) answer(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

// subscription returns the subscription that a browser creates for the dashboard.
func (p *pushService) subscription() codersdk.WebpushSubscription {
	encode := base64.RawURLEncoding.EncodeToString
	return codersdk.WebpushSubscription{Endpoint: p.URL + "/send/1", P256dhKey: encode(p.key.PublicKey().Bytes()), AuthKey: encode(p.secret)}
}

// decrypt reads a body of the content coding aes128gcm (RFC 8188) for a browser
// (RFC 8291).
func (p *pushService) decrypt(body []byte) ([]byte, error) {
	if len(body) < 86 || body[20] != 65 {
		return nil, fmt.Errorf("the header is %x", body)
	}
	salt, size, senderKey, record := body[:16], binary.BigEndian.Uint32(body[16:20]), body[21:86], body[86:]
	if len(record) > int(size) || len(body) > 4096 {
		return nil, fmt.Errorf("%d bytes in records of %d", len(body), size)
	}
	sender, err := ecdh.P256().NewPublicKey(senderKey)
	if err != nil {
		return nil, err
	}
	shared, err := p.key.ECDH(sender)
	if err != nil {
		return nil, err
	}
	info := bytes.Join([][]byte{[]byte("WebPush: info\x00"), p.key.PublicKey().Bytes(), senderKey}, nil)
	material, err1 := hkdf.Key(sha256.New, shared, p.secret, string(info), 32)
	key, err2 := hkdf.Key(sha256.New, material, salt, "Content-Encoding: aes128gcm\x00", 16)
	nonce, err3 := hkdf.Key(sha256.New, material, salt, "Content-Encoding: nonce\x00", 12)
	block, err4 := aes.NewCipher(key)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	plain, err := gcm.Open(nil, nonce, record, nil)
	if err != nil {
		return nil, err
	}
	plain = bytes.TrimRight(plain, "\x00") // padding
	if len(plain) == 0 || plain[len(plain)-1] != 2 {
		return nil, errors.New("the record does not end with the delimiter of a last record")
	}
	return plain[:len(plain)-1], nil
}

// fixture is a service with two users.
type fixture struct {
	*webpush.Service
	t        *testing.T
	store    *postgres.Store
	vendor   *pushService
	user     access.Subject
	other    access.Subject
	enqueued []uuid.UUID
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, store: postgrestest.New(t), vendor: newPushService(t)}
	var err error
	f.Service, err = webpush.New(webpush.Config{
		Store: f.store, Secret: []byte("secret"), Hosts: []string{f.vendor.host(), "*.push.example.com"}, Contact: "https://coder.example.com",
		Transport: f.vendor.Client().Transport,
		Enqueue:   func(_ context.Context, user uuid.UUID) error { f.enqueued = append(f.enqueued, user); return nil },
	})
	f.check(err)
	for name, s := range map[string]*access.Subject{"dev": &f.user, "other": &f.other} {
		*s = access.Subject{UserID: uuid.New(), Username: name, SiteRoles: []string{access.RoleMember}}
		f.exec(`INSERT INTO users (id, email, username, login_type, status, created_at, updated_at) VALUES ($1, $2 || '@example.com', $2, 'none', 'active', now(), now())`, s.UserID, name)
	}
	return f
}

func (f *fixture) check(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) exec(sql string, args ...any) {
	f.t.Helper()
	_, err := f.store.Pool().Exec(f.t.Context(), sql, args...)
	f.check(err)
}

// subscribe subscribes the browser for a user, and returns the ID.
func (f *fixture) subscribe(s access.Subject) uuid.UUID {
	f.t.Helper()
	f.check(f.Subscribe(f.t.Context(), s, s.UserID, f.vendor.subscription()))
	return f.only(s)
}

func (f *fixture) only(s access.Subject) uuid.UUID {
	f.t.Helper()
	rows, err := f.store.WebpushOfUser(f.t.Context(), s.UserID)
	if err != nil || len(rows) != 1 {
		f.t.Fatalf("%s has %d browsers: %v", s.Username, len(rows), err)
	}
	return rows[0].ID
}

func (f *fixture) browsers(s access.Subject) int {
	f.t.Helper()
	rows, err := f.store.WebpushOfUser(f.t.Context(), s.UserID)
	f.check(err)
	return len(rows)
}

// TestPush sends a notification that only the browser can read, signed with the key
// that the browser subscribed with.
func TestPush(t *testing.T) {
	f := newFixture(t)
	id := f.subscribe(f.user)
	sent := webpush.Payload{
		ID: uuid.New(), Title: `Workspace "dev" was deleted`, Body: "Reason: <b>dormancy</b>\n\n" + strings.Repeat("ä\"<", 3000),
		Actions: []codersdk.InboxNotificationAction{{Label: "View workspaces", URL: "https://coder.example.com/workspaces"}},
	}
	gone, _, err := f.Push(t.Context(), id, sent)
	if err != nil || gone || len(f.vendor.got) != 1 {
		t.Fatalf("gone %v, %d received: %v", gone, len(f.vendor.got), err)
	}
	got := f.vendor.got[0]
	plain, err := f.vendor.decrypt(got.body)
	f.check(err)
	var p webpush.Payload
	f.check(json.Unmarshal(plain, &p))
	if p.ID != sent.ID || p.Title != sent.Title || !strings.HasPrefix(p.Body, "Reason: <b>dormancy</b>") || !strings.HasSuffix(p.Body, "…") || len(p.Actions) != 1 {
		t.Errorf("the browser reads %s", plain)
	}
	if h := got.header; h.Get("Content-Encoding") != "aes128gcm" || h.Get("TTL") != "86400" || len(h.Get("Topic")) != 22 || h.Get("Urgency") != "normal" {
		t.Errorf("the headers are %v", h)
	}
	if bytes.Contains(got.body, []byte("Workspace")) {
		t.Error("the push service can read the notification")
	}
	checkVAPID(t, f, got.header.Get("Authorization"))
}

// checkVAPID checks the signature of a request (RFC 8292).
func checkVAPID(t *testing.T, f *fixture, header string) {
	t.Helper()
	token, key, ok := strings.Cut(strings.TrimPrefix(header, "vapid t="), ", k=")
	if !ok || key != f.PublicKey() {
		t.Fatalf("the authorization is %q, and the key %q", header, f.PublicKey())
	}
	point, err := base64.RawURLEncoding.DecodeString(key)
	f.check(err)
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	f.check(err)
	var claims jwt.RegisteredClaims
	_, err = jwt.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return public, nil }, jwt.WithValidMethods([]string{"ES256"}), jwt.WithExpirationRequired())
	f.check(err)
	if len(claims.Audience) != 1 || claims.Audience[0] != f.vendor.URL || claims.Subject != "https://coder.example.com" || time.Until(claims.ExpiresAt.Time) > 24*time.Hour {
		t.Errorf("the claims are %+v", claims)
	}
}

func TestResponses(t *testing.T) {
	f := newFixture(t)
	for status, want := range map[int]struct{ gone, retry bool }{
		400: {}, 401: {}, 403: {}, 413: {}, 302: {}, 404: {gone: true}, 410: {gone: true}, 408: {retry: true}, 429: {retry: true}, 500: {retry: true}, 503: {retry: true},
	} {
		id := f.subscribe(f.user)
		f.vendor.answer(status)
		gone, retry, err := f.Push(t.Context(), id, webpush.Payload{})
		if gone != want.gone || retry != want.retry || (err == nil) != want.gone || err != nil && len(err.Error()) > 400 {
			t.Errorf("%d: gone %v, retry %v, %v", status, gone, retry, err)
		}
		if left := f.browsers(f.user); (left == 0) != want.gone {
			t.Errorf("after %d the user has %d browsers", status, left)
		}
	}
	f.vendor.answer(0)
	id := f.subscribe(f.user)
	f.vendor.Close()
	if gone, retry, err := f.Push(t.Context(), id, webpush.Payload{}); gone || !retry || err == nil {
		t.Errorf("unreachable: gone %v, retry %v, %v", gone, retry, err)
	}
	if gone, _, _ := f.Push(t.Context(), uuid.New(), webpush.Payload{}); !gone {
		t.Error("an unknown browser is not gone")
	}
}

func TestSubscriptions(t *testing.T) {
	f := newFixture(t)
	id := f.subscribe(f.user)
	if f.subscribe(f.user) != id {
		t.Error("the same browser is stored twice")
	}
	f.check(f.Test(t.Context(), f.user, f.user.UserID))
	if len(f.enqueued) != 1 || f.enqueued[0] != f.user.UserID {
		t.Errorf("enqueued for %v", f.enqueued)
	}
	if err := f.Test(t.Context(), f.other, f.other.UserID); !codersdk.Is(err, codersdk.CodePrecondition) {
		t.Errorf("a test without a browser: %v", err)
	}
	owner := access.Subject{UserID: uuid.New(), SiteRoles: []string{access.RoleOwner}}
	if err := f.Subscribe(t.Context(), owner, f.user.UserID, f.vendor.subscription()); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("an owner subscribed to the notifications of a user: %v", err)
	}
	if err := f.Unsubscribe(t.Context(), f.other, f.user.UserID, codersdk.DeleteWebpushSubscription{Endpoint: f.vendor.URL + "/send/1"}); err == nil {
		t.Error("another user unsubscribed the browser")
	}
	// Another user signs in to the same browser.
	f.exec(`INSERT INTO notification_messages (id, user_id, kind, method, title, content, actions, labels, data, targets, created_at, next_attempt_at, subscription_id)
		VALUES ($1, $2, $1, 'webpush', '', '', '[]', '{}', '{}', '{}', now(), now(), $3)`, uuid.New(), f.user.UserID, id)
	f.subscribe(f.other)
	var waiting int
	f.check(f.store.Pool().QueryRow(t.Context(), `SELECT count(*) FROM notification_messages`).Scan(&waiting))
	if f.browsers(f.user) != 0 || waiting != 0 {
		t.Errorf("the first user has %d browsers and %d messages", f.browsers(f.user), waiting)
	}
	for range 2 {
		f.check(f.Unsubscribe(t.Context(), f.other, f.other.UserID, codersdk.DeleteWebpushSubscription{Endpoint: f.vendor.URL + "/send/1"}))
	}
	if f.browsers(f.other) != 0 {
		t.Error("the browser is subscribed still")
	}
	many := f.vendor.subscription()
	for i := range 25 {
		many.Endpoint = fmt.Sprintf("https://%d.push.example.com:443/", i)
		f.check(f.Subscribe(t.Context(), f.user, f.user.UserID, many))
	}
	if n := f.browsers(f.user); n != 20 {
		t.Errorf("a user has %d browsers", n)
	}
}

// TestEndpoints: the server connects to listed push services only.
func TestEndpoints(t *testing.T) {
	f := newFixture(t)
	good := f.vendor.subscription()
	u, err := url.Parse(good.Endpoint)
	f.check(err)
	for name, change := range map[string]func(*codersdk.WebpushSubscription){
		"another host":  func(s *codersdk.WebpushSubscription) { s.Endpoint = "https://169.254.169.254/latest" },
		"the domain":    func(s *codersdk.WebpushSubscription) { s.Endpoint = "https://push.example.com/" },
		"a suffix":      func(s *codersdk.WebpushSubscription) { s.Endpoint = "https://evilpush.example.com/" },
		"another port":  func(s *codersdk.WebpushSubscription) { s.Endpoint = "https://a.push.example.com:8443/" },
		"http":          func(s *codersdk.WebpushSubscription) { s.Endpoint = "http://a.push.example.com/" },
		"file":          func(s *codersdk.WebpushSubscription) { s.Endpoint = "file://" + u.Host + "/etc" },
		"credentials":   func(s *codersdk.WebpushSubscription) { s.Endpoint = "https://a:b@" + u.Host + "/" },
		"no URL":        func(s *codersdk.WebpushSubscription) { s.Endpoint = "::" },
		"a long URL":    func(s *codersdk.WebpushSubscription) { s.Endpoint += strings.Repeat("x", 2000) },
		"no key":        func(s *codersdk.WebpushSubscription) { s.P256dhKey = "" },
		"another point": func(s *codersdk.WebpushSubscription) { s.P256dhKey = "B" + strings.Repeat("A", 86) },
		"a short key":   func(s *codersdk.WebpushSubscription) { s.AuthKey = "AAAA" },
	} {
		s := good
		change(&s)
		if err := f.Subscribe(t.Context(), f.user, f.user.UserID, s); !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	off, err := webpush.New(webpush.Config{Store: f.store, Secret: []byte("secret")})
	f.check(err)
	if err := off.Subscribe(t.Context(), f.user, f.user.UserID, good); !codersdk.Is(err, codersdk.CodePrecondition) || off.PublicKey() != "" {
		t.Errorf("without push services: %v, key %q", err, off.PublicKey())
	}
	if _, err := webpush.New(webpush.Config{Hosts: []string{"https://push.example.com"}}); !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Errorf("a URL as a host: %v", err)
	}
}

func TestKeyIsTheSame(t *testing.T) {
	if !webpush.Key([]byte("a")).Equal(webpush.Key([]byte("a"))) || webpush.Key([]byte("a")).Equal(webpush.Key([]byte("b"))) {
		t.Error("the key is not a function of the secret")
	}
}
