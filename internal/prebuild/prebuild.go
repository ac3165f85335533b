// Package prebuild keeps workspaces ready before users request them. The presets of a template define
// the number of each, and the template's budget how far demand can raise it. A Service creates
// missing workspaces of each template's active version and deletes surplus, outdated and expired
// ones. Until a user claims a workspace (see package workspace), it belongs to a service account
// that cannot sign in.
//
// No pending work is stored: every reconciliation reads the current state and decides, as a function
// of that state and the clock. The transaction of an action repeats the decision under a lock that
// ends with the transaction. So of any number of replicas one acts, and one that crashes leaves
// nothing behind. A preset whose workspaces fail to build is retried less and less often and finally
// suspended. (WS-20)
package prebuild

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	house "github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// Config configures a Service.
type Config struct {
	Store      *postgres.Store
	Workspaces *house.Service
	Hub        *notify.Hub
	Log        *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Interval is the time between two reconciliations of all templates; 0 means one minute.
	// Changed templates are reconciled earlier.
	Interval time.Duration
	Rules
	// Registerer registers the metrics; nil for none.
	Registerer prometheus.Registerer
}

// Service keeps workspaces ready between Start and Stop. It is safe for concurrent use.
type Service struct {
	Config
	lifecycle.Loop
	said map[string]string // last problem of each object, so that it is logged once; for the loop only

	mu      sync.Mutex
	demands map[uuid.UUID]demand // last estimates by template

	tally tally
}

// New returns a Service. It starts nothing.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Interval <= 0 {
		c.Interval = time.Minute
	}
	if c.Backoff <= 0 {
		c.Backoff = c.Interval
	}
	if c.Lookback <= 0 {
		c.Lookback = time.Hour
	}
	s := &Service{Config: c, said: map[string]string{}, demands: map[uuid.UUID]demand{}}
	s.Run = s.run
	if c.Registerer != nil {
		c.Registerer.MustRegister(&s.tally)
	}
	return s
}

// rest is the shortest time between two reconciliations.
const rest = time.Second

func (s *Service) run(ctx context.Context) {
	soon, done := s.Hub.Subscribe(notify.Kind(string(codersdk.RBACResourcePrebuiltWorkspace)), notify.Kind(string(codersdk.RBACResourceTemplate)))
	defer done()
	tick := time.NewTicker(s.Interval)
	defer tick.Stop()
	for {
		if err := s.Reconcile(ctx); err != nil && ctx.Err() == nil {
			s.trouble("round", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(rest, s.Interval)):
		}
		select {
		case <-ctx.Done():
			return
		case <-soon:
		case <-tick.C:
		}
	}
}

// trouble logs a problem once while it stays the same; nil clears it.
func (s *Service) trouble(about string, err error, more ...any) {
	if err == nil {
		delete(s.said, about)
		return
	}
	if s.said[about] == err.Error() {
		return
	}
	s.said[about] = err.Error()
	s.Log.Warn("cannot reconcile prebuilt workspaces; retrying", append(more, "about", about, "error", err)...)
}

// Reconcile reconciles every template once. Only one call can run at a time in a process; other
// replicas can run theirs.
func (s *Service) Reconcile(ctx context.Context) error {
	settings, err := s.settings(ctx)
	if err != nil {
		return err
	}
	ids, err := s.Store.PrebuildTemplates(ctx)
	if err != nil {
		return err
	}
	s.forget(ids)
	var all []situation
	for _, id := range ids {
		now, err := s.look(ctx, s.Store.Queries, id)
		if err != nil {
			return err
		}
		all = append(all, now)
		if !settings.ReconciliationPaused {
			s.act(ctx, now)
		}
	}
	if !settings.ReconciliationPaused {
		s.trouble("round", nil)
	}
	return s.count(ctx, all)
}

// look reads the state of a template.
func (s *Service) look(ctx context.Context, q *sqlc.Queries, templateID uuid.UUID) (situation, error) {
	t, err := q.PrebuildTemplate(ctx, templateID)
	if err != nil {
		return situation{}, err
	}
	now := s.Now().UTC()
	out := situation{
		templateID: t.ID, organizationID: t.OrganizationID, version: t.ActiveVersionID, invalidated: t.InvalidatedAt,
		labels: labels{organization: t.Organization, template: t.Name},
	}
	var ids []uuid.UUID
	for _, p := range t.Presets {
		if wants := p.PrebuildsOf(); wants != nil && t.Wanted {
			n := int(wants.Desired(now))
			out.presets = append(out.presets, preset{id: p.ID, name: p.Name, desired: n, defined: n, ttl: time.Duration(wants.TTLSeconds) * time.Second})
			ids = append(ids, p.ID)
		}
	}
	if t.PrebuildBudget > 0 && len(ids) > 0 {
		demand, err := s.estimate(ctx, q, t, now)
		if err != nil {
			return out, err
		}
		for i, p := range out.presets {
			out.presets[i].demand = demand[p.name]
		}
		grow(out.presets, int(t.PrebuildBudget))
	}
	if len(ids) > 0 {
		failures, err := q.PrebuildFailures(ctx, ids, t.InvalidatedAt)
		if err != nil {
			return out, err
		}
		for _, f := range failures {
			p := &out.presets[slices.Index(ids, f.PresetID)]
			p.failures, p.failed = int(f.Failures), f.Latest
		}
	}
	rows, err := q.PrebuildWorkspaces(ctx, now.Add(-codersdk.AgentInactiveTimeout), templateID)
	if err != nil {
		return out, err
	}
	for _, r := range rows {
		out.workspaces = append(out.workspaces, workspace{
			id: r.ID, build: r.BuildID, job: r.JobID, version: r.TemplateVersionID, preset: r.PresetID, created: r.CreatedAt, since: r.Since,
			number: int(r.BuildNumber), transition: codersdk.WorkspaceTransition(r.Transition), status: codersdk.ProvisionerJobStatus(r.JobStatus), ready: r.Ready,
		})
	}
	return out, nil
}

