package workspace

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/parameter"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/workspace/event"
	"github.com/seed-2a7f8fe7/coder/internal/workspace/meter"
)

// minExtension is the minimum time between now and an extended deadline.
const minExtension = 30 * time.Minute

// settings are the audited settings of a workspace.
type settings struct {
	Name              string     `json:"name"`
	OwnerID           uuid.UUID  `json:"owner_id"`
	TemplateID        uuid.UUID  `json:"template_id"`
	AutomaticUpdates  string     `json:"automatic_updates"`
	AutostartSchedule *string    `json:"autostart_schedule"`
	TTLMS             *int64     `json:"ttl"`
	DormantAt         *time.Time `json:"dormant_at"`
	DeletingAt        *time.Time `json:"deleting_at"`
	Favorite          bool       `json:"favorite"`
}

func audited(w sqlc.Workspace) settings {
	return settings{
		Name: w.Name, OwnerID: w.OwnerID, TemplateID: w.TemplateID, AutomaticUpdates: w.AutomaticUpdates,
		AutostartSchedule: w.AutostartSchedule, TTLMS: w.TTLMS, DormantAt: w.DormantAt, DeletingAt: w.DeletingAt,
	}
}

// change locks a live workspace that the actor can update, calls fn on a copy of the row,
// audits the difference, and notifies watchers.
func (s *Service) change(ctx context.Context, actor access.Subject, id uuid.UUID, fn func(q *sqlc.Queries, w *sqlc.Workspace, t sqlc.Template) error) error {
	if _, err := s.findLive(ctx, actor, codersdk.RBACActionUpdate, id); err != nil {
		return err
	}
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		w, err := q.WorkspaceForUpdate(ctx, id)
		if err != nil {
			return err
		}
		if err := live(w); err != nil {
			return err
		}
		t, err := q.WorkspaceTemplate(ctx, w.TemplateID)
		if err != nil {
			return err
		}
		before := audited(w)
		if err := fn(q, &w, t); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeWorkspace, ResourceID: id,
			OrganizationID: w.OrganizationID, Target: w.Name, Icon: t.Icon, Diff: audit.Diff(before, audited(w)),
		})
	})
	if err != nil {
		return err
	}
	s.Hub.Publish(notify.Workspace(id))
	return nil
}

// UpdateWorkspace renames a workspace if the server allows renames. The current name is
// always accepted. (WS-08)
func (s *Service) UpdateWorkspace(ctx context.Context, actor access.Subject, id uuid.UUID, req codersdk.UpdateWorkspaceRequest) error {
	w, err := s.findLive(ctx, actor, codersdk.RBACActionUpdate, id)
	if err != nil || req.Name == "" || req.Name == w.Name {
		return err
	}
	if !s.AllowRenames {
		return codersdk.Errorf(codersdk.CodeInvalid,
			"This server does not allow renames, because templates may name disks after workspaces; an operator can allow them with --allow-workspace-renames")
	}
	if err := codersdk.CheckName("name", req.Name); err != nil {
		return err
	}
	return s.change(ctx, actor, id, func(q *sqlc.Queries, w *sqlc.Workspace, _ sqlc.Template) error {
		w.Name = req.Name
		return taken(q.WorkspaceRename(ctx, req.Name, s.now(), id), req.Name)
	})
}

// UpdateWorkspaceAutostart sets the autostart schedule of a workspace; empty clears it.
// (WS-13)
func (s *Service) UpdateWorkspaceAutostart(ctx context.Context, actor access.Subject, id uuid.UUID, req codersdk.UpdateWorkspaceAutostartRequest) error {
	return s.change(ctx, actor, id, func(q *sqlc.Queries, w *sqlc.Workspace, t sqlc.Template) error {
		var err error
		if w.AutostartSchedule, err = checkAutostart(t, req.Schedule); err != nil {
			return err
		}
		now := s.now()
		w.NextStartAt = NextStart(t, *w, now)
		return q.WorkspaceSetAutostart(ctx, sqlc.WorkspaceSetAutostartParams{Schedule: w.AutostartSchedule, NextStartAt: w.NextStartAt, Now: now, ID: id})
	})
}

// UpdateWorkspaceTTL sets the time to live of a workspace from its next start on. (WS-14)
func (s *Service) UpdateWorkspaceTTL(ctx context.Context, actor access.Subject, id uuid.UUID, req codersdk.UpdateWorkspaceTTLRequest) error {
	return s.change(ctx, actor, id, func(q *sqlc.Queries, w *sqlc.Workspace, t sqlc.Template) error {
		ttl, err := checkTTL(t, req.TTLMS)
		if err != nil {
			return err
		}
		w.TTLMS = ttl
		return q.WorkspaceSetTTL(ctx, ttl, s.now(), id)
	})
}

