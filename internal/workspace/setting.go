package workspace

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// minExtension is how far ahead an extended deadline must at least lie.
const minExtension = 30 * time.Minute

// settings is what of a workspace goes into the audit log.
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

// change locks a live workspace that the actor may update, lets fn change the
// row and its copy, records the difference, and tells who watches.
func (s *Service) change(ctx context.Context, actor access.Subject, id uuid.UUID, fn func(q *sqlc.Queries, w *sqlc.Workspace, t sqlc.Template) error) error {
	if _, err := s.findLive(ctx, actor, coder.RBACActionUpdate, id); err != nil {
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
			Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeWorkspace, ResourceID: id,
			OrganizationID: w.OrganizationID, Target: w.Name, Icon: t.Icon, Diff: audit.Diff(before, audited(w)),
		})
	})
	if err != nil {
		return err
	}
	s.Hub.Publish(notify.Workspace(id))
	return nil
}

// UpdateWorkspace renames a workspace, where the server lets them be renamed;
// giving the name that it has is always fine. (WS-08)
func (s *Service) UpdateWorkspace(ctx context.Context, actor access.Subject, id uuid.UUID, req coder.UpdateWorkspaceRequest) error {
	w, err := s.findLive(ctx, actor, coder.RBACActionUpdate, id)
	if err != nil || req.Name == "" || req.Name == w.Name {
		return err
	}
	if !s.AllowRenames {
		return coder.Errorf(coder.CodeInvalid, "This server does not let workspaces be renamed, because templates may name disks after them; its operator can allow it with --allow-workspace-renames")
	}
	if err := coder.CheckName("name", req.Name); err != nil {
		return err
	}
	return s.change(ctx, actor, id, func(q *sqlc.Queries, w *sqlc.Workspace, _ sqlc.Template) error {
		w.Name = req.Name
		return taken(q.WorkspaceRename(ctx, req.Name, s.now(), id), req.Name)
	})
}

