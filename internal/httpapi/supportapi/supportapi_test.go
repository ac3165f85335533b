package supportapi

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/replicatoken"
)

// ask sends a request for the log to a replica as an owner, with the given header.
func ask(t *testing.T, a *API, query string, header http.Header) (*httptest.ResponseRecorder, error) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/api/v2/debug/logs"+query, nil)
	r.Header = header
	ctx := rest.WithSubject(t.Context(), access.Subject{UserID: uuid.New(), SiteRoles: []string{access.RoleOwner}})
	w := httptest.NewRecorder()
	err := a.getView(viewLogs)(w, r.WithContext(ctx))
	return w, err
}

// listen serves the views of a replica to other replicas and returns its address.
// It sends each request, as it arrived, to seen.
func listen(t *testing.T, a *API, seen chan<- string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+replicaPath+"{view}", func(w http.ResponseWriter, r *http.Request) {
		b, err := httputil.DumpRequest(r, true)
		if err != nil {
			t.Error(err)
		}
		seen <- string(b)
		switch err := a.getForReplica(w, r); {
		case codersdk.Is(err, codersdk.CodeUnauthenticated):
			http.Error(w, err.Error(), http.StatusUnauthorized)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func TestForwardToReplica(t *testing.T) {
	key := []byte(strings.Repeat("k", 32))
	near, far, silent, hidden, stranger, older := uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New()
	seen := make(chan string, 10)
	log := func(text string) func() []byte { return func() []byte { return []byte(text) } }
	other := listen(t, New(Config{Replica: far, Logs: log("the log of the other replica"), ReplicaKey: key, Now: time.Now}), seen)
	foreign := listen(t, New(Config{Replica: stranger, Logs: log("a secret"), ReplicaKey: []byte(strings.Repeat("x", 32)), Now: time.Now}), seen)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	before := httptest.NewServer(http.NotFoundHandler())
	defer before.Close()
	a := New(Config{
		Replica: near, Logs: log("the log of this replica"), Transport: http.DefaultTransport, ReplicaKey: key, Now: time.Now,
		Replicas: func(context.Context, access.Subject) ([]codersdk.Replica, error) {
			return []codersdk.Replica{
				{ID: near}, {ID: far, RelayAddress: other}, {ID: silent, RelayAddress: gone.URL}, {ID: hidden, Hostname: "c"},
				{ID: stranger, RelayAddress: foreign}, {ID: older, RelayAddress: before.URL},
			}, nil
		},
	})
	header := http.Header{
		"Cookie": {codersdk.SessionCookie + "=the-token"}, codersdk.SessionTokenHeader: {"the-token"}, "Authorization": {"Bearer the-token"},
		"X-Forwarded-For": {"203.0.113.7"},
	}
	for _, query := range []string{"", "?replica=" + near.String()} {
		if w, err := ask(t, a, query, header); err != nil || w.Body.String() != "the log of this replica" {
			t.Errorf("%q: %q, %v", query, w.Body, err)
		}
	}
	w, err := ask(t, a, "?replica="+far.String()+"&b=2&a=1", header)
	if err != nil || w.Body.String() != "the log of the other replica" {
		t.Fatalf("another replica: %q, %v", w.Body, err)
	}
	if request := <-seen; strings.Contains(request, "the-token") || !strings.HasPrefix(request, "GET /api/v2/replicas/debug/logs?a=1&b=2 ") {
		t.Errorf("the request to the other replica: %s", request)
	}
	for query, want := range map[string]string{
		"?replica=" + uuid.NewString():    "is not running",
		"?replica=" + silent.String():     "does not answer",
		"?replica=" + hidden.String():     "no address for the other replicas",
		"?replica=" + stranger.String():   "refused the request",
		"?replica=" + older.String():      "runs a version without this view",
		"?replica=first":                  "not a UUID",
		"?replica=" + far.String() + "&a": "",
	} {
		_, err := ask(t, a, query, header)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", query, err, want)
		}
		if codersdk.Is(err, codersdk.CodeUnauthenticated) {
			t.Errorf("%s: the error ends the session of the user: %v", query, err)
		}
	}
}

func TestReplicaViewNeedsToken(t *testing.T) {
	here, key := uuid.New(), []byte(strings.Repeat("k", 32))
	signer := replicatoken.New(key, time.Now)
	a := New(Config{Replica: here, Logs: func() []byte { return []byte("the log") }, ReplicaKey: key, Now: time.Now})
	get := func(a *API, token string) error {
		r := httptest.NewRequest(http.MethodGet, "/api/v2/replicas/debug/logs?a=1", nil)
		r.SetPathValue("view", viewLogs)
		r.Header.Set(replicatoken.Header, token)
		r.Header.Set(codersdk.SessionTokenHeader, "the-token") // no session can replace the token
		return a.getForReplica(httptest.NewRecorder(), r)
	}
	token := signer.Token(here, subjectOf(viewLogs, "a=1"))
	if err := get(a, token); err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{
		"none": "", "used": token,
		"for another view":    signer.Token(here, subjectOf(viewProfile, "a=1")),
		"for another query":   signer.Token(here, subjectOf(viewLogs, "a=2")),
		"for another replica": signer.Token(uuid.New(), subjectOf(viewLogs, "a=1")),
	} {
		if err := get(a, token); !codersdk.Is(err, codersdk.CodeUnauthenticated) {
			t.Errorf("token %s: %v", name, err)
		}
	}
	if err := get(New(Config{Replica: here}), signer.Token(here, subjectOf(viewLogs, "a=1"))); !codersdk.Is(err, codersdk.CodeUnauthenticated) {
		t.Errorf("a server without a key: %v", err)
	}
}

func TestDebugNeedsPermission(t *testing.T) {
	a := New(Config{Logs: func() []byte { return nil }})
	r := httptest.NewRequest(http.MethodGet, "/api/v2/debug/logs?replica="+uuid.NewString(), nil)
	if err := a.getView(viewLogs)(httptest.NewRecorder(), r); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("without a role: %v", err)
	}
}

func TestReserve(t *testing.T) {
	a := New(Config{})
	var release func()
	for range maxRunning {
		var err error
		if release, err = a.reserve(uuid.New()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.reserve(uuid.New()); !codersdk.Is(err, codersdk.CodeUnavailable) {
		t.Errorf("more than %d bundles: %v", maxRunning, err)
	}
	release()
	user := uuid.New()
	release, err := a.reserve(user)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.reserve(user); !codersdk.Is(err, codersdk.CodeConflict) {
		t.Errorf("a second bundle of a user: %v", err)
	}
	release()
	if _, err := a.reserve(user); err != nil {
		t.Errorf("after the first: %v", err)
	}
}

func TestInProcess(t *testing.T) {
	from := httptest.NewRequest(http.MethodGet, "/", nil)
	from.RemoteAddr = "203.0.113.7:1"
	from.Header = http.Header{"Cookie": {"a=b"}, "Upgrade": {"websocket"}, "Sec-Websocket-Key": {"k"}, "X-Forwarded-For": {"198.51.100.1"}}
	var got *http.Request
	size := 10
	c := http.Client{Transport: inProcess{from: from, handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.WriteHeader(http.StatusTeapot)
		w.WriteHeader(http.StatusOK)
		w.Write(make([]byte, size)) //nolint:errcheck // the response is checked
	})}}
	resp, err := c.Get("http://coder.example.com/api/v2/x?y=1")
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil || len(b) != size || resp.StatusCode != http.StatusTeapot || resp.Body.Close() != nil {
		t.Errorf("status %d, %d bytes, %v", resp.StatusCode, len(b), err)
	}
	if got.RemoteAddr != from.RemoteAddr || got.RequestURI != "/api/v2/x?y=1" || got.Header.Get("X-Forwarded-For") == "" {
		t.Errorf("the request: %+v", got)
	}
	for _, name := range []string{"Cookie", "Upgrade", "Sec-Websocket-Key"} {
		if got.Header.Get(name) != "" {
			t.Errorf("the request has the header %s of the WebSocket", name)
		}
	}
	size = maxResponse + 1
	if resp, err := c.Get("http://coder.example.com/"); err == nil {
		resp.Body.Close() //nolint:errcheck // it is an error to be here
		t.Error("a response without end was accepted")
	}
}
