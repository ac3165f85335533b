package prebuild

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Status returns how many prebuilt workspaces the presets of a template's active version have now, and why.
func (s *Service) Status(ctx context.Context, actor access.Subject, templateID uuid.UUID) (codersdk.TemplatePrebuilds, error) {
	out := codersdk.TemplatePrebuilds{Presets: []codersdk.PresetPrebuildStatus{}}
	if _, err := s.template(ctx, actor, codersdk.RBACActionRead, templateID); err != nil {
		return out, err
	}
	settings, err := s.settings(ctx)
	if err != nil {
		return out, err
	}
	out.ReconciliationPaused = settings.ReconciliationPaused
	now, err := s.look(ctx, s.Store.Queries, templateID)
	if err != nil {
		return out, err
	}
	running, eligible := now.counts()
	for _, p := range now.presets {
		out.Presets = append(out.Presets, codersdk.PresetPrebuildStatus{
			PresetID: p.id, PresetName: p.name, Defined: p.defined, Demand: p.demand, Desired: p.desired,
			Running: running[p.id], Eligible: eligible[p.id], FailuresInARow: p.failures, Suspended: s.suspended(p),
		})
	}
	return out, nil
}

// template returns a template with which actor can do something.
func (s *Service) template(ctx context.Context, actor access.Subject, action codersdk.RBACAction, id uuid.UUID) (sqlc.Template, error) {
	row, err := s.Store.WorkspaceTemplate(ctx, id)
	if err != nil {
		return row, err
	}
	if row.DeletedAt != nil {
		return row, codersdk.NotFound()
	}
	o := access.Object{Type: codersdk.RBACResourceTemplate, ID: row.ID, OrganizationID: row.OrganizationID, UserACL: row.UserACL, GroupACL: row.GroupACL}
	return row, actor.Check(action, o)
}

// suspended reports whether no more workspaces of a preset are created.
func (s *Service) suspended(p preset) bool { return s.Limit > 0 && p.failures >= s.Limit }

// counts returns, by preset, the existing workspaces of the active version, and those of them that can be claimed.
func (s situation) counts() (running, eligible map[uuid.UUID]int) {
	running, eligible = map[uuid.UUID]int{}, map[uuid.UUID]int{}
	for _, w := range s.workspaces {
		if s.wanted(w) == nil || w.transition != codersdk.WorkspaceTransitionStart || w.status != codersdk.ProvisionerJobStatusSucceeded {
			continue
		}
		running[w.preset]++
		if w.ready {
			eligible[w.preset]++
		}
	}
	return running, eligible
}
