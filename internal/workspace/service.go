// Package workspace holds the rules of workspaces and their builds: who may
// make, change, start, stop and delete one, with which version, parameters and
// tags, and what becomes of it when a build ends.
//
// A workspace is a name, an owner, a template, and a row of builds numbered
// from one. What it is doing follows from its latest build alone. Every change
// locks the workspace's row, so of any number of builds asked for at once
// exactly one is made and the others are told which one runs. A build is a row,
// a job in the queue and an audit entry, written in one transaction; the hint
// that wakes a provisioner goes out after the commit.
//
// The other half of a build is the Handler that New registers with the queue:
// Prepare gathers what a provisioner needs, Complete and Fail keep what it
// leaves behind. Terraform state is never lost on the way: a build that fails
// keeps the state it reached, one that is lost leaves that of the build before
// it, and a workspace goes away only with a delete that succeeded.
//
// Reading is batched: any number of workspaces is shown with the same handful
// of queries.
package workspace

import (
	"context"
	"log/slog"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/calendar"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/parameter"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// Config is what a Service works with.
type Config struct {
	Store *postgres.Store
	Queue *queue.Service
	Hub   *notify.Hub
	Log   *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// AccessURL is how workspaces reach the server.
	AccessURL *url.URL
	// ProviderToken gives the access token of an owner's account at their
	// identity provider; nil hands none.
	ProviderToken func(sqlc.UserLink) (string, error)
	// AllowRenames lets workspaces be renamed, which templates that name
	// volumes after them do not survive (--allow-workspace-renames).
	AllowRenames bool
	// AllowDebugLogs lets template administrators ask for Terraform's debug log
	// (--enable-terraform-debug-mode).
	AllowDebugLogs bool
	// Quiet is what the deployment says of quiet hours.
	Quiet calendar.Quiet
	// WatchPoll is how often a watch looks again without a hint, for what
	// changes with time alone and for hints that were lost; 0 means 15 s.
	WatchPoll time.Duration
	// OwnerToken makes the session token of the owner that a start hands to its
	// template, in the transaction q; nil hands none.
	OwnerToken func(ctx context.Context, q *sqlc.Queries, ownerID, buildID uuid.UUID) (string, error)
	// DropOwnerToken ends the token that a build was given, in the transaction
	// q; nil does nothing.
	DropOwnerToken func(ctx context.Context, q *sqlc.Queries, ownerID, buildID uuid.UUID) error
	// Registerer takes the metrics of claims; nil: none.
	Registerer prometheus.Registerer
}

// Service is the use cases of workspaces. It is safe for concurrent use.
type Service struct {
	Config
	forms  parameter.Forms
	claims *prometheus.HistogramVec
}

// New makes a Service and registers it with the queue as the handler of
// workspace builds.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.WatchPoll <= 0 {
		c.WatchPoll = 15 * time.Second
	}
	s := &Service{Config: c, claims: newClaims(c.Registerer)}
	c.Queue.Register(coder.ProvisionerJobTypeWorkspaceBuild, builds{s})
	return s
}

// now is the clock at the precision that the database keeps.
func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// object is a workspace as access sees it.
func object(w sqlc.Workspace) access.Object {
	return access.Object{
		Type: coder.RBACResourceWorkspace, ID: w.ID, OrganizationID: w.OrganizationID, OwnerID: w.OwnerID,
		UserACL: w.UserACL, GroupACL: w.GroupACL,
	}
}

// find gives a workspace, deleted or not, on which the actor may do the action.
func (s *Service) find(ctx context.Context, actor access.Subject, action coder.RBACAction, id uuid.UUID) (sqlc.Workspace, error) {
	w, err := s.Store.WorkspaceByID(ctx, id)
	if err != nil {
		return w, err
	}
	return w, check(actor, action, w)
}

// findLive is find for a workspace that was not deleted.
func (s *Service) findLive(ctx context.Context, actor access.Subject, action coder.RBACAction, id uuid.UUID) (sqlc.Workspace, error) {
	w, err := s.find(ctx, actor, action, id)
	if err != nil {
		return w, err
	}
	return w, live(w)
}

func live(w sqlc.Workspace) error {
	if w.DeletedAt != nil {
		return coder.Errorf(coder.CodeNotFound, "Workspace %q was deleted", w.Name)
	}
	return nil
}

// findBuild gives a build and its workspace, on which the actor may do the action.
func (s *Service) findBuild(ctx context.Context, actor access.Subject, action coder.RBACAction, id uuid.UUID) (sqlc.WorkspaceBuild, sqlc.Workspace, error) {
	b, err := s.Store.BuildByID(ctx, id)
	if err != nil {
		return b, sqlc.Workspace{}, err
	}
	w, err := s.find(ctx, actor, action, b.WorkspaceID)
	return b, w, err
}

// managesTemplate says whether the actor has the rights of a template
// administrator on the template of a workspace.
func (s *Service) managesTemplate(ctx context.Context, q *sqlc.Queries, actor access.Subject, templateID uuid.UUID) (bool, error) {
	t, err := q.WorkspaceTemplate(ctx, templateID)
	return err == nil && actor.Can(coder.RBACActionUpdate, templateObject(t)), err
}
