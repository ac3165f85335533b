// Package prebuild keeps workspaces ready before anybody asks for them. The
// presets of a template say how many of each; a Service sees to it that there
// are as many of each template's active version, makes what is missing, and
// deletes what is too much, too old, or of a version that is no longer the
// active one. Until somebody claims one (package workspace does that), it
// belongs to an account that is no person and cannot sign in.
//
// Nothing is kept of what is to be done: every round looks at what there is and
// decides anew, which is a function of a situation and a clock. What is decided
// is looked at once more in the transaction that does it, under a lock that
// ends with the transaction, so that of any number of replicas one acts, and
// one that dies in the middle leaves nothing behind. A preset whose workspaces
// cannot be made is tried less and less often and then not at all. (WS-20)
package prebuild

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	house "github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// Config is what a Service works with.
type Config struct {
	Store      *postgres.Store
	Workspaces *house.Service
	Hub        *notify.Hub
	Log        *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Interval is how often all templates are looked at; 0 means a minute. What
	// changes is looked at sooner.
	Interval time.Duration
	Rules
	// Registerer takes the metrics; nil: none.
	Registerer prometheus.Registerer
}

// Service keeps workspaces ready between Start and Stop. It is safe for
// concurrent use.
type Service struct {
	Config
	lifecycle.Loop
	said  map[string]string // of each thing the last trouble, so that it is told once; the loop's own
	tally tally
}

// New gives a Service; nothing runs until Start.
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
	s := &Service{Config: c, said: map[string]string{}}
	s.Run = s.run
	if c.Registerer != nil {
		c.Registerer.MustRegister(&s.tally)
	}
	return s
}

// rest is the shortest time between two rounds.
const rest = time.Second

