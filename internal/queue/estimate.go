package queue

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue/explain"
)

// estimate returns the likely start of a pending job. The jobs before it in its tag set
// occupy the slots of matching daemons as these become free, each for the mean duration
// of recent jobs with the same tags and type. Jobs of other tag sets are not considered.
// The result is nil if no connected daemon can run the job, or if a slot must become
// free first and no durations are known.
func (s *Service) estimate(ctx context.Context, need sqlc.QueueNeedRow, daemons []daemonNow, x codersdk.ProvisionerJobExplanation) (*time.Time, error) {
	takes := map[uuid.UUID]bool{}
	for _, r := range x.Daemons {
		takes[r.DaemonID] = r.Reason == codersdk.ProvisionerReasonTakesIt || r.Reason == codersdk.ProvisionerReasonBusy
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
	wait, ok := explain.QueueWait(free, means[kindOfJob{need.TagSetID, need.Type}], x.QueuePosition)
	if !ok {
		return nil, nil
	}
	at := s.Now().Add(wait).Truncate(time.Second).UTC()
	return &at, nil
}

// kindOfJob identifies jobs with similar durations.
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
