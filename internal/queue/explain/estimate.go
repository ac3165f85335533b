package explain

import (
	"fmt"
	"math"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// QueueWait returns how long the job at a position of a queue, from 1, waits for a
// slot. free is the time until each slot is free, below 0 if unknown. mean is the mean
// duration of a job, 0 if unknown. ok is false if these do not determine the wait.
//
// Slot i starts jobs at free[i], free[i]+mean, and so on. The wait is the position-th
// smallest of all these times, found by bisection.
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

// Summarize returns the explanation of a job as one line for users.
func Summarize(x codersdk.ProvisionerJobExplanation, job codersdk.ProvisionerJob, now time.Time) string {
	switch x.Status {
	case codersdk.ProvisionerJobStatusPending:
	case codersdk.ProvisionerJobStatusRunning, codersdk.ProvisionerJobStatusCanceling:
		s := fmt.Sprintf("It does not wait: the provisioner %q runs it", job.WorkerName)
		if job.StartedAt != nil {
			s += " since " + job.StartedAt.UTC().Format(time.RFC3339)
		}
		if x.Status == codersdk.ProvisionerJobStatusCanceling {
			s += ", and is to stop"
		}
		return s + "."
	default:
		s := "It does not wait: it " + Past(x.Status)
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
	case len(x.Daemons) > 0 && x.Daemons[0].Reason == codersdk.ProvisionerReasonTakesIt:
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

// Past returns the past tense of a final status for a sentence: "it succeeded".
func Past(s codersdk.ProvisionerJobStatus) string {
	switch s {
	case codersdk.ProvisionerJobStatusSucceeded:
		return "succeeded"
	case codersdk.ProvisionerJobStatusCanceled:
		return "was canceled"
	}
	return "failed"
}

// RecommendedSlots returns the number of slots with which all pending jobs of a tag
// set start within the target:
//
//	running + min(pending, ceil(pending * mean / target))
//
// A slot that starts a job every mean seconds starts target/mean jobs within the
// target. The result is at most the number of jobs, and at least one if there is a
// job. A mean of 0 (unknown) counts as the target, so each job gets a slot of its own.
// Held jobs do not count, because more slots do not release them. A target of 0
// means codersdk.DefaultProvisionerQueueTarget.
func RecommendedSlots(pending, running int, mean, target time.Duration) int {
	if target <= 0 {
		target = codersdk.DefaultProvisionerQueueTarget
	}
	if mean <= 0 || mean >= target {
		return running + pending
	}
	need := math.Ceil(float64(pending)*mean.Seconds()/target.Seconds() - 1e-9)
	return running + min(pending, int(need))
}
