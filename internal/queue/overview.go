package queue

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// OverviewFilter says which tag sets of a queue are wanted.
type OverviewFilter struct {
	Tags coder.Tags // that jobs ask for, among others
	// Provisioner are the tags of a provisioner, with or without scope and
	// owner: only what it would take is wanted; nil means everything.
	Provisioner coder.Tags
	Target      time.Duration // how long a job should wait at most; 0 means coder.DefaultProvisionerQueueTarget
	Limit       int           // of tag sets; 0 means no limit
	Offset      int
}

// Overview gives what waits and runs in an organization by tag set, those with
// the oldest waiting jobs first, and how many slots each should have. Tag sets
// of provisioners that are there are told even when nothing asks for them. It
// is for who may read the organization's jobs.
func (s *Service) Overview(ctx context.Context, actor access.Subject, organizationID uuid.UUID, f OverviewFilter) (coder.ProvisionerQueue, error) {
	out := coder.ProvisionerQueue{TagSets: []coder.ProvisionerQueueTagSet{}}
	o := access.Object{Type: coder.RBACResourceProvisionerJobs, OrganizationID: organizationID}
	if err := actor.Check(coder.RBACActionRead, o); err != nil {
		return out, err
	}
	all, there, err := s.overview(ctx, &organizationID, f.Target)
	if err != nil {
		return out, err
	}
	if !there {
		out.Warnings = append(out.Warnings, coder.NoProvisioners())
	}
	if f.Provisioner != nil && f.Provisioner[coder.TagScope] == "" {
		f.Provisioner = coder.NormalizeTags(uuid.Nil, f.Provisioner)
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

// namedSet is a tag set of an organization that is known by name.
type namedSet struct {
	coder.ProvisionerQueueTagSet
	organization, key string
}

// overview reads the tag sets of one organization, or of all, and says whether
// any provisioner is there.
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
		if !known[place{r.OrganizationID, keys[i]}] { // no job ever asked for exactly these tags
			rows = append(rows, sqlc.QueueOverviewRow{OrganizationID: r.OrganizationID, Organization: r.Organization, Key: keys[i], Tags: r.Tags})
		}
	}
	out := make([]namedSet, 0, len(rows))
	for _, r := range rows {
		// A key that a provisioner of one organization has may be a set of another.
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
	t := coder.ProvisionerQueueTagSet{
		Tags: r.Tags, Pending: int(r.Pending), Held: int(r.Held), Running: int(r.Running),
		OldestWaitSeconds: milli(max(0, r.OldestSeconds)), MeanSeconds: milli(r.MeanSeconds),
		RecommendedSlots: coder.RecommendedSlots(int(r.Pending), int(r.Running), seconds(r.MeanSeconds), target),
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