// UpdateWorkspaceAutomaticUpdates sets whether starts use the active version. (TPL-14)
func (s *Service) UpdateWorkspaceAutomaticUpdates(
	ctx context.Context,
	actor access.Subject,
	id uuid.UUID,
	req codersdk.UpdateWorkspaceAutomaticUpdatesRequest,
) error {
	if err := checkAutomaticUpdates(req.AutomaticUpdates); err != nil {
		return err
	}
	return s.change(ctx, actor, id, func(q *sqlc.Queries, w *sqlc.Workspace, _ sqlc.Template) error {
		w.AutomaticUpdates = string(req.AutomaticUpdates)
		return q.WorkspaceSetAutomaticUpdates(ctx, w.AutomaticUpdates, s.now(), id)
	})
}

// UpdateWorkspaceDormancy makes a workspace dormant or activates it. A dormant workspace
// cannot be started, and is deleted when its template requires it. (WS-18)
func (s *Service) UpdateWorkspaceDormancy(
	ctx context.Context,
	actor access.Subject,
	id uuid.UUID,
	req codersdk.UpdateWorkspaceDormancy,
) (codersdk.Workspace, error) {
	err := s.change(ctx, actor, id, func(q *sqlc.Queries, w *sqlc.Workspace, t sqlc.Template) error {
		if req.Dormant == (w.DormantAt != nil) {
			return nil
		}
		if err := rest(ctx, q, w, t, req.Dormant, s.now()); err != nil || !req.Dormant {
			return err
		}
		return event.Dormant(ctx, q, actor, *w, "a user made it dormant")
	})
	if err != nil {
		return codersdk.Workspace{}, err
	}
	return s.views.Workspace(ctx, actor, id)
}

// rest makes a workspace dormant, or activates it, in transaction q.
func rest(ctx context.Context, q *sqlc.Queries, w *sqlc.Workspace, t sqlc.Template, dormant bool, now time.Time) error {
	w.DormantAt, w.DeletingAt = nil, nil
	if dormant {
		w.DormantAt = &now
		if t.TimeTilDormantAutodeleteMs > 0 {
			due := now.Add(time.Duration(t.TimeTilDormantAutodeleteMs) * time.Millisecond)
			w.DeletingAt = &due
		}
	} else {
		w.LastUsedAt = now
	}
	w.NextStartAt = NextStart(t, *w, now)
	return q.WorkspaceSetDormant(ctx, sqlc.WorkspaceSetDormantParams{
		DormantAt: w.DormantAt, DeletingAt: w.DeletingAt, NextStartAt: w.NextStartAt, LastUsedAt: w.LastUsedAt, Now: now, ID: w.ID,
	})
}

// ExtendWorkspace changes the deadline of a running workspace. It must be at least half
// an hour from now and not after the time at which the template stops it. (WS-14)
func (s *Service) ExtendWorkspace(ctx context.Context, actor access.Subject, id uuid.UUID, req codersdk.PutExtendWorkspaceRequest) error {
	if req.Deadline == nil {
		return codersdk.Invalid("deadline", "a time is required")
	}
	deadline, now := req.Deadline.UTC(), s.now()
	if deadline.Before(now.Add(minExtension)) {
		return codersdk.Invalid("deadline", "must be at least %d minutes from now", int(minExtension.Minutes()))
	}
	return s.change(ctx, actor, id, func(q *sqlc.Queries, w *sqlc.Workspace, _ sqlc.Template) error {
		latest, err := q.BuildLatest(ctx, id)
		if err != nil {
			return err
		}
		b := latest.WorkspaceBuild
		status := codersdk.NewWorkspaceStatus(codersdk.WorkspaceTransition(b.Transition), codersdk.ProvisionerJobStatus(latest.JobStatus))
		switch {
		case status != codersdk.WorkspaceStatusRunning:
			return codersdk.Errorf(codersdk.CodeConflict, "Workspace %q is %s; only a running workspace has a deadline", w.Name, status)
		case b.Deadline == nil:
			return codersdk.Errorf(codersdk.CodeConflict, "Workspace %q has no deadline to extend; it runs until it is stopped", w.Name)
		case b.MaxDeadline != nil && deadline.After(*b.MaxDeadline):
			return codersdk.Invalid("deadline", "must not be after %s, when the template stops the workspace", b.MaxDeadline.Format(time.RFC3339))
		}
		return q.BuildSetDeadline(ctx, &deadline, now, b.ID)
	})
}

