// Package template manages templates: their source, their versions, and the rules by which a
// version becomes available for workspaces.
//
// A user uploads a tar and creates a version from it. The version's import is a job of the
// queue: a provisioner reads the source (variables, tags, README) and plans it once for a
// start and once for a stop. This package is the queue's Handler of that job and stores the
// results in the transaction that ends the job. After that only the name, the message and
// the archived flag of a version change. A successfully imported version can become a
// template, or the active version of its template. A dry run uses the same machinery: it
// plans with a user's parameters and creates nothing.
//
// Package access decides about permissions on the template. A version without a template
// belongs to the template administrators of its organization. Access lists name users,
// groups, and the organization's own ID for all of its members.
package template

import (
	"context"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/parameter"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// Links are the users' links to providers of external authentication.
type Links interface {
	// Requirement describes a provider, and reports whether the deployment has it.
	Requirement(id string) (codersdk.TemplateVersionExternalAuth, bool)
	// Linked reports which of the declared providers a user has linked.
	Linked(ctx context.Context, userID uuid.UUID, declared []codersdk.TemplateVersionExternalAuth) (map[string]bool, error)
}

// Config configures a Service.
type Config struct {
	Store *postgres.Store
	// Vault encrypts sensitive variables; nil stores them in clear.
	Vault *dbcrypt.Vault
	// Queue runs imports and dry runs; New registers their handlers.
	Queue *queue.Service
	Log   *slog.Logger
	// AccessURL is the URL at which workspaces and users reach the server.
	AccessURL *url.URL
	// Links are the users' links to providers of external authentication. Nil knows no provider.
	Links Links
	// SecretsChanged is called after the template started or stopped to pass user secrets to its
	// workspaces. Nil does nothing.
	SecretsChanged func(templateID uuid.UUID)
	Now            func() time.Time // nil means time.Now
}

// Service implements templates. It is safe for concurrent use. Its methods take the actor;
// their errors have codes, and messages for that user.
type Service struct {
	Config
	forms parameter.Forms
	times struct {
		sync.Mutex
		until time.Time
		known map[uuid.UUID]codersdk.TemplateBuildTimeStats
	}
}

// New returns a Service and registers its job handlers with the queue.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.AccessURL == nil {
		c.AccessURL = &url.URL{}
	}
	s := &Service{Config: c, forms: parameter.Forms{Vault: c.Vault}}
	c.Queue.Register(codersdk.ProvisionerJobTypeTemplateVersionImport, importer{s})
	c.Queue.Register(codersdk.ProvisionerJobTypeTemplateVersionDryRun, dryRunner{s})
	return s
}

// now returns the time at the precision of PostgreSQL.
func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// object is the access object of a template.
func object(t sqlc.Template) access.Object {
	return access.Object{
		Type: codersdk.RBACResourceTemplate, ID: t.ID, OrganizationID: t.OrganizationID,
		UserACL: t.UserACL, GroupACL: t.GroupACL,
	}
}

// lock locks a template for a change by actor.
func lock(ctx context.Context, q *sqlc.Queries, actor access.Subject, action codersdk.RBACAction, id uuid.UUID) (sqlc.Template, error) {
	t, err := q.TemplateLock(ctx, id)
	if err != nil {
		return t, err
	}
	return t, actor.Check(action, object(t))
}

// taken turns the violation of a unique name into an error about the field.
func taken(err error, constraint, field, what, name string) error {
	if err == nil || postgres.Constraint(err) != constraint {
		return err
	}
	return &codersdk.Error{
		Code: codersdk.CodeConflict, Message: "A " + what + " named \"" + name + "\" already exists; choose another name",
		Fields: []codersdk.ValidationError{{Field: field, Detail: "This name is already in use"}}, Err: err,
	}
}