func (s *Service) run(ctx context.Context) {
	soon, done := s.Hub.Subscribe(notify.Kind(string(coder.RBACResourcePrebuiltWorkspace)), notify.Kind(string(coder.RBACResourceTemplate)))
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

// trouble tells of what went wrong, once while it stays the same; nil forgets it.
func (s *Service) trouble(about string, err error, more ...any) {
	if err == nil {
		delete(s.said, about)
		return
	}
	if s.said[about] == err.Error() {
		return
	}
	s.said[about] = err.Error()
	s.Log.Warn("prebuilt workspaces are not as templates want them; trying again", append(more, "about", about, "error", err)...)
}

// Reconcile looks at every template once and does what is to be done. Only one
// call may run at a time in a process; other replicas may run theirs.
func (s *Service) Reconcile(ctx context.Context) error {
	settings, err := s.settings(ctx)
	if err != nil {
		return err
	}
	ids, err := s.Store.PrebuildTemplates(ctx)
	if err != nil {
		return err
	}
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

// look reads how a template stands.
func (s *Service) look(ctx context.Context, q *sqlc.Queries, templateID uuid.UUID) (situation, error) {
	t, err := q.PrebuildTemplate(ctx, templateID)
	if err != nil {
		return situation{}, err
	}
	now := s.Now().UTC()
	out := situation{templateID: t.ID, organizationID: t.OrganizationID, version: t.ActiveVersionID, invalidated: t.InvalidatedAt, labels: labels{organization: t.Organization, template: t.Name}}
	var ids []uuid.UUID
	for _, p := range t.Presets {
		if wants := p.PrebuildsOf(); wants != nil && t.Wanted {
			out.presets = append(out.presets, preset{id: p.ID, name: p.Name, desired: int(wants.Desired(now)), ttl: time.Duration(wants.TTLSeconds) * time.Second})
			ids = append(ids, p.ID)
		}
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
	rows, err := q.PrebuildWorkspaces(ctx, now.Add(-coder.AgentInactiveTimeout), templateID)
	if err != nil {
		return out, err
	}
	for _, r := range rows {
		out.workspaces = append(out.workspaces, workspace{
			id: r.ID, build: r.BuildID, job: r.JobID, version: r.TemplateVersionID, preset: r.PresetID, created: r.CreatedAt, since: r.Since,
			number: int(r.BuildNumber), transition: coder.WorkspaceTransition(r.Transition), status: coder.ProvisionerJobStatus(r.JobStatus), ready: r.Ready,
		})
	}
	return out, nil
}

// act does what a situation asks for. What fails for one workspace keeps from
// none of the others, but no more is made of a preset.
func (s *Service) act(ctx context.Context, now situation) {
	broken := map[uuid.UUID]bool{}
	for _, p := range now.presets {
		about := "preset " + p.id.String()
		if s.Limit > 0 && p.failures >= s.Limit {
			s.trouble(about, coder.Errorf(coder.CodePrecondition, "Nothing more is made of the preset %q: it failed %d times in a row. Look into the logs of its workspaces and make a version that works, or invalidate the template's prebuilt workspaces to try again", p.name, p.failures), "template_id", now.templateID)
			broken[p.id] = true
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
			err := s.Workspaces.CancelWorkspaceBuild(ctx, access.System(), a.workspace.build, string(coder.ProvisionerJobStatusPending))
			if coder.Is(err, coder.CodePrecondition) { // a provisioner was faster
				err = nil
			}
			s.trouble("workspace "+a.workspace.id.String(), err, "template_id", now.templateID)
		case remove:
			s.trouble("workspace "+a.workspace.id.String(), s.remove(ctx, a.workspace), "template_id", now.templateID)
		}
	}
}

// create makes a workspace of a preset if that is still to be done and nobody
// else is at it.
func (s *Service) create(ctx context.Context, seen situation, presetID uuid.UUID) (bool, error) {
	made, err := s.Workspaces.Prebuild(ctx, seen.version, presetID, func(ctx context.Context, q *sqlc.Queries) (bool, error) {
		if mine, err := q.PrebuildLock(ctx, seen.templateID); err != nil || !mine {
			return false, err
		}
		now, err := s.look(ctx, q, seen.templateID)
		if err != nil {
			return false, err
		}
		wanted := now.version == seen.version && slices.ContainsFunc(now.decide(s.Now(), s.Rules), func(a action) bool { return a.do == create && a.preset == presetID })
		if !wanted {
			return false, nil
		}
		return true, s.settle(ctx, q, now.organizationID)
	})
	return made != uuid.Nil, err
}

// settle makes the account that prebuilt workspaces belong to, and a member of
// an organization of it, with a group there that says what they may cost.
func (s *Service) settle(ctx context.Context, q *sqlc.Queries, organizationID uuid.UUID) error {
	there, err := q.PrebuildsAccountExists(ctx)
	if err != nil {
		return err
	}
	now := s.Now().UTC()
	if !there {
		if err := q.PrebuildsAccountInsert(ctx, coder.PrebuildsUsername, now); err != nil {
			return err
		}
		if there, err = q.PrebuildsAccountExists(ctx); err != nil {
			return err
		}
		if !there {
			return coder.Errorf(coder.CodeConflict, "A user is named %s, which is the account that prebuilt workspaces belong to; rename that user", coder.PrebuildsUsername)
		}
	}
	joined, err := q.PrebuildsJoin(ctx, organizationID, now)
	if err != nil || joined == 0 {
		return err
	}
	return q.PrebuildsGroup(ctx, sqlc.PrebuildsGroupParams{ID: uuid.New(), OrganizationID: organizationID, Name: coder.PrebuildsUsername, Now: now})
}

// remove deletes a workspace unless somebody has claimed it or built it since.
func (s *Service) remove(ctx context.Context, seen workspace) error {
	_, err := s.Workspaces.BuildAutomatically(ctx, seen.id, coder.WorkspaceTransitionDelete, coder.BuildReasonInitiator,
		func(_ context.Context, _ *sqlc.Queries, w sqlc.Workspace, latest sqlc.BuildLatestRow) (bool, error) {
			return w.OwnerID == coder.PrebuildsUserID() && latest.WorkspaceBuild.ID == seen.build, nil
		})
	return err
}
