// Package coderclient calls the REST API of control planes for the operator,
// with a token, and rarely. What many resources need to know about one
// organization is read once and shared, so that five hundred pools cause no
// more requests than one. One stream of hints per server reports when to read
// again.
package coderclient

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// callTimeout bounds one call, fresh is the maximum age of keys that decisions
// are based on, and maxViews bounds the cache.
const (
	callTimeout = 20 * time.Second
	fresh       = 500 * time.Millisecond
	maxViews    = 4096
)

// Access is a server and the operator's credentials. Authorities are CA
// certificates as PEM that are trusted in addition to the system's.
type Access struct{ URL, Token, Authorities string }

// Place is an organization, by name, of a server.
type Place struct {
	Access       Access
	Organization string
}

// Sites caches views of the servers. Use New to create one. It is safe for
// concurrent use.
type Sites struct {
	http    *http.Client
	now     func() time.Time
	spacing time.Duration // between two hints of a stream; failures are cached as long
	wanted  chan *stream  // streams for Start to begin
	changed chan Place

	mu      sync.Mutex
	views   map[Place]*entry
	streams map[Access]*stream
	trusted map[string]*http.Client // by authorities
	known   map[string]string       // the last accepted token, by server URL
	// limited are the tokens that may not bypass the rate limit.
	limited map[Access]bool
}

// New returns Sites that call servers with h; nil means http.DefaultClient.
// spacing is the minimum interval between two hints of a server, and between
// two calls of a failing server; zero means 5 seconds.
func New(h *http.Client, spacing time.Duration) *Sites {
	if h == nil {
		h = http.DefaultClient
	}
	if spacing <= 0 {
		spacing = 5 * time.Second
	}
	return &Sites{
		http: h, now: time.Now, spacing: spacing, wanted: make(chan *stream, 64), changed: make(chan Place, maxViews),
		views: map[Place]*entry{}, streams: map[Access]*stream{}, trusted: map[string]*http.Client{}, known: map[string]string{}, limited: map[Access]bool{},
	}
}

type entry struct {
	hinted atomic.Bool // changed since it was read
	mu     sync.Mutex  // held while reading, so that one read serves all waiters
	at     time.Time
	view   View
	err    error
	// keysAt is when the keys of the view were read, if later than the rest.
	keysAt time.Time
}

// View is the state of an organization, as last read.
type View struct {
	Organization codersdk.Organization
	Keys         []codersdk.ProvisionerKey
	Daemons      []codersdk.ProvisionerDaemon
	Queue        codersdk.ProvisionerQueue
	// At is the time at which it was read.
	At time.Time
}

// Client returns a client of a server.
func (s *Sites) Client(a Access) (*codersdk.Client, error) {
	u, err := url.Parse(a.URL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, codersdk.Invalid("url", "%q is not a server URL such as https://coder.example.com", a.URL)
	}
	c := codersdk.New(u)
	c.SessionToken = a.Token
	if c.HTTP, err = s.trust(a.Authorities); err != nil {
		return nil, err
	}
	// The operator acts for a whole cluster, and owners may bypass the rate
	// limit of one user. Other tokens may not; see read.
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.limited[a] {
		c.Header = http.Header{"X-Coder-Bypass-Ratelimit": {"true"}}
	}
	return c, nil
}

func (s *Sites) entry(k Place) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.views[k]
	if e == nil {
		if len(s.views) >= maxViews {
			clear(s.views)
		}
		e = &entry{}
		s.views[k] = e
	}
	return e
}

// View returns an organization as it was at most maxAge ago, or as it is now if
// a stream reported a change. A failure is cached for a few seconds, so that
// many resources do not overload a failing server. CodeNotFound means that the
// organization does not exist.
func (s *Sites) View(ctx context.Context, p Place, maxAge time.Duration) (View, error) {
	e := s.entry(p)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		maxAge = min(maxAge, s.spacing)
	}
	hinted := e.err == nil && e.hinted.Load()
	if !hinted && !e.at.IsZero() && s.now().Sub(e.at) < maxAge {
		return e.view, e.err
	}
	e.hinted.Store(false)
	e.view, e.err = s.read(ctx, p.Access, p.Organization)
	e.at = s.now()
	e.view.At, e.keysAt = e.at, e.at
	if e.err == nil {
		s.follow(p, e.view.Organization.ID)
	}
	return e.view, e.err
}

