package gitauth_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/gitauth"
	"github.com/seed-2a7f8fe7/coder/internal/gitauth/askpass"
)

// server answers the cache.
type server struct {
	mu     sync.Mutex
	asked  int
	answer codersdk.ExternalAuthResponse
	err    error
	now    time.Time
}

func (s *server) fetch(context.Context, codersdk.AgentExternalAuthRequest) (codersdk.ExternalAuthResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return s.answer, s.err
}

func (s *server) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *server) set(token string, lives time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.err, s.answer = 0, err, codersdk.ExternalAuthResponse{AccessToken: token}
	if token == "" {
		s.answer.URL = "https://coder.example.com/external-auth/github"
	}
	if lives > 0 {
		end := s.now.Add(lives)
		s.answer.ExpiresAt = &end
	}
}

func (s *server) move(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// cache returns a cache of the server, and a function that checks the token it hands out and the number of
// requests since the last change.
func (s *server) cache(t *testing.T) (*gitauth.Cache, func(want string, asked int)) {
	c := &gitauth.Cache{Fetch: s.fetch, Now: s.clock}
	return c, func(want string, asked int) {
		t.Helper()
		got, err := c.Get(t.Context(), "https://git.example.com", false)
		if err != nil || got.AccessToken != want || s.asked != asked {
			t.Fatalf("got %q after %d requests, %v; want %q after %d", got.AccessToken, s.asked, err, want, asked)
		}
	}
}

func TestCache(t *testing.T) {
	s := &server{now: time.Now()}
	c, get := s.cache(t)
	s.set("one", time.Hour, nil)
	get("one", 1)
	get("one", 1) // the second prompt, and the second fetch
	s.move(2 * time.Minute)
	s.set("two", 20*time.Minute, nil) // rotated
	get("two", 1)
	s.set("", 0, errors.New("connection refused")) // the server is down for ten minutes
	for range 10 {
		s.move(time.Minute)
		get("two", s.asked+1)
	}
	s.move(9*time.Minute + 45*time.Second) // and longer than the token lives
	if got, err := c.Get(t.Context(), "https://git.example.com", false); err == nil {
		t.Errorf("got %+v", got)
	}
	s.set("three", 0, nil)
	get("three", 1)
	s.move(2 * time.Minute)
	s.set("", 0, nil) // the link was deleted
	get("", 1)
	s.set("four", 0, nil)
	get("four", 1) // and is not remembered
	s.move(2 * time.Minute)
	s.set("", 0, codersdk.Errorf(codersdk.CodeForbidden, "suspended"))
	if _, err := c.Get(t.Context(), "https://git.example.com", false); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("of a suspended owner: %v", err)
	}
	s.set("", 0, codersdk.Errorf(codersdk.CodeUnavailable, "down"))
	if got, err := c.Get(t.Context(), "https://git.example.com", false); err == nil {
		t.Errorf("got %+v after the server refused", got)
	}
}

// TestCacheAfterChange: after a change the cache asks the server, and hands out what it has only while that
// does not answer.
func TestCacheAfterChange(t *testing.T) {
	s := &server{now: time.Now()}
	c, get := s.cache(t)
	s.set("one", time.Hour, nil)
	get("one", 1)
	s.set("", 0, errors.New("connection refused"))
	c.Check()
	get("one", 1)
	s.set("two", time.Hour, nil) // rotated for another workspace
	get("two", 1)
	get("two", 1)
	c.Fetch = func(ctx context.Context, r codersdk.AgentExternalAuthRequest) (codersdk.ExternalAuthResponse, error) {
		c.Check() // a change during the request
		return s.fetch(ctx, r)
	}
	c.Check()
	get("two", 2)
	get("two", 3)
}

func TestCacheAsksOnce(t *testing.T) {
	s := &server{now: time.Now()}
	c := &gitauth.Cache{Fetch: s.fetch, Now: s.clock}
	s.set("one", time.Hour, nil)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got, err := c.Get(t.Context(), "https://git.example.com", false); err != nil || got.AccessToken != "one" {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	all.Wait()
	if s.asked != 1 {
		t.Errorf("%d requests", s.asked)
	}
	if got, err := c.Get(t.Context(), "https://git.example.com", true); err != nil || got.AccessToken != "one" || s.asked != 2 {
		t.Errorf("listening: %+v, %v", got, err)
	}
}

// TestAnswersFromMemory: a question of git is answered without the server, or not at all.
func TestAnswersFromMemory(t *testing.T) {
	s := &server{now: time.Now()}
	c := &gitauth.Cache{Fetch: s.fetch, Now: s.clock}
	ask := func(question string, status int, want string) {
		t.Helper()
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest(http.MethodGet, askpass.Path+"?"+url.Values{"question": {question}}.Encode(), nil))
		if w.Code != status || w.Body.String() != want || s.asked > 1 {
			t.Errorf("%s: %d %q after %d requests", question, w.Code, w.Body, s.asked)
		}
	}
	const remote = "https://git.example.com/a"
	ask("Username for '"+remote+"':", http.StatusNoContent, "")
	s.set("one", time.Hour, nil)
	if _, err := c.Get(t.Context(), remote, false); err != nil {
		t.Fatal(err)
	}
	ask("Username for '"+remote+"':", http.StatusOK, "x-access-token\n")
	ask("Password for 'https://ann@git.example.com/a':", http.StatusOK, "one\n")
	ask("Password for 'https://other.example.com/a':", http.StatusNoContent, "")
	ask("Passphrase for 'https://git.example.com/a':", http.StatusBadRequest, "")
	s.move(time.Minute)
	ask("Password for '"+remote+"':", http.StatusNoContent, "") // the link may have been deleted
}

func TestExtra(t *testing.T) {
	got := codersdk.ExternalAuthResponse{TokenExtra: map[string]any{"authed_user": map[string]any{"id": "U1", "n": 3.0}}}
	for path, want := range map[string]string{"authed_user.id": "U1", "authed_user.n": "3", "authed_user": `{"id":"U1","n":3}`, "authed_user.id.x": "", "nope": "", "": ""} {
		if v, ok := gitauth.Extra(got, path); v != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", path, v, ok)
		}
	}
}
