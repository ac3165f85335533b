// Package remote is how the operator speaks to control planes: by their REST
// API, with a token, and seldom. What many resources want to know of one
// organization is asked once and shared among them, so that a server with five
// hundred pools is asked no more often than one with one; and one stream of
// hints per server says when it is worth asking again.
package remote

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
)

// callTimeout bounds one call, fresh is how old keys may be that are acted by,
// maxViews bounds what is remembered.
const (
	callTimeout = 20 * time.Second
	fresh       = 500 * time.Millisecond
	maxViews    = 4096
)

// Access is a server and who the operator is to it. Authorities are those that
// its certificate may be of, beside the system's, as PEM.
type Access struct{ URL, Token, Authorities string }

// Place is an organization, by its name, at a server.
type Place struct {
	Access       Access
	Organization string
}

// Sites knows the servers. The zero value is not usable; see New. It is safe
// for concurrent use.
type Sites struct {
	http    *http.Client
	now     func() time.Time
	spacing time.Duration // between two hints of a stream; so long is a failure an answer
	wanted  chan *stream  // those that Start is to begin
	changed chan Place

	mu      sync.Mutex
	views   map[Place]*entry
	streams map[Access]*stream
	trusted map[string]*http.Client // by the authorities
	known   map[string]string       // the last token that a server took, by its URL
	// limited are those that may not ask for no limit of their rate.
	limited map[Access]bool
}

// New makes Sites that call by h; nil is http.DefaultClient. spacing is the
// least time between two hints that something changed at a server, and between
// two calls of one that fails; zero is 5 seconds.
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
	hinted atomic.Bool // something changed since it was read
	mu     sync.Mutex  // held while it is read, so that one read serves all who wait
	at     time.Time
	view   View
	err    error
	// keysAt is when the keys of the view were read, if later than the rest.
	keysAt time.Time
}

// View is an organization as the operator sees it.
type View struct {
	Organization coder.Organization
	Keys         []coder.ProvisionerKey
	Daemons      []coder.ProvisionerDaemon
	Queue        coder.ProvisionerQueue
	// At is when it was read.
	At time.Time
}

// Client gives a client of a server.
func (s *Sites) Client(a Access) (*client.Client, error) {
	u, err := url.Parse(a.URL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, coder.Invalid("url", "%q is not the URL of a server, such as https://coder.example.com", a.URL)
	}
	c := client.New(u)
	c.SessionToken = a.Token
	if c.HTTP, err = s.trust(a.Authorities); err != nil {
		return nil, err
	}
	// The operator speaks for all of a cluster, and an owner need not keep to the
	// rate of one person. Other tokens may not ask for that; see read.
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

// View gives an organization as it was at most maxAge ago, and read anew since a
// stream said that it changed. A failure is kept for a few seconds, so that a server in need is not asked by every
// resource; coder.CodeNotFound says that there is no such organization.
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

// limit notes that a token may not ask for no limit of its rate.
func (s *Sites) limit(a Access) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limited[a] = true
}

// Token gives the last token that a server took, "" when none is known: what
// is needed to clean up when the Secret with it went first.
func (s *Sites) Token(url string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[url]
}

// Keys gives the view of an organization with its keys as they are now, or
// were half a second ago: to act by.
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

// Retiring says whether, when an organization was last read, there were keys of
// a name that a newer one took the place of.
func (s *Sites) Retiring(p Place, name string) bool {
	e := s.entry(p)
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.view.Replaced(name)) > 0
}

// noteKeys takes over what a change of keys found there.
func (s *Sites) noteKeys(p Place, keys []coder.ProvisionerKey) {
	e := s.entry(p)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.view.Keys, e.keysAt = keys, s.now()
}

// Forget makes the next View of an organization a fresh one.
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
	if coder.Is(err, coder.CodePrecondition) {
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
	v.Daemons, err = pages(func(q url.Values) ([]coder.ProvisionerDaemon, error) { return c.ProvisionerDaemons(ctx, id, q) }, func(d coder.ProvisionerDaemon) uuid.UUID { return d.ID })
	if err != nil {
		return v, err
	}
	v.Queue.TagSets, err = pages(func(q url.Values) ([]coder.ProvisionerQueueTagSet, error) {
		one, err := c.ProvisionerQueue(ctx, id, q)
		return one.TagSets, err
	}, func(s coder.ProvisionerQueueTagSet) string { return fmt.Sprint(s.Tags) })
	// A server that has no such call is one whose queue is not known.
	if coder.Is(err, coder.CodeNotFound) {
		err = nil
	}
	return v, err
}

// pages reads a list page by page, and no more than maxPages of it. A server
// that knows no offset gives the first page again, by the id of its first row.
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

// Current gives the key of a name that is not replaced, nil when there is none.
func (v View) Current(name string) *coder.ProvisionerKey {
	for i, k := range v.Keys {
		if strings.EqualFold(k.Name, name) && k.ReplacedAt == nil {
			return &v.Keys[i]
		}
	}
	return nil
}

// Replaced gives the keys of a name that a newer one took the place of.
func (v View) Replaced(name string) []coder.ProvisionerKey {
	var out []coder.ProvisionerKey
	for _, k := range v.Keys {
		if strings.EqualFold(k.Name, name) && k.ReplacedAt != nil {
			out = append(out, k)
		}
	}
	return out
}

// Connected gives the provisioners that are there by a key.
func (v View) Connected(key uuid.UUID) []coder.ProvisionerDaemon {
	var out []coder.ProvisionerDaemon
	for _, d := range v.Daemons {
		if d.KeyID == key && d.Status != coder.ProvisionerDaemonStatusOffline {
			out = append(out, d)
		}
	}
	return out
}

// NewKey makes a provisioner key, or a new one under its name when replace; the
// old one stays good for the grace then. It gives the secret, and the view with
// the key.
func (s *Sites) NewKey(ctx context.Context, p Place, v View, name string, tags map[string]string, replace bool, grace time.Duration) (string, View, error) {
	c, err := s.Client(p.Access)
	if err != nil {
		return "", v, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	id := v.Organization.ID.String()
	secret := ""
	if replace {
		out, err := c.RotateProvisionerKey(ctx, id, name, coder.RotateProvisionerKeyRequest{GraceSeconds: int64(grace / time.Second), Tags: tags, ReplaceTags: true})
		if err != nil {
			return "", v, err
		}
		secret = out.Key
	} else {
		out, err := c.CreateProvisionerKey(ctx, id, coder.CreateProvisionerKeyRequest{Name: name, Tags: tags})
		if err != nil {
			return "", v, err
		}
		secret = out.Key
	}
	keys, err := c.ProvisionerKeys(ctx, id)
	if err != nil {
		return "", v, err
	}
	v.Keys = keys
	s.noteKeys(p, keys)
	if v.Current(name) == nil {
		return "", v, coder.Errorf(coder.CodeConflict, "the key %q was deleted as soon as it was made", name)
	}
	return secret, v, nil
}

// DeleteKey deletes one key by its id; that it is gone already is no failure.
func (s *Sites) DeleteKey(ctx context.Context, a Access, organization, id string) error {
	c, err := s.Client(a)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := c.DeleteProvisionerKey(ctx, organization, id); !coder.Is(err, coder.CodeNotFound) {
		return err
	}
	return nil
}