// UpdateWorkspaceAutostart sets the schedule on which a workspace starts; none
// clears it. (WS-13)
func (s *Service) UpdateWorkspaceAutostart(ctx context.Context, actor access.Subject, id uuid.UUID, req coder.UpdateWorkspaceAutostartRequest) error {
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

// UpdateWorkspaceTTL sets for how long the workspace runs from its next start on. (WS-14)
func (s *Service) UpdateWorkspaceTTL(ctx context.Context, actor access.Subject, id uuid.UUID, req coder.UpdateWorkspaceTTLRequest) error {
	return s.change(ctx, actor, id, func(q *sqlc.Queries, w *sqlc.Workspace, t sqlc.Template) error {
		ttl, err := checkTTL(t, req.TTLMS)
		if err != nil {
			return err
		}
		w.TTLMS = ttl
		return q.WorkspaceSetTTL(ctx, ttl, s.now(), id)
	})
}

// UpdateWorkspaceAutomaticUpdates sets whether starts move to the active version. (TPL-14)
func (s *Service) UpdateWorkspaceAutomaticUpdates(ctx context.Context, actor access.Subject, id uuid.UUID, req coder.UpdateWorkspaceAutomaticUpdatesRequest) error {
	if err := checkAutomaticUpdates(req.AutomaticUpdates); err != nil {
		return err
	}
	return s.change(ctx, actor, id, func(q *sqlc.Queries, w *sqlc.Workspace, _ sqlc.Template) error {
		w.AutomaticUpdates = string(req.AutomaticUpdates)
		return q.WorkspaceSetAutomaticUpdates(ctx, w.AutomaticUpdates, s.now(), id)
	})
}

// UpdateWorkspaceDormancy makes a workspace dormant or wakes it. A dormant one
// cannot be started, and is due for deletion when its template says so. (WS-18)
func (s *Service) UpdateWorkspaceDormancy(ctx context.Context, actor access.Subject, id uuid.UUID, req coder.UpdateWorkspaceDormancy) (coder.Workspace, error) {
	err := s.change(ctx, actor, id, func(q *sqlc.Queries, w *sqlc.Workspace, t sqlc.Template) error {
		if req.Dormant == (w.DormantAt != nil) {
			return nil
		}
		return rest(ctx, q, w, t, req.Dormant, s.now())
	})
	if err != nil {
		return coder.Workspace{}, err
	}
	return s.showNow(ctx, actor, id)
}

// rest makes a workspace dormant, or wakes it, in the transaction q.
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

// ExtendWorkspace moves the deadline of a running workspace. It must lie half
// an hour ahead and not behind what the template insists on. (WS-14)
func (s *Service) ExtendWorkspace(ctx context.Context, actor access.Subject, id uuid.UUID, req coder.PutExtendWorkspaceRequest) error {
	if req.Deadline == nil {
		return coder.Invalid("deadline", "a time is required")
	}
	deadline, now := req.Deadline.UTC(), s.now()
	if deadline.Before(now.Add(minExtension)) {
		return coder.Invalid("deadline", "must be at least %d minutes from now", int(minExtension.Minutes()))
	}
	return s.change(ctx, actor, id, func(q *sqlc.Queries, w *sqlc.Workspace, _ sqlc.Template) error {
		latest, err := q.BuildLatest(ctx, id)
		if err != nil {
			return err
		}
		b := latest.WorkspaceBuild
		status := coder.NewWorkspaceStatus(coder.WorkspaceTransition(b.Transition), coder.ProvisionerJobStatus(latest.JobStatus))
		switch {
		case status != coder.WorkspaceStatusRunning:
			return coder.Errorf(coder.CodeConflict, "Workspace %q is %s; only a running workspace has a deadline", w.Name, status)
		case b.Deadline == nil:
			return coder.Errorf(coder.CodeConflict, "Workspace %q has no deadline to extend; it runs until it is stopped", w.Name)
		case b.MaxDeadline != nil && deadline.After(*b.MaxDeadline):
			return coder.Invalid("deadline", "must not be after %s, when the template stops the workspace", b.MaxDeadline.Format(time.RFC3339))
		}
		return q.BuildSetDeadline(ctx, &deadline, now, b.ID)
	})
}

// FavoriteWorkspace puts a workspace first in the actor's lists, or no longer. (WS-22)
func (s *Service) FavoriteWorkspace(ctx context.Context, actor access.Subject, id uuid.UUID, favorite bool) error {
	if _, err := s.findLive(ctx, actor, coder.RBACActionRead, id); err != nil {
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

// usageApps are the ways in which a workspace may be in use.
var usageApps = map[string]bool{"vscode": true, "jetbrains": true, "reconnecting-pty": true, "ssh": true}

// PostWorkspaceUsage notes that a workspace is in use, with an agent and an
// app or without either, which puts off its stop. (WS-15, WS-28)
func (s *Service) PostWorkspaceUsage(ctx context.Context, actor access.Subject, id uuid.UUID, req coder.PostWorkspaceUsageRequest) error {
	w, err := s.findLive(ctx, actor, coder.RBACActionRead, id)
	if err != nil {
		return err
	}
	o := object(w)
	if !actor.Can(coder.RBACActionSSH, o) && !actor.Can(coder.RBACActionApplicationConnect, o) {
		return actor.Check(coder.RBACActionUpdate, o)
	}
	if (req.AgentID == uuid.Nil) != (req.AppName == "") {
		return coder.Invalid("agent_id", "give both agent_id and app_name, or neither")
	}
	if req.AppName != "" && !usageApps[req.AppName] {
		return coder.Invalid("app_name", "%.40q must be one of jetbrains, reconnecting-pty, ssh and vscode", req.AppName)
	}
	if req.AgentID != uuid.Nil {
		current, err := s.Store.WorkspaceHasAgent(ctx, id, req.AgentID)
		if err != nil {
			return err
		}
		if !current {
			return coder.Invalid("agent_id", "the workspace's latest build has no such agent")
		}
	}
	return s.Store.ScheduleUse(ctx, []uuid.UUID{id}, []time.Time{s.now()})
}

// ResolveAutostart says whether an automatic start would fail because the
// version that it moves to needs values that nobody gave. (WS-07)
func (s *Service) ResolveAutostart(ctx context.Context, actor access.Subject, id uuid.UUID) (coder.ResolveAutostartResponse, error) {
	var out coder.ResolveAutostartResponse
	w, err := s.findLive(ctx, actor, coder.RBACActionRead, id)
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
	defs, _, err := s.forms.Resolve(ctx, s.Store.Queries, v.TemplateVersion, w.OwnerID, nil, latest.WorkspaceBuild.Parameters, nil)
	if err != nil {
		return out, err
	}
	_, err = coder.ResolveParameters(defs, nil, latest.WorkspaceBuild.Parameters, coder.ParameterOptions{Transition: coder.WorkspaceTransitionStart})
	out.ParameterMismatch = coder.Is(err, coder.CodeInvalid)
	if out.ParameterMismatch {
		err = nil
	}
	return out, err
}
