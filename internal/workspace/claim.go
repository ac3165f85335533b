package workspace

import (
	"context"
	"slices"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// claim looks for a prebuilt workspace that is what p asks for and, when there
// is one, gives it to the new owner under the new name: p becomes its next
// build, which starts it for them. Two who ask at once get two different ones,
// and who finds none left makes an ordinary workspace. (WS-20)
func (s *Service) claim(ctx context.Context, q *sqlc.Queries, p *plan) (bool, error) {
	v := p.version.TemplateVersion
	if !slices.ContainsFunc(v.Presets, func(x coder.Preset) bool { return x.PrebuildsOf() != nil }) {
		return false, nil
	}
	values, preset, err := s.parameters(ctx, q, *p)
	if err != nil || preset == nil {
		return false, err
	}
	id, err := q.PrebuildClaim(ctx, sqlc.PrebuildClaimParams{
		TemplateID: p.workspace.TemplateID, PresetID: *preset, TemplateVersionID: v.ID,
		SilentSince: s.now().Add(-coder.AgentInactiveTimeout),
	})
	if coder.Is(err, coder.CodeNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	latest, err := q.BuildLatest(ctx, id)
	if err != nil {
		return false, err
	}
	if !claimable(v.Parameters, latest.WorkspaceBuild.Parameters, values) {
		return false, nil
	}
	w := p.workspace
	w.ID = id
	if ok, err := affordable(ctx, q, w, latest.WorkspaceBuild.DailyCost); err != nil || !ok {
		return false, err
	}
	err = q.PrebuildTransfer(ctx, sqlc.PrebuildTransferParams{
		ID: id, OwnerID: w.OwnerID, Name: w.Name, AutomaticUpdates: w.AutomaticUpdates, AutostartSchedule: w.AutostartSchedule,
		TTLMS: w.TTLMS, NextStartAt: w.NextStartAt, Now: s.now(),
	})
	if err != nil {
		return false, taken(err, w.Name)
	}
	p.workspace, p.number, p.claim = w, latest.WorkspaceBuild.BuildNumber+1, true
	return true, nil
}

// claimable says whether a workspace that was built with some values can be
// built with others: what cannot be changed later is the same.
func claimable(defs []coder.TemplateVersionParameter, built, wanted []coder.WorkspaceBuildParameter) bool {
	for _, d := range defs {
		if !d.Mutable && valueOf(built, d.Name) != valueOf(wanted, d.Name) {
			return false
		}
	}
	return true
}

func valueOf(ps []coder.WorkspaceBuildParameter, name string) string {
	if i := slices.IndexFunc(ps, func(p coder.WorkspaceBuildParameter) bool { return p.Name == name }); i >= 0 {
		return ps[i].Value
	}
	return ""
}

// affordable says whether the owner of a workspace may take it over at what it
// costs. Who may not makes one of their own, whose plan says so. (WS-19)
func affordable(ctx context.Context, q *sqlc.Queries, w sqlc.Workspace, cost int32) (bool, error) {
	if cost == 0 {
		return true, nil
	}
	if err := q.QuotaLock(ctx, w.OwnerID, w.OrganizationID); err != nil {
		return false, err
	}
	budget, err := q.QuotaBudget(ctx, w.OwnerID, w.OrganizationID)
	if err != nil {
		return false, err
	}
	consumed, err := q.QuotaConsumed(ctx, w.OwnerID, w.OrganizationID, w.ID)
	return consumed+int64(cost) <= budget, err
}

// fitting gives the preset whose values all are among those of a build, the one
// with the most of them; nil when there is none. (TPL-11)
func fitting(presets []coder.Preset, values []coder.WorkspaceBuildParameter) *coder.Preset {
	var best *coder.Preset
	for i, x := range presets {
		fits := !slices.ContainsFunc(x.Parameters, func(p coder.PresetParameter) bool {
			return !slices.Contains(values, coder.WorkspaceBuildParameter(p))
		})
		if fits && len(x.Parameters) > 0 && (best == nil || len(x.Parameters) > len(best.Parameters)) {
			best = &presets[i]
		}
	}
	return best
}
