// Package template keeps templates: their source, their versions, and the
// rules by which a version becomes what workspaces are made from.
//
// A person uploads a tar, makes a version from it, and the version's import is
// a job of the queue: a provisioner reads the source (variables, tags, README)
// and plans it once to start and once to stop, and this package, as the queue's
// Handler for that job, stores what the provisioner learned in the transaction
// that ends the job. Nothing about a version changes after that but its name,
// its message and whether it is archived. A version whose import succeeded may
// become a template, or the active version of its template. A dry run is the
// same machinery once more: a plan with a person's parameters, and nothing made.
//
// Who may do what is asked of package access on the template; a version that
// no template has taken yet belongs to its organization's template admins.
// Access lists name users, and the organization's own id for everyone in it.
package template

import (
	"context"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/parameter"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// Config is what a Service needs.
type Config struct {
	Store *postgres.Store
	// Queue runs imports and dry runs; New registers their handlers with it.
	Queue *queue.Service
	Log   *slog.Logger
	// AccessURL is where workspaces and people reach the server.
	AccessURL *url.URL
	Now       func() time.Time // nil means time.Now
}

// Service is safe for concurrent use. Its methods take who acts; their errors
// carry codes and messages fit for that person.
type Service struct {
	Config
	forms parameter.Forms
	times struct {
		sync.Mutex
		until time.Time
		known map[uuid.UUID]coder.TemplateBuildTimeStats
	}
}

// New makes a Service and registers its job handlers with the queue.
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
	s := &Service{Config: c}
	c.Queue.Register(coder.ProvisionerJobTypeTemplateVersionImport, importer{s})
	c.Queue.Register(coder.ProvisionerJobTypeTemplateVersionDryRun, dryRunner{s})
	return s
}

// now is the time as PostgreSQL keeps it.
func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// object is a template as package access sees it.
func object(t sqlc.Template) access.Object {
	return access.Object{
		Type: coder.RBACResourceTemplate, ID: t.ID, OrganizationID: t.OrganizationID,
		UserACL: t.UserACL, GroupACL: t.GroupACL,
	}
}

// lock holds a template for a change that actor may make.
func lock(ctx context.Context, q *sqlc.Queries, actor access.Subject, action coder.RBACAction, id uuid.UUID) (sqlc.Template, error) {
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
	return &coder.Error{
		Code: coder.CodeConflict, Message: "A " + what + " named \"" + name + "\" exists already; choose another name",
		Fields: []coder.ValidationError{{Field: field, Detail: "This name is already in use"}}, Err: err,
	}
}
