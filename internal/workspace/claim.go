package workspace

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/resource"
)

// claim looks for a prebuilt workspace that matches p. If there is one, claim transfers
// it to the new owner and name, and p becomes its next build, a start. Concurrent
// callers get different workspaces; a caller that finds none creates an ordinary one.
// (WS-20)
func (s *Service) claim(ctx context.Context, q *sqlc.Queries, p *plan) (bool, error) {
	v := p.version.TemplateVersion
	if !slices.ContainsFunc(v.Presets, func(x codersdk.StoredPreset) bool { return x.PrebuildsOf() != nil }) {
		return false, nil
	}
	values, preset, err := s.parameters(ctx, q, *p)
	if err != nil || preset == nil {
		return false, err
	}
	id, err := q.PrebuildClaim(ctx, sqlc.PrebuildClaimParams{
		TemplateID: p.workspace.TemplateID, PresetID: *preset, TemplateVersionID: v.ID,
		SilentSince: s.now().Add(-codersdk.AgentInactiveTimeout),
	})
	if codersdk.Is(err, codersdk.CodeNotFound) {
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
	p.stock, err = s.stock(ctx, q, v.ID, latest.WorkspaceBuild, values)
	return err == nil, err
}

// stock returns the running agents of a prebuilt workspace if it can be handed over before
// it is built for its owner: nothing but its name and owner differs from the last build,
// and the template's resources depend on neither. Otherwise it returns nil.
func (s *Service) stock(
	ctx context.Context,
	q *sqlc.Queries,
	versionID uuid.UUID,
	built sqlc.WorkspaceBuild,
	values []codersdk.WorkspaceBuildParameter,
) (*resource.Stock, error) {
	differ := func(v codersdk.WorkspaceBuildParameter) bool { return !slices.Contains(built.Parameters, v) }
	if len(values) != len(built.Parameters) || slices.ContainsFunc(values, differ) {
		return nil, nil
	}
	verdict, err := s.handovers.Read(versionID, func() (source, modules []byte, err error) {
		r, err := q.PrebuildSource(ctx, versionID)
		return r.Source, r.Modules, err
	})
	if err != nil {
		return nil, err
	}
	if !verdict.First {
		s.Log.DebugContext(ctx, "a claim waits for its build", "version_id", versionID, "because", verdict.Because)
		return nil, nil
	}
	out, err := resource.TakeStock(ctx, q, built.JobID)
	if err != nil || !out.Transferable() {
		return nil, err
	}
	return &out, nil
}

// keeps reports whether a build repeats the failed build of a claimed workspace that was
// handed over before it. Its agents go on.
func (p plan) keeps() bool {
	return p.previous != nil && p.previous.HandedOver && p.transition == codersdk.WorkspaceTransitionStart && !p.succeeded
}

// handOver lets agents serve the owner of a workspace before a build has run: those of the
// stock, which become other agents with the commit, or those of a failed build before. When
// the build succeeds, it adopts them; if it fails, they stay.
func (s *Service) handOver(ctx context.Context, q *sqlc.Queries, p plan, buildID, jobID uuid.UUID) error {
	if p.keeps() {
		return q.PrebuildHandOver(ctx, p.previous.Deadline, p.previous.MaxDeadline, buildID)
	}
	if p.stock == nil {
		return nil
	}
	now := s.now()
	deadline, latest, err := s.deadlines(ctx, q, p.workspace, now)
	if err != nil {
		return err
	}
	if err := q.PrebuildHandOver(ctx, deadline, latest, buildID); err != nil {
		return err
	}
	return p.stock.Transfer(ctx, q, jobID, now)
}

// claimable reports whether a workspace that was built with some values can be built
// with others: immutable parameters must be equal.
func claimable(defs []codersdk.TemplateVersionParameter, built, wanted []codersdk.WorkspaceBuildParameter) bool {
	for _, d := range defs {
		if !d.Mutable && valueOf(built, d.Name) != valueOf(wanted, d.Name) {
			return false
		}
	}
	return true
}

func valueOf(ps []codersdk.WorkspaceBuildParameter, name string) string {
	if i := slices.IndexFunc(ps, func(p codersdk.WorkspaceBuildParameter) bool { return p.Name == name }); i >= 0 {
		return ps[i].Value
	}
	return ""
}

// affordable reports whether the owner's quota allows the cost of a claimed workspace.
// Otherwise an ordinary build fails with a message about the quota. (WS-19)
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

// fitting returns the preset with the most values of which all equal those of a build;
// nil if there is none. (TPL-11)
func fitting(presets []codersdk.StoredPreset, values []codersdk.WorkspaceBuildParameter) *codersdk.StoredPreset {
	var best *codersdk.StoredPreset
	for i, x := range presets {
		fits := !slices.ContainsFunc(x.Parameters, func(p codersdk.PresetParameter) bool {
			return !slices.Contains(values, codersdk.WorkspaceBuildParameter(p))
		})
		if fits && len(x.Parameters) > 0 && (best == nil || len(x.Parameters) > len(best.Parameters)) {
			best = &presets[i]
		}
	}
	return best
}
