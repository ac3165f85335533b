package prebuild

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/deployment"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// settingsName is where the settings are among those of the site.
const settingsName = "prebuilds"

// errUnchanged undoes a transaction that would change nothing.
var errUnchanged = errors.New("unchanged")

func (s *Service) settings(ctx context.Context) (out coder.PrebuildsSettings, err error) {
	return out, deployment.Get(ctx, s.Store.Queries, settingsName, &out)
}

// Settings says whether prebuilt workspaces are looked after.
func (s *Service) Settings(ctx context.Context, actor access.Subject) (coder.PrebuildsSettings, error) {
	if err := deployment.Check(actor, coder.RBACActionRead, coder.RBACResourceDeploymentConfig); err != nil {
		return coder.PrebuildsSettings{}, err
	}
	return s.settings(ctx)
}

// SetSettings pauses that or goes on with it; those that are ready may be
// claimed all the same. changed is false when nothing is different.
func (s *Service) SetSettings(ctx context.Context, actor access.Subject, in coder.PrebuildsSettings) (changed bool, err error) {
	if err := deployment.Check(actor, coder.RBACActionUpdate, coder.RBACResourceDeploymentConfig); err != nil {
		return false, err
	}
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		var old coder.PrebuildsSettings
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
			Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypePrebuildsSettings, Target: "prebuilds settings",
			Diff: coder.AuditDiff{"reconciliation_paused": {Old: old.ReconciliationPaused, New: in.ReconciliationPaused}},
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

// wake has all replicas look at once.
func (s *Service) wake() {
	s.Hub.Publish(notify.Kind(string(coder.RBACResourcePrebuiltWorkspace)))
}

// Invalidate has all prebuilt workspaces of a template that stand ready made
// anew, and presets that failed too often tried again. It names the presets of
// the active version that keep some.
func (s *Service) Invalidate(ctx context.Context, actor access.Subject, templateID uuid.UUID) (coder.InvalidatePresetsResponse, error) {
	out := coder.InvalidatePresetsResponse{Invalidated: []coder.InvalidatedPreset{}}
	row, err := s.Store.WorkspaceTemplate(ctx, templateID)
	if err != nil {
		return out, err
	}
	if row.DeletedAt != nil {
		return out, coder.NotFound()
	}
	o := access.Object{Type: coder.RBACResourceTemplate, ID: row.ID, OrganizationID: row.OrganizationID, UserACL: row.UserACL, GroupACL: row.GroupACL}
	if err := actor.Check(coder.RBACActionUpdate, o); err != nil {
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
				out.Invalidated = append(out.Invalidated, coder.InvalidatedPreset{PresetName: p.Name, TemplateName: t.Name, TemplateVersionName: t.Version})
			}
		}
		if err := q.PrebuildInvalidate(ctx, templateID, s.Now().UTC()); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeTemplate, ResourceID: t.ID, OrganizationID: t.OrganizationID,
			Target: t.Name, Icon: row.Icon, Fields: map[string]any{"prebuilds_invalidated": true},
		})
	})
	if err != nil {
		return out, err
	}
	s.wake()
	return out, nil
}