// limit records that a token may not bypass the rate limit.
func (s *Sites) limit(a Access) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limited[a] = true
}

// Token returns the last token that a server accepted, or "". It allows cleanup
// after the Secret with the token was deleted.
func (s *Sites) Token(url string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[url]
}

// Keys returns the view of an organization with its keys as they were at most
// half a second ago, to base decisions on.
func (s *Sites) Keys(ctx context.Context, p Place, v View) (View, error) {
	e := s.entry(p)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil && !e.at.IsZero() && s.now().Sub(e.keysAt) < fresh {
		return e.view, nil
	}
	c, err := s.Client(p.Access)
	if err != nil {
		return v, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	keys, err := c.ProvisionerKeys(ctx, v.Organization.ID.String())
	if err != nil {
		return v, err
	}
	if e.err != nil || e.at.IsZero() {
		e.view, e.err, e.at = v, nil, v.At
	}
	e.view.Keys, e.keysAt = keys, s.now()
	return e.view, nil
}

// KeysOf returns the keys of an organization, by id, as they are now.
func (s *Sites) KeysOf(ctx context.Context, a Access, organization string) ([]codersdk.ProvisionerKey, error) {
	c, err := s.Client(a)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	keys, err := c.ProvisionerKeys(ctx, organization)
	if codersdk.Is(err, codersdk.CodePrecondition) {
		s.limit(a)
		c.Header = nil
		keys, err = c.ProvisionerKeys(ctx, organization)
	}
	return keys, err
}

// Retiring reports whether the last view of an organization had replaced keys
// of the name.
func (s *Sites) Retiring(p Place, name string) bool {
	e := s.entry(p)
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.view.Replaced(name)) > 0
}

// noteKeys stores the keys that a change returned.
func (s *Sites) noteKeys(p Place, keys []codersdk.ProvisionerKey) {
	e := s.entry(p)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.view.Keys, e.keysAt = keys, s.now()
}

// addKey adds a new key to the shared view of an organization, which is v if
// there is none, and returns the keys. Listing them instead would make the cost
// of many new pools quadratic.
func (s *Sites) addKey(p Place, v View, k codersdk.ProvisionerKey) []codersdk.ProvisionerKey {
	e := s.entry(p)
	e.mu.Lock()
	defer e.mu.Unlock()
	keys := v.Keys
	if e.err == nil && !e.at.IsZero() {
		keys = e.view.Keys
	}
	if !slices.ContainsFunc(keys, func(have codersdk.ProvisionerKey) bool { return have.ID == k.ID }) {
		keys = append(slices.Clip(keys), k) // other views share the array
	}
	if e.err == nil && !e.at.IsZero() {
		e.view.Keys = keys
	}
	return keys
}

// Forget makes the next View of an organization read again.
func (s *Sites) Forget(p Place) { s.entry(p).hinted.Store(true) }

