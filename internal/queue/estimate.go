package queue

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// estimate says when a pending job may start: the jobs before it in its tag
// set take the slots of the daemons that match as these come free, each for as
// long as jobs of this tag set and type took lately. What other tag sets have
// waiting for the same daemons is not reckoned with. It is nil when no daemon
// that could take it is there, or when nothing is known of how long jobs take
// and a slot has to come free first.
func (s *Service) estimate(ctx context.Context, need sqlc.QueueNeedRow, daemons []daemonNow, x coder.ProvisionerJobExplanation) (*time.Time, error) {
	takes := map[uuid.UUID]bool{}
	for _, r := range x.Daemons {
		takes[r.DaemonID] = r.Reason == coder.ProvisionerReasonTakesIt || r.Reason == coder.ProvisionerReasonBusy
	}
	var ids []uuid.UUID
	var slots int
	for _, d := range daemons {
		if takes[d.ID] {
			ids, slots = append(ids, d.ID), slots+d.Slots
		}
	}
	if slots == 0 || x.QueuePosition < 1 {
		return nil, nil
	}
	running, err := s.Store.QueueRunningOn(ctx, ids)
	if err != nil {
		return nil, err
	}
	means, err := s.means(ctx, need, running)
	if err != nil {
		return nil, err
	}
	free := make([]time.Duration, 0, slots)
	for _, r := range running {
		mean, ok := means[kindOfJob{r.TagSetID, r.Type}]
		if !ok {
			free = append(free, -1)
			continue
		}
		free = append(free, max(0, mean-seconds(r.ElapsedSeconds)))
	}
	for len(free) < slots {
		free = append(free, 0)
	}
	wait, ok := coder.QueueWait(free, means[kindOfJob{need.TagSetID, need.Type}], x.QueuePosition)
	if !ok {
		return nil, nil
	}
	at := time.Now().Add(wait).Truncate(time.Second).UTC()
	return &at, nil
}

// kindOfJob is what jobs share that take about as long.
type kindOfJob struct {
	tagSet int64
	kind   string
}

func (s *Service) means(ctx context.Context, need sqlc.QueueNeedRow, running []sqlc.QueueRunningOnRow) (map[kindOfJob]time.Duration, error) {
	asked := map[kindOfJob]bool{{need.TagSetID, need.Type}: true}
	for _, r := range running {
		asked[kindOfJob{r.TagSetID, r.Type}] = true
	}
	var sets []int64
	var types []string
	for k := range asked {
		sets, types = append(sets, k.tagSet), append(types, k.kind)
	}
	rows, err := s.Store.QueueMeans(ctx, sets, types)
	if err != nil {
		return nil, err
	}
	out := map[kindOfJob]time.Duration{}
	for _, r := range rows {
		out[kindOfJob{r.TagSetID, r.Type}] = seconds(r.Seconds)
	}
	return out, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
