// Package proxy is the use case of workspace proxies: servers elsewhere that
// people reach workspaces through. An owner makes one known and is given the
// token that it runs with, once. The proxy signs in with it, says where it
// stands, and again every half minute, so that the server knows its processes;
// when the last one says good-bye the proxy is unregistered and offered to
// nobody. Every registered proxy is asked at an interval how it does, by one of
// the servers that share the database, and what it answers is kept for everybody
// to see. (WP-01, WP-03, WP-04, WP-05)
package proxy

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// maxProxies bounds how many there may be.
const maxProxies = 100

// Answer is what came back from a proxy that was asked how it does.
type Answer struct {
	Status int
	Body   []byte // its beginning
}

// Config is what a Service needs.
type Config struct {
	Store *postgres.Store
	Log   *slog.Logger
	// ID, Version, AccessURL and Wildcard are the server itself, which is the
	// first of all proxies.
	ID        uuid.UUID
	Version   string
	AccessURL *url.URL
	Wildcard  string
	// Interval is how often a proxy is checked; 0 means a minute.
	Interval time.Duration
	// Fetch gets a page by HTTP; an error says that there was no answer.
	Fetch func(ctx context.Context, url string) (Answer, error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Service is the proxies of a deployment. It is safe for concurrent use; between
// Start and Stop it checks them.
type Service struct {
	c     Config
	began time.Time
	look  chan struct{} // somebody registered: a check may be due
	// origins are those that Origins gives.
	origins atomic.Pointer[[]string]
	lifecycle.Loop
}

// New gives a service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Interval <= 0 {
		c.Interval = time.Minute
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Service{c: c, began: c.Now(), look: make(chan struct{}, 1)}
	s.Run = s.watch
	return s
}

// may refuses an actor who may not do the action on proxies. That there are
// some is no secret.
func may(actor access.Subject, action coder.RBACAction, id uuid.UUID) error {
	if actor.Can(action, access.Object{Type: coder.RBACResourceWorkspaceProxy, ID: id}) {
		return nil
	}
	return coder.Errorf(coder.CodeForbidden, "You may not %s workspace proxies: it takes a role that may on the whole site", action)
}

// All gives the server itself and every proxy.
func (s *Service) All(ctx context.Context, actor access.Subject) ([]coder.WorkspaceProxy, error) {
	if err := may(actor, coder.RBACActionRead, uuid.Nil); err != nil {
		return nil, err
	}
	rows, err := s.c.Store.Proxies(ctx)
	if err != nil {
		return nil, err
	}
	out := []coder.WorkspaceProxy{s.primary()}
	for _, r := range rows {
		out = append(out, view(r))
	}
	return out, nil
}

// Regions gives where apps can be opened: at the server itself, and at every
// proxy that runs and serves apps. Everybody who is signed in may know.
func (s *Service) Regions(ctx context.Context) ([]coder.Region, error) {
	rows, err := s.c.Store.Proxies(ctx)
	if err != nil {
		return nil, err
	}
	all := []coder.WorkspaceProxy{s.primary()}
	for _, r := range rows {
		if r.AccessUrl != "" && !r.DerpOnly {
			all = append(all, view(r))
		}
	}
	out := make([]coder.Region, len(all))
	for i, p := range all {
		out[i] = coder.Region{
			ID: p.ID, Name: p.Name, DisplayName: p.DisplayName, IconURL: p.IconURL, Healthy: p.Healthy,
			PathAppURL: p.PathAppURL, WildcardHostname: p.WildcardHostname,
		}
	}
	return out, nil
}

// primary is the server itself, which is well when it can say so.
func (s *Service) primary() coder.WorkspaceProxy {
	return coder.WorkspaceProxy{
		ID: s.c.ID, Name: coder.PrimaryProxy, DisplayName: "Default", Healthy: true, DERPEnabled: true, Version: s.c.Version,
		CreatedAt: s.began, UpdatedAt: s.began, PathAppURL: s.c.AccessURL.String(), WildcardHostname: s.c.Wildcard,
		Status: coder.WorkspaceProxyStatus{CheckedAt: s.c.Now(), Status: coder.ProxyStatusOK, Report: coder.ProxyHealthReport{Errors: []string{}, Warnings: []string{}}},
	}
}

func view(r sqlc.WorkspaceProxy) coder.WorkspaceProxy {
	p := coder.WorkspaceProxy{
		ID: r.ID, Name: r.Name, DisplayName: r.DisplayName, IconURL: r.Icon, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Version: r.Version,
		DERPEnabled: r.DerpEnabled, DERPOnly: r.DerpOnly, PathAppURL: r.AccessUrl, WildcardHostname: r.WildcardHostname,
		Healthy: r.Status == string(coder.ProxyStatusOK),
		Status: coder.WorkspaceProxyStatus{
			Status: coder.ProxyStatus(r.Status), Report: coder.ProxyHealthReport{Errors: r.Errors, Warnings: r.Warnings},
		},
	}
	if r.CheckedAt != nil {
		p.Status.CheckedAt = *r.CheckedAt
	}
	return p
}

// One gives a proxy by its id or name.
func (s *Service) One(ctx context.Context, actor access.Subject, ref string) (coder.WorkspaceProxy, error) {
	r, err := s.find(ctx, s.c.Store.Queries, actor, coder.RBACActionRead, ref)
	if err != nil {
		return coder.WorkspaceProxy{}, err
	}
	return view(r), nil
}

func (s *Service) find(ctx context.Context, q *sqlc.Queries, actor access.Subject, action coder.RBACAction, ref string) (sqlc.WorkspaceProxy, error) {
	if err := may(actor, action, uuid.Nil); err != nil {
		return sqlc.WorkspaceProxy{}, err
	}
	if id, err := uuid.Parse(ref); err == nil {
		return q.ProxyByID(ctx, id)
	}
	return q.ProxyByName(ctx, ref)
}

// audited is what of a proxy goes into the audit log.
func audited(r sqlc.WorkspaceProxy) any {
	return struct {
		Name        string `json:"name"`
		DisplayName string `json:"display_name"`
		Icon        string `json:"icon"`
	}{r.Name, r.DisplayName, r.Icon}
}

func record(ctx context.Context, q *sqlc.Queries, actor access.Subject, action coder.AuditAction, r sqlc.WorkspaceProxy, d coder.AuditDiff) error {
	return audit.Record(ctx, q, actor, audit.Entry{
		Action: action, ResourceType: coder.ResourceTypeWorkspaceProxy, ResourceID: r.ID, Target: r.Name, Icon: r.Icon, Diff: d,
	})
}

// check refuses what a proxy cannot be called; a name that stays need not be good.
func check(r sqlc.WorkspaceProxy, named bool) error {
	if named {
		if err := coder.CheckProxyName("name", r.Name); err != nil {
			return err
		}
	}
	if err := coder.CheckIcon("icon", r.Icon); err != nil {
		return err
	}
	if strings.ContainsFunc(r.DisplayName, func(c rune) bool { return c < ' ' }) {
		return coder.Invalid("display_name", "no line breaks or other control characters")
	}
	return coder.CheckDisplayName("display_name", r.DisplayName)
}

func taken(err error, r sqlc.WorkspaceProxy) error {
	switch postgres.Constraint(err) {
	case "workspace_proxies_name":
		return &coder.Error{
			Code: coder.CodeConflict, Message: "A workspace proxy named \"" + r.Name + "\" exists already", Err: err,
			Fields: []coder.ValidationError{{Field: "name", Detail: "is taken"}},
		}
	case "workspace_proxies_access_url":
		return &coder.Error{
			Code: coder.CodeConflict, Message: "Another workspace proxy is registered at " + r.AccessUrl, Err: err,
			Detail: "each proxy has a token and an access URL of its own; several processes of one proxy share both",
			Fields: []coder.ValidationError{{Field: "access_url", Detail: "is taken"}},
		}
	}
	return err
}

// Create makes a proxy known and gives its token, which cannot be read again.
func (s *Service) Create(ctx context.Context, actor access.Subject, req coder.CreateWorkspaceProxyRequest) (coder.WorkspaceProxyToken, error) {
	var out coder.WorkspaceProxyToken
	if err := may(actor, coder.RBACActionCreate, uuid.Nil); err != nil {
		return out, err
	}
	r := sqlc.WorkspaceProxy{
		ID: uuid.New(), Name: req.Name, DisplayName: req.DisplayName, Icon: req.Icon, CreatedAt: s.c.Now(), UpdatedAt: s.c.Now(),
		Status: string(coder.ProxyStatusUnregistered), DerpEnabled: true, Errors: []string{}, Warnings: []string{},
	}
	if err := check(r, true); err != nil {
		return out, err
	}
	token, hash := newToken(r.ID)
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		n, err := q.ProxyInsert(ctx, sqlc.ProxyInsertParams{
			ID: r.ID, Name: r.Name, DisplayName: r.DisplayName, Icon: r.Icon, TokenHash: hash, Now: r.CreatedAt, Most: maxProxies,
		})
		if err != nil {
			return taken(err, r)
		}
		if n == 0 {
			return coder.Errorf(coder.CodeConflict, "There are %d workspace proxies already; delete one that is not needed", maxProxies)
		}
		return record(ctx, q, actor, coder.AuditActionCreate, r, audit.Diff(nil, audited(r)))
	})
	if err != nil {
		return out, err
	}
	return coder.WorkspaceProxyToken{WorkspaceProxy: view(r), Proxy: view(r), Token: token}, nil
}