// FavoriteWorkspace adds a workspace to the actor's favorites, or removes it. (WS-22)
func (s *Service) FavoriteWorkspace(ctx context.Context, actor access.Subject, id uuid.UUID, favorite bool) error {
	if _, err := s.findLive(ctx, actor, codersdk.RBACActionRead, id); err != nil {
		return err
	}
	set := s.Store.WorkspaceUnfavorite
	if favorite {
		set = s.Store.WorkspaceFavorite
	}
	if err := set(ctx, actor.UserID, id); err != nil {
		return err
	}
	s.Hub.Publish(notify.Workspace(id))
	return nil
}

// usageApps are the apps that a usage report can name.
var usageApps = []codersdk.UsageApp{codersdk.UsageAppJetBrains, codersdk.UsageAppReconnectingPTY, codersdk.UsageAppSSH, codersdk.UsageAppVSCode}

// PostWorkspaceUsage records that a workspace is in use, with an agent and an app or
// without either, which extends its deadline. With an app the time counts as use of the
// app, at most one minute for each report. (WS-15, WS-28)
func (s *Service) PostWorkspaceUsage(ctx context.Context, actor access.Subject, id uuid.UUID, req codersdk.PostWorkspaceUsageRequest) error {
	w, err := s.findLive(ctx, actor, codersdk.RBACActionRead, id)
	if err != nil {
		return err
	}
	o := object(w)
	if !actor.Can(codersdk.RBACActionSSH, o) && !actor.Can(codersdk.RBACActionApplicationConnect, o) {
		return actor.Check(codersdk.RBACActionUpdate, o)
	}
	if (req.AgentID == uuid.Nil) != (req.AppName == "") {
		return codersdk.Invalid("agent_id", "set both agent_id and app_name, or neither")
	}
	if req.AppName != "" && !slices.Contains(usageApps, codersdk.UsageApp(req.AppName)) {
		return codersdk.Invalid("app_name", "%.40q must be jetbrains, reconnecting-pty, ssh or vscode", req.AppName)
	}
	if req.AgentID != uuid.Nil {
		current, err := s.Store.WorkspaceHasAgent(ctx, id, req.AgentID)
		if err != nil {
			return err
		}
		if !current {
			return codersdk.Invalid("agent_id", "agent not found in the workspace's latest build")
		}
	}
	now := s.now()
	if err := s.Store.ScheduleUse(ctx, []uuid.UUID{id}, []time.Time{now}); err != nil || req.AppName == "" {
		return err
	}
	seconds := s.uses.Count(meter.App{AgentID: req.AgentID, Name: req.AppName}, now)
	if seconds == 0 {
		return nil
	}
	return s.Store.UsageAddApp(ctx, sqlc.UsageAddAppParams{
		At: now, WorkspaceID: w.ID, UserID: w.OwnerID, TemplateID: w.TemplateID, Seconds: seconds, App: req.AppName,
	})
}

// ResolveAutostart reports whether an autostart would fail because its version requires
// parameter values that are not set. (WS-07)
func (s *Service) ResolveAutostart(ctx context.Context, actor access.Subject, id uuid.UUID) (codersdk.ResolveAutostartResponse, error) {
	var out codersdk.ResolveAutostartResponse
	w, err := s.findLive(ctx, actor, codersdk.RBACActionRead, id)
	if err != nil {
		return out, err
	}
	t, err := s.Store.WorkspaceTemplate(ctx, w.TemplateID)
	if err != nil {
		return out, err
	}
	latest, err := s.Store.BuildLatest(ctx, id)
	if err != nil {
		return out, err
	}
	if !followsActive(t, w) || latest.WorkspaceBuild.TemplateVersionID == t.ActiveVersionID {
		return out, nil
	}
	v, err := s.Store.WorkspaceVersion(ctx, t.ActiveVersionID)
	if err != nil {
		return out, err
	}
	values := parameter.Values{Previous: latest.WorkspaceBuild.Parameters}
	values.Transition = codersdk.WorkspaceTransitionStart
	_, err = s.forms.Resolve(ctx, s.Store.Queries, v.TemplateVersion, w.OwnerID, values)
	out.ParameterMismatch = codersdk.Is(err, codersdk.CodeInvalid)
	if out.ParameterMismatch {
		err = nil
	}
	return out, err
}
