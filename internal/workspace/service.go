// Package workspace manages workspaces and their builds: who can create, change, start,
// stop and delete a workspace, with which version, parameters and tags, and the effects
// of a finished build.
//
// A workspace has a name, an owner, a template, and builds numbered from one. Its status
// follows from its latest build. Every change locks the row of the workspace, so of any
// number of concurrent requests exactly one creates a build; the others fail and name
// that build. A build is a row, a job in the queue and an audit entry, inserted in one
// transaction. The hint that wakes a provisioner is sent after the commit.
//
// The other half of a build is the Handler that New registers with the queue. Prepare
// gathers the inputs of the provisioner; Complete and Fail store its results. Terraform
// state is never lost: a failed build keeps the state that it reached, a lost build keeps
// the state of the previous build, and a workspace is deleted only by a delete that
// succeeded.
//
// Reads are batched: the number of queries does not depend on the number of workspaces.
package workspace

import (
	"context"
	"log/slog"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/calendar"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/parameter"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/terraform"
	"github.com/seed-2a7f8fe7/coder/internal/workspace/meter"
	"github.com/seed-2a7f8fe7/coder/internal/workspace/savedplan"
	"github.com/seed-2a7f8fe7/coder/internal/workspace/view"
)

// Links are the links of users to providers of external authentication.
type Links interface {
	// Require returns an error if an owner lacks a link to a provider that a template requires. It asks the
	// providers.
	Require(ctx context.Context, ownerID uuid.UUID, declared []codersdk.TemplateVersionExternalAuth) error
	// Tokens returns the owner's tokens at the declared providers. If strict, required ones must be linked.
	Tokens(ctx context.Context, ownerID uuid.UUID, declared []codersdk.TemplateVersionExternalAuth, strict bool) ([]*provisioner.ExternalAuthProvider, error)
	// Missing returns the error of Require for an owner who lacks the links to these providers.
	Missing(ids []string) error
}

// Config configures a Service.
type Config struct {
	Store *postgres.Store
	Queue *queue.Service
	Hub   *notify.Hub
	Log   *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// AccessURL is the URL at which workspaces reach the server.
	AccessURL *url.URL
	Vault     *dbcrypt.Vault // encrypts states, variables and tokens; nil stores them in clear
	// Links are the owners' links to providers of external authentication. Nil passes no tokens.
	Links Links
	// PlanAhead makes starts use the plans of package savedplan.
	PlanAhead bool
	// AllowRenames allows renames of workspaces, which templates that name volumes
	// after workspaces do not support (--allow-workspace-renames).
	AllowRenames bool
	// AllowDebugLogs lets template administrators request Terraform's debug log
	// (--enable-terraform-debug-mode).
	AllowDebugLogs bool
	// Quiet is the deployment's setting of quiet hours.
	Quiet calendar.Quiet
	// WatchPoll is the interval between updates of a watch without a hint, for changes
	// that depend on time and for lost hints; 0 means 15 s.
	WatchPoll time.Duration
	// OwnerToken creates the owner's session token that a start passes to its template,
	// in transaction q; nil passes none.
	OwnerToken func(ctx context.Context, q *sqlc.Queries, ownerID, buildID uuid.UUID) (string, error)
	// DropOwnerToken deletes the token of a build, in transaction q; nil does nothing.
	DropOwnerToken func(ctx context.Context, q *sqlc.Queries, ownerID, buildID uuid.UUID) error
	// Registerer registers the metrics of builds; nil for none.
	Registerer prometheus.Registerer
}

// Service implements workspaces. It is safe for concurrent use.
type Service struct {
	Config
	forms     parameter.Forms
	handovers *terraform.Handovers
	views     view.Viewer
	uses      meter.Uses
	metrics   *meter.Builds
	Plans     savedplan.Storage
}

// New returns a Service and registers it with the queue as the handler of workspace
// builds.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.WatchPoll <= 0 {
		c.WatchPoll = 15 * time.Second
	}
	s := &Service{Config: c, forms: parameter.Forms{Vault: c.Vault}, handovers: terraform.NewHandovers(), metrics: meter.NewBuilds(c.Registerer)}
	s.Plans = savedplan.Storage{Vault: c.Vault, Metrics: savedplan.NewMetrics(c.Registerer)}
	s.views = view.Viewer{Store: c.Store, Queue: c.Queue, Now: s.now, AllowRenames: c.AllowRenames}
	c.Queue.Register(codersdk.ProvisionerJobTypeWorkspaceBuild, builds{s})
	return s
}

// now returns the time at the precision of the database.
func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// object is the access object of a workspace.
func object(w sqlc.Workspace) access.Object {
	return access.Object{
		Type: codersdk.RBACResourceWorkspace, ID: w.ID, OrganizationID: w.OrganizationID, OwnerID: w.OwnerID,
		UserACL: w.UserACL, GroupACL: w.GroupACL,
	}
}

// find returns a workspace, deleted or not, if the actor can do the action on it.
func (s *Service) find(ctx context.Context, actor access.Subject, action codersdk.RBACAction, id uuid.UUID) (sqlc.Workspace, error) {
	w, err := s.Store.WorkspaceByID(ctx, id)
	if err != nil {
		return w, err
	}
	return w, check(actor, action, w)
}

// findLive is find for workspaces that are not deleted.
func (s *Service) findLive(ctx context.Context, actor access.Subject, action codersdk.RBACAction, id uuid.UUID) (sqlc.Workspace, error) {
	w, err := s.find(ctx, actor, action, id)
	if err != nil {
		return w, err
	}
	return w, live(w)
}

func live(w sqlc.Workspace) error {
	if w.DeletedAt != nil {
		return codersdk.Errorf(codersdk.CodeNotFound, "Workspace %q was deleted", w.Name)
	}
	return nil
}

// findBuild returns a build and its workspace, if the actor can do the action on it.
func (s *Service) findBuild(ctx context.Context, actor access.Subject, action codersdk.RBACAction, id uuid.UUID) (sqlc.WorkspaceBuild, sqlc.Workspace, error) {
	b, err := s.Store.BuildByID(ctx, id)
	if err != nil {
		return b, sqlc.Workspace{}, err
	}
	w, err := s.find(ctx, actor, action, b.WorkspaceID)
	return b, w, err
}

// managesTemplate reports whether the actor is an administrator of the template of a
// workspace.
func (s *Service) managesTemplate(ctx context.Context, q *sqlc.Queries, actor access.Subject, templateID uuid.UUID) (bool, error) {
	t, err := q.WorkspaceTemplate(ctx, templateID)
	return err == nil && actor.Can(codersdk.RBACActionUpdate, templateObject(t)), err
}