// act performs the actions for a situation. A failure of one workspace does not affect the others,
// but stops the creation of further workspaces of the preset.
func (s *Service) act(ctx context.Context, now situation) {
	broken := map[uuid.UUID]bool{}
	for _, p := range now.presets {
		about := "preset " + p.id.String()
		if s.suspended(p) {
			s.trouble(about, codersdk.Errorf(
				codersdk.CodePrecondition,
				"the preset %q is suspended after %d failures in a row; check the logs of its workspaces and publish a fixed version, or invalidate the prebuilt workspaces to retry",
				p.name,
				p.failures,
			), "template_id", now.templateID)
			broken[p.id] = true
			s.notifySuspended(ctx, now, p)
		}
	}
	for _, a := range now.decide(s.Now(), s.Rules) {
		if ctx.Err() != nil {
			return
		}
		switch a.do {
		case create:
			if broken[a.preset] {
				continue
			}
			made, err := s.create(ctx, now, a.preset)
			s.trouble("preset "+a.preset.String(), err, "template_id", now.templateID)
			broken[a.preset] = err != nil || !made
		case cancel:
			err := s.Workspaces.CancelWorkspaceBuild(ctx, access.System(), a.workspace.build, string(codersdk.ProvisionerJobStatusPending))
			if codersdk.Is(err, codersdk.CodePrecondition) { // a provisioner started the build
				err = nil
			}
			s.trouble("workspace "+a.workspace.id.String(), err, "template_id", now.templateID)
		case remove:
			s.trouble("workspace "+a.workspace.id.String(), s.remove(ctx, a.workspace), "template_id", now.templateID)
		}
	}
}

// create creates a workspace of a preset if that is still needed and no other replica does it.
func (s *Service) create(ctx context.Context, seen situation, presetID uuid.UUID) (bool, error) {
	made, err := s.Workspaces.Prebuild(ctx, seen.version, presetID, func(ctx context.Context, q *sqlc.Queries) (bool, error) {
		if mine, err := q.PrebuildLock(ctx, seen.templateID); err != nil || !mine {
			return false, err
		}
		now, err := s.look(ctx, q, seen.templateID)
		if err != nil {
			return false, err
		}
		wanted := now.version == seen.version &&
			slices.ContainsFunc(now.decide(s.Now(), s.Rules), func(a action) bool { return a.do == create && a.preset == presetID })
		if !wanted {
			return false, nil
		}
		return true, s.settle(ctx, q, now.organizationID)
	})
	return made != uuid.Nil, err
}

// settle creates the account of prebuilt workspaces, its membership of an organization, and a group
// there that holds the quota.
func (s *Service) settle(ctx context.Context, q *sqlc.Queries, organizationID uuid.UUID) error {
	there, err := q.PrebuildsAccountExists(ctx)
	if err != nil {
		return err
	}
	now := s.Now().UTC()
	if !there {
		if err := q.PrebuildsAccountInsert(ctx, codersdk.PrebuildsUsername, now); err != nil {
			return err
		}
		if there, err = q.PrebuildsAccountExists(ctx); err != nil {
			return err
		}
		if !there {
			return codersdk.Errorf(
				codersdk.CodeConflict,
				"A user has the name %s, which is reserved for the account of prebuilt workspaces; rename that user",
				codersdk.PrebuildsUsername,
			)
		}
	}
	joined, err := q.PrebuildsJoin(ctx, organizationID, now)
	if err != nil || joined == 0 {
		return err
	}
	return q.PrebuildsGroup(ctx, sqlc.PrebuildsGroupParams{ID: uuid.New(), OrganizationID: organizationID, Name: codersdk.PrebuildsUsername, Now: now})
}

// remove deletes a workspace unless it was claimed or rebuilt in the meantime.
func (s *Service) remove(ctx context.Context, seen workspace) error {
	_, err := s.Workspaces.BuildAutomatically(ctx, seen.id, codersdk.WorkspaceTransitionDelete, codersdk.BuildReasonInitiator,
		func(_ context.Context, _ *sqlc.Queries, w sqlc.Workspace, latest sqlc.BuildLatestRow) (bool, error) {
			return w.OwnerID == codersdk.PrebuildsUserID() && latest.WorkspaceBuild.ID == seen.build, nil
		})
	return err
}
