package coder

import (
	"fmt"
	"math"
	"time"
)

// QueueWait says how long the job at a position of a queue, from 1, waits for
// its turn. free is when each slot comes free, below 0 for one of which that is
// not known; every job holds its slot for mean, 0 when that is not known. It is
// not ok when what is known does not say.
//
// Slot i starts jobs at free[i], free[i]+mean, and so on; the wait is the
// position-th smallest of all of these, found by halving.
func QueueWait(free []time.Duration, mean time.Duration, position int) (wait time.Duration, ok bool) {
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

// Summarize gives the explanation of a job in one line for people.
func (x ProvisionerJobExplanation) Summarize(job ProvisionerJob, now time.Time) string {
	switch x.Status {
	case ProvisionerJobStatusPending:
	case ProvisionerJobStatusRunning, ProvisionerJobStatusCanceling:
		s := fmt.Sprintf("It does not wait: the provisioner %q runs it", job.WorkerName)
		if job.StartedAt != nil {
			s += " since " + job.StartedAt.UTC().Format(time.RFC3339)
		}
		if x.Status == ProvisionerJobStatusCanceling {
			s += ", and is to stop"
		}
		return s + "."
	default:
		s := "It does not wait: it " + x.Status.Past()
		if job.CompletedAt != nil {
			s += " at " + job.CompletedAt.UTC().Format(time.RFC3339)
		}
		return s + "."
	}
	place := fmt.Sprintf("It is number %d of %d in the queue of its tags", x.QueuePosition, x.QueueSize)
	if x.BehindPeople {
		place += ", where builds that people asked for go first"
	}
	switch {
	case x.Held != "":
		return "It is held back: " + x.Held
	case x.Warning != "":
		return x.Warning
	case len(x.Daemons) > 0 && x.Daemons[0].Reason == ProvisionerReasonTakesIt:
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

// Past says in a sentence how a job that is over ended: it succeeded.
func (s ProvisionerJobStatus) Past() string {
	switch s {
	case ProvisionerJobStatusSucceeded:
		return "succeeded"
	case ProvisionerJobStatusCanceled:
		return "was canceled"
	}
	return "failed"
}
