// Package remote is how the operator speaks to control planes: by their REST
// API, with a token, and seldom. What many resources want to know of one
// organization is asked once and shared among them, so that a server with five
// hundred pools is asked no more often than one with one.
package remote

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
)

// callTimeout bounds one call, failureAge how long a failure is an answer, and
// maxViews what is remembered.
const (
	callTimeout = 20 * time.Second
	failureAge  = 5 * time.Second
	maxViews    = 4096
)

// Access is a server and who the operator is to it.
type Access struct{ URL, Token string }

// Sites knows the servers. The zero value is not usable; see New. It is safe
// for concurrent use.
type Sites struct {
	http *http.Client
	now  func() time.Time

	mu    sync.Mutex
	views map[viewKey]*entry
	known map[string]string // the last token that a server took, by its URL
}

// New makes Sites that call by h; nil is http.DefaultClient.
func New(h *http.Client) *Sites {
	return &Sites{http: h, now: time.Now, views: map[viewKey]*entry{}, known: map[string]string{}}
}

type viewKey struct {
	access       Access
	organization string
}

type entry struct {
	mu   sync.Mutex // held while it is read, so that one read serves all who wait
	at   time.Time
	view View
	err  error
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
	c.SessionToken, c.HTTP = a.Token, s.http
	return c, nil
}

// View gives an organization by its name, as it was at most maxAge ago. A
// failure is kept for a few seconds, so that a server in need is not asked by every
// resource; coder.CodeNotFound says that there is no such organization.
func (s *Sites) View(ctx context.Context, a Access, organization string, maxAge time.Duration) (View, error) {
	k := viewKey{a, organization}
	s.mu.Lock()
	e := s.views[k]
	if e == nil {
		if len(s.views) >= maxViews {
			clear(s.views)
		}
		e = &entry{}
		s.views[k] = e
	}
	s.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		maxAge = min(maxAge, failureAge)
	}
	if !e.at.IsZero() && s.now().Sub(e.at) < maxAge {
		return e.view, e.err
	}
	e.view, e.err = s.read(ctx, a, organization)
	e.at = s.now()
	e.view.At = e.at
	if e.err == nil {
		s.mu.Lock()
		s.known[a.URL] = a.Token
		s.mu.Unlock()
	}
	return e.view, e.err
}

// Token gives the last token that a server took, "" when none is known: what
// is needed to clean up when the Secret with it went first.
func (s *Sites) Token(url string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[url]
}

// Forget makes the next View of an organization a fresh one.
func (s *Sites) Forget(a Access, organization string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.views, viewKey{a, organization})
}

func (s *Sites) read(ctx context.Context, a Access, organization string) (View, error) {
	var v View
	c, err := s.Client(a)
	if err != nil {
		return v, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if v.Organization, err = c.Organization(ctx, organization); err != nil {
		return v, err
	}
	id := v.Organization.ID.String()
	if v.Keys, err = c.ProvisionerKeys(ctx, id); err != nil {
		return v, err
	}
	if v.Daemons, err = c.ProvisionerDaemons(ctx, id, url.Values{"limit": {"1000"}}); err != nil {
		return v, err
	}
	// A server that has no such call is one whose queue is not known.
	if v.Queue, err = c.ProvisionerQueue(ctx, id, url.Values{"limit": {"1000"}}); coder.Is(err, coder.CodeNotFound) {
		v.Queue, err = coder.ProvisionerQueue{}, nil
	}
	return v, err
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
// old one stays good for the grace then. It gives the secret and the key.
func (s *Sites) NewKey(ctx context.Context, a Access, organization coder.Organization, name string, tags map[string]string, replace bool, grace time.Duration) (string, coder.ProvisionerKey, error) {
	c, err := s.Client(a)
	if err != nil {
		return "", coder.ProvisionerKey{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	id := organization.ID.String()
	secret := ""
	if replace {
		out, err := c.RotateProvisionerKey(ctx, id, name, coder.RotateProvisionerKeyRequest{GraceSeconds: int64(grace / time.Second), Tags: tags, ReplaceTags: true})
		if err != nil {
			return "", coder.ProvisionerKey{}, err
		}
		secret = out.Key
	} else {
		out, err := c.CreateProvisionerKey(ctx, id, coder.CreateProvisionerKeyRequest{Name: name, Tags: tags})
		if err != nil {
			return "", coder.ProvisionerKey{}, err
		}
		secret = out.Key
	}
	keys, err := c.ProvisionerKeys(ctx, id)
	if err != nil {
		return "", coder.ProvisionerKey{}, err
	}
	k := View{Keys: keys}.Current(name)
	if k == nil {
		return "", coder.ProvisionerKey{}, coder.Errorf(coder.CodeConflict, "the key %q was deleted as soon as it was made", name)
	}
	return secret, *k, nil
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
