package gitauth

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/gitauth/askpass"
)

// Times of cached credentials.
const (
	// fresh is how long the cache answers without the server. A change of which the server could not notify
	// the agent is noticed after that.
	fresh = time.Minute
	// soon is the remaining lifetime below which a token is not handed out from the cache.
	soon = 30 * time.Second
	// patience bounds a request to the server while the cache has credentials that may still work.
	patience = 3 * time.Second
	// maxEntries bounds the remotes in the cache.
	maxEntries = 200
)

// Cache keeps the owner's credentials for git remotes in the agent's memory. git asks twice for each fetch;
// from the cache that needs no request to the server or the provider. While the server does not answer, the
// cache hands out what it has until the token ends. It is safe for concurrent use.
type Cache struct {
	// Fetch requests credentials from the server. With listen it waits until the owner has linked the
	// provider.
	Fetch func(ctx context.Context, r codersdk.AgentExternalAuthRequest) (codersdk.ExternalAuthResponse, error)
	Now   func() time.Time // nil: time.Now

	mu      sync.Mutex
	entries map[string]*entry
	changes atomic.Int64 // calls of Check
}

// Check makes the cache ask the server again before it hands out what it has, because a link may have changed.
func (c *Cache) Check() { c.changes.Add(1) }

// entry is the credentials for one remote.
type entry struct {
	busy    sync.Mutex // held while the server is asked, so that concurrent callers ask once
	value   codersdk.ExternalAuthResponse
	checked time.Time // when the server sent the value; zero: never
	changes int64     // Cache.changes before the server was asked
}

func (c *Cache) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

// entry returns the entry of a remote.
func (c *Cache) entry(match string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[match]; e != nil {
		return e
	}
	if c.entries == nil || len(c.entries) >= maxEntries {
		c.entries = map[string]*entry{}
	}
	e := &entry{}
	c.entries[match] = e
	return e
}

// Get returns the credentials for a remote. If the owner must link the provider first, the result has only
// the URL of the page; with listen, Get waits for that.
func (c *Cache) Get(ctx context.Context, match string, listen bool) (codersdk.ExternalAuthResponse, error) {
	if listen { // the wait must not block other callers
		changes := c.changes.Load()
		got, err := c.Fetch(ctx, codersdk.AgentExternalAuthRequest{Match: match, Listen: true})
		if err == nil && got.AccessToken != "" {
			e := c.entry(match)
			e.busy.Lock()
			e.value, e.checked, e.changes = got, c.now(), changes
			e.busy.Unlock()
		}
		return got, err
	}
	e := c.entry(match)
	e.busy.Lock()
	defer e.busy.Unlock()
	now, changes := c.now(), c.changes.Load()
	if e.isFresh(now, changes) {
		return e.value, nil
	}
	works := e.works(now)
	limited := ctx
	if works {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	got, err := c.Fetch(limited, codersdk.AgentExternalAuthRequest{Match: match})
	switch {
	case err == nil && got.AccessToken != "":
		e.value, e.checked, e.changes = got, now, changes
	case err == nil, definite(err):
		e.value, e.checked = codersdk.ExternalAuthResponse{}, time.Time{}
	case works && ctx.Err() == nil:
		return e.value, nil
	}
	return got, err
}

// works reports whether the value can still be handed out.
func (e *entry) works(now time.Time) bool {
	return !e.checked.IsZero() && (e.value.ExpiresAt == nil || now.Before(e.value.ExpiresAt.Add(-soon)))
}

// isFresh reports whether the value can be handed out without the server.
func (e *entry) isFresh(now time.Time, changes int64) bool {
	return e.works(now) && now.Sub(e.checked) < fresh && e.changes == changes
}

// cached returns the credentials for a remote if no request is necessary for them. It never waits.
func (c *Cache) cached(match string) (out codersdk.ExternalAuthResponse, ok bool) {
	e := c.entry(match)
	if !e.busy.TryLock() {
		return out, false
	}
	defer e.busy.Unlock()
	return e.value, e.isFresh(c.now(), c.changes.Load())
}

// definite reports whether an error is the server's answer about the credentials, and not an outage.
func definite(err error) bool {
	switch codersdk.CodeOf(err) {
	case codersdk.CodeNotFound, codersdk.CodeForbidden, codersdk.CodeUnauthenticated, codersdk.CodeConflict, codersdk.CodeInvalid:
		return true
	}
	return false
}

// CredentialsPath is the path at which the agent's socket serves the cache.
const CredentialsPath = askpass.Path

// failure is the body of an error on the agent's socket.
type failure struct {
	Code    codersdk.Code `json:"code"`
	Message string        `json:"message"`
}

// ServeHTTP answers the program that git runs for credentials. A question, which is a prompt of git, is only
// answered from memory; package askpass describes that.
func (c *Cache) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if question := q.Get("question"); question != "" {
		c.serveAnswer(w, question)
		return
	}
	got, err := c.Get(r.Context(), q.Get("match"), q.Get("listen") == "true")
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(failure{codersdk.CodeOf(err), err.Error()}) // the program has ended
		return
	}
	_ = json.NewEncoder(w).Encode(got) // the program has ended
}

// serveAnswer answers a prompt of git, with the status 204 if a request to the server is necessary.
func (c *Cache) serveAnswer(w http.ResponseWriter, question string) {
	kind, remote, err := parsePrompt(question)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	got, ok := c.cached(remote.String())
	if !ok {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, answerOf(kind, got))
}