func (s *Sites) read(ctx context.Context, a Access, organization string) (View, error) {
	var v View
	c, err := s.Client(a)
	if err != nil {
		return v, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	v.Organization, err = c.Organization(ctx, organization)
	if codersdk.Is(err, codersdk.CodePrecondition) {
		s.limit(a)
		c.Header = nil
		v.Organization, err = c.Organization(ctx, organization)
	}
	if err != nil {
		return v, err
	}
	id := v.Organization.ID.String()
	if v.Keys, err = c.ProvisionerKeys(ctx, id); err != nil {
		return v, err
	}
	v.Daemons, err = pages(func(q url.Values) ([]codersdk.ProvisionerDaemon, error) { return c.ProvisionerDaemons(ctx, id, q) },
		func(d codersdk.ProvisionerDaemon) uuid.UUID { return d.ID })
	if err != nil {
		return v, err
	}
	v.Queue.TagSets, err = pages(func(q url.Values) ([]codersdk.ProvisionerQueueTagSet, error) {
		one, err := c.ProvisionerQueue(ctx, id, q)
		return one.TagSets, err
	}, func(s codersdk.ProvisionerQueueTagSet) string { return fmt.Sprint(s.Tags) })
	// A server without this call has an unknown queue.
	if codersdk.Is(err, codersdk.CodeNotFound) {
		err = nil
	}
	return v, err
}

// pages reads a list page by page, at most maxPages. A server that ignores the
// offset returns the first page again, which is detected by the id of its first
// row.
func pages[T any, K comparable](read func(url.Values) ([]T, error), id func(T) K) ([]T, error) {
	const size, maxPages = 1000, 16
	var all []T
	for page := range maxPages {
		rows, err := read(url.Values{"limit": {strconv.Itoa(size)}, "offset": {strconv.Itoa(page * size)}})
		if err != nil || page > 0 && len(rows) > 0 && id(rows[0]) == id(all[0]) {
			return all, err
		}
		all = append(all, rows...)
		if len(rows) < size {
			break
		}
	}
	return all, nil
}

// Current returns the key of a name that is not replaced, or nil.
func (v View) Current(name string) *codersdk.ProvisionerKey {
	for i, k := range v.Keys {
		if strings.EqualFold(k.Name, name) && k.ReplacedAt == nil {
			return &v.Keys[i]
		}
	}
	return nil
}

// Replaced returns the replaced keys of a name.
func (v View) Replaced(name string) []codersdk.ProvisionerKey {
	var out []codersdk.ProvisionerKey
	for _, k := range v.Keys {
		if strings.EqualFold(k.Name, name) && k.ReplacedAt != nil {
			out = append(out, k)
		}
	}
	return out
}

// Connected returns the provisioners that are connected with a key.
func (v View) Connected(key uuid.UUID) []codersdk.ProvisionerDaemon {
	var out []codersdk.ProvisionerDaemon
	for _, d := range v.Daemons {
		if d.KeyID == key && d.Status != codersdk.ProvisionerDaemonStatusOffline {
			out = append(out, d)
		}
	}
	return out
}

// KeyRequest describes a provisioner key.
type KeyRequest struct {
	Name    string
	Tags    map[string]string
	Replace bool          // the key of that name is rotated
	Grace   time.Duration // for which a rotated key remains valid
}

// NewKey creates or rotates a provisioner key. It returns the secret, and the
// view with the key.
func (s *Sites) NewKey(ctx context.Context, p Place, v View, req KeyRequest) (string, View, error) {
	c, err := s.Client(p.Access)
	if err != nil {
		return "", v, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	id := v.Organization.ID.String()
	var secret string
	if req.Replace {
		out, err := c.RotateProvisionerKey(ctx, id, req.Name, codersdk.RotateProvisionerKeyRequest{
			GraceSeconds: int64(req.Grace / time.Second), Tags: req.Tags, ReplaceTags: true,
		})
		if err != nil {
			return "", v, err
		}
		secret = out.Key
	} else {
		out, err := c.CreateProvisionerKey(ctx, id, codersdk.CreateProvisionerKeyRequest{Name: req.Name, Tags: req.Tags})
		if err != nil {
			return "", v, err
		}
		if out.ProvisionerKey != nil {
			v.Keys = s.addKey(p, v, *out.ProvisionerKey)
			return out.Key, v, nil
		}
		secret = out.Key
	}
	keys, err := c.ProvisionerKeys(ctx, id)
	if err != nil {
		return "", v, err
	}
	v.Keys = keys
	s.noteKeys(p, keys)
	if v.Current(req.Name) == nil {
		return "", v, codersdk.Errorf(codersdk.CodeConflict, "the key %q was deleted right after it was created", req.Name)
	}
	return secret, v, nil
}

// DeleteKey deletes a key by id. A key that does not exist is not an error.
func (s *Sites) DeleteKey(ctx context.Context, a Access, organization, id string) error {
	c, err := s.Client(a)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := c.DeleteProvisionerKey(ctx, organization, id); !codersdk.Is(err, codersdk.CodeNotFound) {
		return err
	}
	return nil
}
