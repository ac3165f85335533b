package prebuild

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// TemplatePrebuilds is the state of the prebuilt workspaces of a template.
type TemplatePrebuilds struct {
	ReconciliationPaused bool                   `json:"reconciliation_paused"` // for the whole deployment
	Presets              []PresetPrebuildStatus `json:"presets"`               // of the active version that have prebuilt workspaces
}

// PresetPrebuildStatus is how many prebuilt workspaces a preset has now, and why.
type PresetPrebuildStatus struct {
	PresetID   uuid.UUID `json:"preset_id"`
	PresetName string    `json:"preset_name"`
	// Defined is the number that the preset defines for this time. Demand is the number that the template's budget
	// may raise it to: an estimate from past weeks, 0 without a budget. Desired is the number that is kept.
	Defined int `json:"defined_instances"`
	Demand  int `json:"demand_instances"`
	Desired int `json:"desired_instances"`
	// Running have finished their build. Eligible are those of them that can be claimed.
	Running  int `json:"running"`
	Eligible int `json:"eligible"`
	// FailuresInARow delay the next build. Suspended is true after too many of them.
	FailuresInARow int  `json:"failures_in_a_row"`
	Suspended      bool `json:"suspended"`
}

// Status returns how many prebuilt workspaces the presets of a template's active version have now, and why.
func (s *Service) Status(ctx context.Context, actor access.Subject, templateID uuid.UUID) (TemplatePrebuilds, error) {
	out := TemplatePrebuilds{Presets: []PresetPrebuildStatus{}}
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
		out.Presets = append(out.Presets, PresetPrebuildStatus{
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
