package queue

import (
	"context"
	"fmt"
	"math"
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
	wait, ok := startAfter(free, means[kindOfJob{need.TagSetID, need.Type}], x.QueuePosition)
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

// startAfter says how long the job at a position of a queue, from 1, waits for
// its turn. free is when each slot comes free, below 0 for one of which that is
// not known; every job holds its slot for mean, 0 when that is not known. It is
// not ok when what is known does not say.
//
// Slot i starts jobs at free[i], free[i]+mean, and so on; the wait is the
// position-th smallest of all of these, found by halving.
func startAfter(free []time.Duration, mean time.Duration, position int) (wait time.Duration, ok bool) {
	var known []time.Duration
	now := 0
	for _, f := range free {
		if f == 0 {
			now++
		}
		if f >= 0 {
			known = append(known, f)
		}
	}
	if now >= position {
		return 0, true
	}
	if mean <= 0 || len(known) == 0 {
		return 0, false
	}
	started := func(by time.Duration) (n int) {
		for _, f := range known {
			if f <= by {
				n += int((by-f)/mean) + 1
			}
		}
		return n
	}
	low, high := time.Duration(-1), time.Duration(0) // started(low) < position <= started(high)
	for started(high) < position {
		if high > math.MaxInt64/4 {
			return 0, false
		}
		low, high = high, max(mean, 2*high)
	}
	for high-low > time.Millisecond {
		if mid := low + (high-low)/2; started(mid) < position {
			low = mid
		} else {
			high = mid
		}
	}
	return high, true
}

// summary is an explanation in one line.
func summary(x coder.ProvisionerJobExplanation, job coder.ProvisionerJob, now time.Time) string {
	switch x.Status {
	case coder.ProvisionerJobStatusPending:
	case coder.ProvisionerJobStatusRunning, coder.ProvisionerJobStatusCanceling:
		s := fmt.Sprintf("It does not wait: the provisioner %q runs it", job.WorkerName)
		if job.StartedAt != nil {
			s += " since " + job.StartedAt.UTC().Format(time.RFC3339)
		}
		if x.Status == coder.ProvisionerJobStatusCanceling {
			s += ", and is to stop"
		}
		return s + "."
	default:
		s := "It does not wait: it " + past(x.Status)
		if job.CompletedAt != nil {
			s += " at " + job.CompletedAt.UTC().Format(time.RFC3339)
		}
		return s + "."
	}
	place := fmt.Sprintf("It is number %d of %d in the queue of its tags", x.QueuePosition, x.QueueSize)
	switch {
	case x.Held != "":
		return "It is held back: " + x.Held
	case x.Warning != "":
		return x.Warning
	case len(x.Daemons) > 0 && x.Daemons[0].Reason == coder.ProvisionerReasonTakesIt:
		return place + ", and a provisioner is free."
	}
	s := place + "; the provisioner that takes such jobs is busy"
	if n := x.Matched.Available; n > 1 {
		s = fmt.Sprintf("%s; the %d provisioners that take such jobs are busy", place, n)
	}
	if x.EstimatedStart == nil {
		return s + "."
	}
	wait := x.EstimatedStart.Sub(now).Round(time.Second)
	if wait < time.Second {
		return s + ", and it should start any moment."
	}
	return fmt.Sprintf("%s, and it should start in about %s.", s, wait)
}
