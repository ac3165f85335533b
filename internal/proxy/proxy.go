// Package proxy manages workspace proxies: servers in other locations through which users reach
// workspaces. An owner creates a proxy and gets its token once. The proxy authenticates with it and
// registers each of its processes every 30 seconds. When the last process deregisters, the proxy is
// unregistered and no longer offered to users. One of the servers that share the database checks the
// health of every registered proxy at an interval and stores the result. (WP-01, WP-03, WP-04, WP-05)
package proxy

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// maxProxies is the maximum number of proxies.
const maxProxies = 100

// Answer is the response of a proxy to a health check.
type Answer struct {
	Status int
	Body   []byte // the first bytes
}

// Config configures a Service.
type Config struct {
	Store *postgres.Store
	Log   *slog.Logger
	// ID, Version, AccessURL and Wildcard describe the server itself, which is the first
	// proxy in lists.
	ID        uuid.UUID
	Version   string
	AccessURL *url.URL
	Wildcard  string
	// Interval is the time between two checks of a proxy; 0 means one minute.
	Interval time.Duration
	// Fetch sends a GET request; an error means that there was no response.
	Fetch func(ctx context.Context, url string) (Answer, error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Service manages the proxies of a deployment. It is safe for concurrent use. Between Start and Stop it
// checks them.
type Service struct {
	c     Config
	began time.Time
	look  chan struct{} // signaled by registrations, because a check may be due
	// origins is the result of Origins.
	origins atomic.Pointer[[]string]
	lifecycle.Loop
}

// New returns a Service.
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

// may returns an error unless the actor can do the action on proxies. The existence of proxies is not
// secret.
func may(actor access.Subject, action codersdk.RBACAction, id uuid.UUID) error {
	if actor.Can(action, access.Object{Type: codersdk.RBACResourceWorkspaceProxy, ID: id}) {
		return nil
	}
	return codersdk.Errorf(codersdk.CodeForbidden, "You do not have permission to %s workspace proxies; it requires a site role", action)
}

// All returns the server itself and every proxy.
func (s *Service) All(ctx context.Context, actor access.Subject) ([]codersdk.WorkspaceProxy, error) {
	if err := may(actor, codersdk.RBACActionRead, uuid.Nil); err != nil {
		return nil, err
	}
	rows, err := s.c.Store.Proxies(ctx)
	if err != nil {
		return nil, err
	}
	out := []codersdk.WorkspaceProxy{s.primary()}
	for _, r := range rows {
		out = append(out, view(r))
	}
	return out, nil
}

// Regions returns the servers through which apps can be opened: this server, and every running proxy that
// serves apps. Every signed-in user can read it.
func (s *Service) Regions(ctx context.Context) ([]codersdk.Region, error) {
	rows, err := s.c.Store.Proxies(ctx)
	if err != nil {
		return nil, err
	}
	all := []codersdk.WorkspaceProxy{s.primary()}
	for _, r := range rows {
		if r.AccessUrl != "" && !r.DerpOnly {
			all = append(all, view(r))
		}
	}
	out := make([]codersdk.Region, len(all))
	for i, p := range all {
		out[i] = codersdk.Region{
			ID: p.ID, Name: p.Name, DisplayName: p.DisplayName, IconURL: p.IconURL, Healthy: p.Healthy,
			PathAppURL: p.PathAppURL, WildcardHostname: p.WildcardHostname,
		}
	}
	return out, nil
}

// Relays returns the healthy proxies that relay tunnels, without tokens.
func (s *Service) Relays(ctx context.Context) ([]codersdk.TunnelProxy, error) {
	rows, err := s.c.Store.Proxies(ctx)
	if err != nil {
		return nil, err
	}
	var out []codersdk.TunnelProxy
	for _, r := range rows {
		if r.AccessUrl != "" && r.DerpEnabled && codersdk.ProxyStatus(r.Status) == codersdk.ProxyStatusOK {
			out = append(out, codersdk.TunnelProxy{ID: r.ID, Name: r.Name, URL: r.AccessUrl})
		}
	}
	return out, nil
}

// primary returns the entry of the server itself, which is always healthy.
func (s *Service) primary() codersdk.WorkspaceProxy {
	return codersdk.WorkspaceProxy{
		ID: s.c.ID, Name: codersdk.PrimaryProxy, DisplayName: "Default", Healthy: true, DERPEnabled: true, Version: s.c.Version,
		CreatedAt: s.began, UpdatedAt: s.began, PathAppURL: s.c.AccessURL.String(), WildcardHostname: s.c.Wildcard,
		Status: codersdk.WorkspaceProxyStatus{
			CheckedAt: s.c.Now(),
			Status:    codersdk.ProxyStatusOK,
			Report:    codersdk.ProxyHealthReport{Errors: []string{}, Warnings: []string{}},
		},
	}
}

func view(r sqlc.WorkspaceProxy) codersdk.WorkspaceProxy {
	p := codersdk.WorkspaceProxy{
		ID: r.ID, Name: r.Name, DisplayName: r.DisplayName, IconURL: r.Icon, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Version: r.Version,
		DERPEnabled: r.DerpEnabled, DERPOnly: r.DerpOnly, PathAppURL: r.AccessUrl, WildcardHostname: r.WildcardHostname,
		Healthy: r.Status == string(codersdk.ProxyStatusOK),
		Status: codersdk.WorkspaceProxyStatus{
			Status: codersdk.ProxyStatus(r.Status), Report: codersdk.ProxyHealthReport{Errors: r.Errors, Warnings: r.Warnings},
		},
	}
	if r.CheckedAt != nil {
		p.Status.CheckedAt = *r.CheckedAt
	}
	return p
}

// One returns a proxy by ID or name.
func (s *Service) One(ctx context.Context, actor access.Subject, ref string) (codersdk.WorkspaceProxy, error) {
	r, err := s.find(ctx, s.c.Store.Queries, actor, codersdk.RBACActionRead, ref)
	if err != nil {
		return codersdk.WorkspaceProxy{}, err
	}
	return view(r), nil
}

func (s *Service) find(ctx context.Context, q *sqlc.Queries, actor access.Subject, action codersdk.RBACAction, ref string) (sqlc.WorkspaceProxy, error) {
	if err := may(actor, action, uuid.Nil); err != nil {
		return sqlc.WorkspaceProxy{}, err
	}
	if id, err := uuid.Parse(ref); err == nil {
		return q.ProxyByID(ctx, id)
	}
	return q.ProxyByName(ctx, ref)
}

// audited are the audited fields of a proxy.
func audited(r sqlc.WorkspaceProxy) any {
	return struct {
		Name        string `json:"name"`
		DisplayName string `json:"display_name"`
		Icon        string `json:"icon"`
	}{r.Name, r.DisplayName, r.Icon}
}

func record(ctx context.Context, q *sqlc.Queries, actor access.Subject, action codersdk.AuditAction, r sqlc.WorkspaceProxy, d codersdk.AuditDiff) error {
	return audit.Record(ctx, q, actor, audit.Entry{
		Action: action, ResourceType: codersdk.ResourceTypeWorkspaceProxy, ResourceID: r.ID, Target: r.Name, Icon: r.Icon, Diff: d,
	})
}

// check checks the name of a proxy; an unchanged name is not checked.
func check(r sqlc.WorkspaceProxy, named bool) error {
	if named {
		if err := codersdk.CheckProxyName("name", r.Name); err != nil {
			return err
		}
	}
	if err := codersdk.CheckIcon("icon", r.Icon); err != nil {
		return err
	}
	if strings.ContainsFunc(r.DisplayName, func(c rune) bool { return c < ' ' }) {
		return codersdk.Invalid("display_name", "must not contain line breaks or other control characters")
	}
	return codersdk.CheckDisplayName("display_name", r.DisplayName)
}

func taken(err error, r sqlc.WorkspaceProxy) error {
	switch postgres.Constraint(err) {
	case "workspace_proxies_name":
		return &codersdk.Error{
			Code: codersdk.CodeConflict, Message: "A workspace proxy named \"" + r.Name + "\" already exists", Err: err,
			Fields: []codersdk.ValidationError{{Field: "name", Detail: "is taken"}},
		}
	case "workspace_proxies_access_url":
		return &codersdk.Error{
			Code: codersdk.CodeConflict, Message: "Another workspace proxy is registered at " + r.AccessUrl, Err: err,
			Detail: "every proxy needs its own token and access URL; the processes of one proxy share both",
			Fields: []codersdk.ValidationError{{Field: "access_url", Detail: "is taken"}},
		}
	}
	return err
}

// Create creates a proxy and returns its token, which cannot be read again.
func (s *Service) Create(ctx context.Context, actor access.Subject, req codersdk.CreateWorkspaceProxyRequest) (codersdk.WorkspaceProxyToken, error) {
	var out codersdk.WorkspaceProxyToken
	if err := may(actor, codersdk.RBACActionCreate, uuid.Nil); err != nil {
		return out, err
	}
	r := sqlc.WorkspaceProxy{
		ID: uuid.New(), Name: req.Name, DisplayName: req.DisplayName, Icon: req.Icon, CreatedAt: s.c.Now(), UpdatedAt: s.c.Now(),
		Status: string(codersdk.ProxyStatusUnregistered), DerpEnabled: true, Errors: []string{}, Warnings: []string{},
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
			return codersdk.Errorf(codersdk.CodeConflict, "There are already %d workspace proxies, which is the maximum; delete one first", maxProxies)
		}
		return record(ctx, q, actor, codersdk.AuditActionCreate, r, audit.Diff(nil, audited(r)))
	})
	if err != nil {
		return out, err
	}
	return codersdk.WorkspaceProxyToken{WorkspaceProxy: view(r), Proxy: view(r), Token: token}, nil
}

