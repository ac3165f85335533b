package prebuild

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/deployment"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// settingsName is the name of the site setting.
const settingsName = "prebuilds"

// errUnchanged rolls back a transaction that changes nothing.
var errUnchanged = errors.New("unchanged")

func (s *Service) settings(ctx context.Context) (out codersdk.PrebuildsSettings, err error) {
	return out, deployment.Get(ctx, s.Store.Queries, settingsName, &out)
}

// Settings returns whether reconciliation is paused.
func (s *Service) Settings(ctx context.Context, actor access.Subject) (codersdk.PrebuildsSettings, error) {
	if err := deployment.Check(actor, codersdk.RBACActionRead, codersdk.RBACResourceDeploymentConfig); err != nil {
		return codersdk.PrebuildsSettings{}, err
	}
	return s.settings(ctx)
}

// SetSettings pauses or resumes reconciliation. Ready workspaces can be claimed while it is paused.
// changed is false if the settings were the same before.
func (s *Service) SetSettings(ctx context.Context, actor access.Subject, in codersdk.PrebuildsSettings) (changed bool, err error) {
	if err := deployment.Check(actor, codersdk.RBACActionUpdate, codersdk.RBACResourceDeploymentConfig); err != nil {
		return false, err
	}
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		var old codersdk.PrebuildsSettings
		if err := deployment.GetForUpdate(ctx, q, settingsName, &old); err != nil {
			return err
		}
		if old == in {
			return errUnchanged
		}
		if err := deployment.Put(ctx, q, settingsName, in, s.Now()); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypePrebuildsSettings, Target: "prebuilds settings",
			Diff: codersdk.AuditDiff{"reconciliation_paused": {Old: old.ReconciliationPaused, New: in.ReconciliationPaused}},
		})
	})
	if errors.Is(err, errUnchanged) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.wake()
	return true, nil
}

// wake starts a reconciliation on all replicas.
func (s *Service) wake() {
	s.Hub.Publish(notify.Kind(string(codersdk.RBACResourcePrebuiltWorkspace)))
}

// Invalidate replaces all ready prebuilt workspaces of a template and retries suspended presets. It
// returns the presets of the active version that have prebuilt workspaces.
func (s *Service) Invalidate(ctx context.Context, actor access.Subject, templateID uuid.UUID) (codersdk.InvalidatePresetsResponse, error) {
	out := codersdk.InvalidatePresetsResponse{Invalidated: []codersdk.InvalidatedPreset{}}
	row, err := s.template(ctx, actor, codersdk.RBACActionUpdate, templateID)
	if err != nil {
		return out, err
	}
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		out.Invalidated = out.Invalidated[:0]
		t, err := q.PrebuildTemplate(ctx, templateID)
		if err != nil {
			return err
		}
		for _, p := range t.Presets {
			if p.PrebuildsOf() != nil {
				out.Invalidated = append(out.Invalidated, codersdk.InvalidatedPreset{PresetName: p.Name, TemplateName: t.Name, TemplateVersionName: t.Version})
			}
		}
		if err := q.PrebuildInvalidate(ctx, templateID, s.Now().UTC()); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeTemplate, ResourceID: t.ID, OrganizationID: t.OrganizationID,
			Target: t.Name, Icon: row.Icon, Fields: map[string]any{"prebuilds_invalidated": true},
		})
	})
	if err != nil {
		return out, err
	}
	s.wake()
	return out, nil
}