// Update changes how a proxy is called and shown, and on request its token: the
// old one is good no more, and the new one is given this once.
func (s *Service) Update(ctx context.Context, actor access.Subject, ref string, req coder.PatchWorkspaceProxy) (coder.WorkspaceProxyToken, error) {
	var out coder.WorkspaceProxyToken
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		old, err := s.find(ctx, q, actor, coder.RBACActionUpdate, ref)
		if err != nil {
			return err
		}
		if req.ID != uuid.Nil && req.ID != old.ID {
			return coder.Invalid("id", "is that of another proxy than the address names")
		}
		if old, err = q.ProxyForUpdate(ctx, old.ID); err != nil {
			return err
		}
		now := old
		if req.Name != "" {
			now.Name = req.Name
		}
		now.DisplayName, now.Icon, now.UpdatedAt = req.DisplayName, req.Icon, s.c.Now()
		if err := check(now, now.Name != old.Name); err != nil {
			return err
		}
		diff, token := audit.Diff(audited(old), audited(now)), ""
		if req.RegenerateToken {
			token, now.TokenHash = newToken(old.ID)
			diff["token"] = coder.AuditDiffField{Old: "", New: "", Secret: true}
		}
		if len(diff) == 0 {
			out.WorkspaceProxy, out.Proxy = view(old), view(old)
			return nil
		}
		if err := q.ProxyUpdate(ctx, sqlc.ProxyUpdateParams{
			ID: old.ID, Name: now.Name, DisplayName: now.DisplayName, Icon: now.Icon, TokenHash: now.TokenHash, Now: now.UpdatedAt,
		}); err != nil {
			return taken(err, now)
		}
		out = coder.WorkspaceProxyToken{WorkspaceProxy: view(now), Proxy: view(now), Token: token}
		return record(ctx, q, actor, coder.AuditActionWrite, now, diff)
	})
	return out, err
}

// Delete makes a proxy unknown: its token is good no more.
func (s *Service) Delete(ctx context.Context, actor access.Subject, ref string) error {
	return s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		r, err := s.find(ctx, q, actor, coder.RBACActionDelete, ref)
		if err != nil {
			return err
		}
		if r, err = q.ProxyForUpdate(ctx, r.ID); err != nil {
			return err
		}
		if err := q.ProxyDelete(ctx, r.ID); err != nil {
			return err
		}
		return record(ctx, q, actor, coder.AuditActionDelete, r, audit.Diff(audited(r), nil))
	})
}