// Update changes the names of a proxy and, on request, its token. The old token is revoked and the new
// token is returned once.
func (s *Service) Update(ctx context.Context, actor access.Subject, ref string, req codersdk.PatchWorkspaceProxy) (codersdk.WorkspaceProxyToken, error) {
	var out codersdk.WorkspaceProxyToken
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		old, err := s.find(ctx, q, actor, codersdk.RBACActionUpdate, ref)
		if err != nil {
			return err
		}
		if req.ID != uuid.Nil && req.ID != old.ID {
			return codersdk.Invalid("id", "does not match the proxy in the URL")
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
			diff["token"] = codersdk.AuditDiffField{Old: "", New: "", Secret: true}
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
		out = codersdk.WorkspaceProxyToken{WorkspaceProxy: view(now), Proxy: view(now), Token: token}
		return record(ctx, q, actor, codersdk.AuditActionWrite, now, diff)
	})
	return out, err
}

// Delete deletes a proxy and revokes its token.
func (s *Service) Delete(ctx context.Context, actor access.Subject, ref string) error {
	return s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		r, err := s.find(ctx, q, actor, codersdk.RBACActionDelete, ref)
		if err != nil {
			return err
		}
		if r, err = q.ProxyForUpdate(ctx, r.ID); err != nil {
			return err
		}
		if err := q.ProxyDelete(ctx, r.ID); err != nil {
			return err
		}
		return record(ctx, q, actor, codersdk.AuditActionDelete, r, audit.Diff(audited(r), nil))
	})
}
