package queue

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue/explain"
	"github.com/seed-2a7f8fe7/coder/internal/rule/provisionerhealth"
)

// OverviewFilter filters the tag sets of a queue.
type OverviewFilter struct {
	Tags codersdk.Tags // a subset of the tags of the jobs
	// Provisioner are the tags of a provisioner, with or without scope and owner. Only
	// tag sets that it matches are returned; nil matches all.
	Provisioner codersdk.Tags
	Target      time.Duration // the longest wait of a job; 0 means codersdk.DefaultProvisionerQueueTarget
	Limit       int           // number of tag sets; 0 means no limit
	Offset      int
}

// Overview returns the pending and running jobs of an organization by tag set, those with
// the oldest pending jobs first, and the recommended number of slots. It includes the tag
// sets of connected provisioners without jobs. The actor must be able to read the
// organization's jobs.
func (s *Service) Overview(ctx context.Context, actor access.Subject, organizationID uuid.UUID, f OverviewFilter) (codersdk.ProvisionerQueue, error) {
	out := codersdk.ProvisionerQueue{TagSets: []codersdk.ProvisionerQueueTagSet{}}
	o := access.Object{Type: codersdk.RBACResourceProvisionerJobs, OrganizationID: organizationID}
	if err := actor.Check(codersdk.RBACActionRead, o); err != nil {
		return out, err
	}
	all, there, err := s.overview(ctx, &organizationID, f.Target)
	if err != nil {
		return out, err
	}
	if !there {
		out.Warnings = append(out.Warnings, provisionerhealth.Missing())
	}
	if f.Provisioner != nil && f.Provisioner[codersdk.TagScope] == "" {
		f.Provisioner = codersdk.NormalizeTags(uuid.Nil, f.Provisioner)
	}
	for _, t := range all {
		if !t.Tags.Has(f.Tags) || f.Provisioner != nil && !f.Provisioner.Match(t.Tags) {
			continue
		}
		out.Count++
		out.RecommendedSlots += t.RecommendedSlots
		if out.Count > f.Offset && (f.Limit == 0 || len(out.TagSets) < f.Limit) {
			out.TagSets = append(out.TagSets, t.ProvisionerQueueTagSet)
		}
	}
	return out, nil
}

// namedSet is a tag set with the name of its organization.
type namedSet struct {
	codersdk.ProvisionerQueueTagSet
	organization, key string
}

// overview reads the tag sets of one organization, or of all, and reports whether any
// provisioner is connected.
func (s *Service) overview(ctx context.Context, organizationID *uuid.UUID, target time.Duration) ([]namedSet, bool, error) {
	slots, err := s.Store.QueueSlots(ctx, organizationID, stale.Milliseconds())
	if err != nil {
		return nil, false, err
	}
	pools := map[uuid.UUID][]sqlc.QueueSlotsRow{}
	keys := []string{}
	for _, r := range slots {
		pools[r.OrganizationID] = append(pools[r.OrganizationID], r)
		keys = append(keys, r.Tags.Key())
	}
	rows, err := s.Store.QueueOverview(ctx, organizationID, keys)
	if err != nil {
		return nil, false, err
	}
	type place struct {
		organization uuid.UUID
		key          string
	}
	known := map[place]bool{}
	for _, r := range rows {
		known[place{r.OrganizationID, r.Key}] = true
	}
	for i, r := range slots {
		if !known[place{r.OrganizationID, keys[i]}] { // no job had exactly these tags
			rows = append(rows, sqlc.QueueOverviewRow{OrganizationID: r.OrganizationID, Organization: r.Organization, Key: keys[i], Tags: r.Tags})
		}
	}
	out := make([]namedSet, 0, len(rows))
	for _, r := range rows {
		// A key from a provisioner of one organization can be a tag set of another.
		if r.Pending+r.Held+r.Running == 0 && !slices.ContainsFunc(pools[r.OrganizationID], func(p sqlc.QueueSlotsRow) bool { return p.Tags.Key() == r.Key }) {
			continue
		}
		out = append(out, setOf(r, pools[r.OrganizationID], target))
	}
	slices.SortFunc(out, func(a, b namedSet) int {
		return cmp.Or(-cmp.Compare(a.OldestWaitSeconds, b.OldestWaitSeconds), -cmp.Compare(a.Running, b.Running),
			cmp.Compare(a.organization, b.organization), cmp.Compare(a.key, b.key))
	})
	return out, len(slots) > 0, nil
}

func setOf(r sqlc.QueueOverviewRow, pools []sqlc.QueueSlotsRow, target time.Duration) namedSet {
	t := codersdk.ProvisionerQueueTagSet{
		Tags: r.Tags, Pending: int(r.Pending), Held: int(r.Held), Running: int(r.Running),
		OldestWaitSeconds: milli(max(0, r.OldestSeconds)), MeanSeconds: milli(r.MeanSeconds),
		RecommendedSlots: explain.RecommendedSlots(int(r.Pending), int(r.Running), seconds(r.MeanSeconds), target),
	}
	for _, p := range pools {
		if p.Tags.Match(r.Tags) {
			t.Slots += int(p.Slots)
			t.SlotsBusy += int(p.Busy)
		}
	}
	return namedSet{t, r.Organization, r.Key}
}

// milli rounds seconds to milliseconds.
func milli(s float64) float64 { return math.Round(s*1000) / 1000 }
