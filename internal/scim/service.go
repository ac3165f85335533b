package scim

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Config configures a Service.
type Config struct {
	Store         *postgres.Store
	Identity      *identity.Service
	Organizations *organization.Service
	Hub           *notify.Hub // receives changes, for open pages; nil notifies nobody
	Log           *slog.Logger
	Now           func() time.Time // nil: time.Now
	// Key is the value that the provider sends; "" refuses all requests.
	Key string
	// CountFailure counts a failed attempt from an address; nil counts nothing. An error refuses the attempt.
	CountFailure func(context.Context, netip.Addr) error
	// URL is the address of the endpoints, without a slash at the end.
	URL string
}

// Service implements SCIM. It is safe for concurrent use.
type Service struct {
	c   Config
	key [sha256.Size]byte
}

// New returns a Service. It starts nothing.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.CountFailure == nil {
		c.CountFailure = func(context.Context, netip.Addr) error { return nil }
	}
	return &Service{c: c, key: sha256.Sum256([]byte(c.Key))}
}

// now returns the time at the precision of the database.
func (s *Service) now() time.Time { return s.c.Now().UTC().Truncate(time.Microsecond) }

// Authorize returns the actor of a request with the value of the header Authorization, which is the key, alone or as
// a bearer token. The comparison takes the same time for every value. Failed attempts from an address are limited.
func (s *Service) Authorize(ctx context.Context, origin access.Origin, header string) (access.Subject, error) {
	sent := header
	if scheme, token, ok := strings.Cut(header, " "); ok && strings.EqualFold(scheme, "Bearer") {
		sent = strings.TrimSpace(token)
	}
	h := sha256.Sum256([]byte(sent))
	if subtle.ConstantTimeCompare(h[:], s.key[:]) == 1 && s.c.Key != "" {
		origin.Automatic = "SCIM"
		return access.Subject{System: true, Origin: origin}, nil
	}
	if err := s.c.CountFailure(ctx, origin.IP); err != nil {
		return access.Subject{}, err
	}
	return access.Subject{}, codersdk.Errorf(codersdk.CodeUnauthenticated,
		"The header Authorization does not have the value of --scim-auth-header; check the token at the identity provider")
}

// changed notifies open pages of a change.
func (s *Service) changed(topics ...codersdk.RBACResource) {
	if s.c.Hub == nil {
		return
	}
	for _, t := range append(topics, codersdk.RBACResourceAuditLog) {
		s.c.Hub.Publish(notify.Kind(string(t)))
	}
}

// defaultOrganization returns the organization whose groups SCIM manages.
func (s *Service) defaultOrganization(ctx context.Context) (uuid.UUID, error) {
	o, err := s.c.Store.DefaultOrganization(ctx)
	if err != nil {
		return uuid.Nil, fmt.Errorf("find the default organization: %w", err)
	}
	return o.ID, nil
}

// Status returns the state of provisioning to users who can read the deployment's settings.
func (s *Service) Status(ctx context.Context, actor access.Subject) (codersdk.SCIMStatus, error) {
	if err := actor.Check(codersdk.RBACActionRead, access.Object{Type: codersdk.RBACResourceDeploymentConfig}); err != nil {
		return codersdk.SCIMStatus{}, err
	}
	row, err := s.c.Store.ScimStatus(ctx)
	out := codersdk.SCIMStatus{Enabled: s.c.Key != "", URL: s.c.URL, Users: row.Users, Groups: row.Groups}
	if row.ChangedAt.Year() > 1 {
		out.ChangedAt = &row.ChangedAt
	}
	return out, err
}

// Limits of a page.
const (
	MaxPage     = 200 // resources
	defaultPage = 100
)

// Query selects and pages resources.
type Query struct {
	Filter string
	Start  int  // position of the first resource, from 1; less means 1
	Count  *int // maximum number of resources; nil means the default, more than MaxPage means MaxPage
	// Attributes and Excluded are the names of attributes, separated by commas; "" for the default.
	Attributes, Excluded string
}

// bounds returns the offset and the number of resources of a page.
func (q Query) bounds() (offset, count int) {
	count = defaultPage
	if q.Count != nil {
		count = max(0, min(*q.Count, MaxPage))
	}
	return max(0, q.Start-1), count
}

// list returns the document of a page of resources.
func list(schema *Schema, q Query, total int, page []Resource) Resource {
	offset, _ := q.bounds()
	out := make([]Resource, len(page))
	for i, r := range page {
		out[i] = r.project(schema, q.Attributes, q.Excluded)
	}
	return Resource{"schemas": []string{listURN}, "totalResults": total, "startIndex": offset + 1, "itemsPerPage": len(out), "Resources": out}
}

// cut returns a page of resources that were found.
func cut(found []Resource, q Query) []Resource {
	offset, count := q.bounds()
	offset = min(offset, len(found))
	return found[offset:min(len(found), offset+count)]
}

// parseID returns the UUID of a resource; false if it cannot exist.
func parseID(id string) (uuid.UUID, bool) {
	out, err := uuid.Parse(id)
	return out, err == nil && len(id) == 36
}

// userRow is a user with the provider's data.
type userRow = sqlc.ScimUsersByIDRow
