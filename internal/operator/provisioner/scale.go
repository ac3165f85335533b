package provisioner

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/coderclient"
	"github.com/seed-2a7f8fe7/coder/internal/operator/reconcile"
)

// need is the demand of the queue on a pool.
type need struct {
	pending, running, recommended int32
	oldest                        time.Duration
}

// demand returns the pending and running jobs that provisioners with these tags
// can run. A provisioner without tags runs only jobs without tags.
func demand(tags map[string]string, q codersdk.ProvisionerQueue) need {
	var n need
	daemon := codersdk.NormalizeTags(uuid.Nil, tags)
	for _, s := range q.TagSets {
		if !daemon.Match(s.Tags) {
			continue
		}
		n.pending += int32(s.Pending)              //nolint:gosec // a queue's length
		n.running += int32(s.Running)              //nolint:gosec // as above
		n.recommended += int32(s.RecommendedSlots) //nolint:gosec // as above
		n.oldest = max(n.oldest, time.Duration(s.OldestWaitSeconds*float64(time.Second)))
	}
	return n
}

// Scale is the desired number of pods, and why.
type Scale struct {
	Replicas int32
	// FewerSince is since when fewer would be sufficient; zero if they are not.
	FewerSince time.Time
	Reason     string
	Message    string
	// Again is when time alone may change the result; zero for never.
	Again time.Duration
}

// Replicas returns the desired number of pods at a time. Without autoscaling it
// is the specified number. With autoscaling there are slots for all running
// jobs and for the pending ones divided by the target, within the bounds. Pods
// are added at once, removed only when fewer were sufficient for the whole
// stabilization period, and never fewer than the pods that run builds.
func Replicas(f Facts, now time.Time) Scale {
	p := f.Provisioner
	a := p.Spec.Autoscaling
	if a == nil {
		if p.Spec.Replicas == nil {
			return Scale{Replicas: 1}
		}
		return Scale{Replicas: *p.Spec.Replicas}
	}
	least, hint, again := leastNow(*a, now)
	have := least
	if f.Deployment != nil && f.Deployment.Spec.Replicas != nil {
		have = *f.Deployment.Spec.Replicas
	}
	bound := func(n int32) int32 { return max(least, min(n, a.MaxReplicas)) }
	if f.View == nil {
		return Scale{Replicas: bound(have), Reason: "QueueUnknown", Message: "the server's queue is unknown; the number of pods stays the same", Again: again}
	}
	n := demand(p.Spec.Tags, f.View.Queue)
	busyPods, busySlots := busyOf(p, *f.View)
	slots := slotsOf(p)
	ours := share(f, have)
	waiting := int32(math.Ceil(float64(ours) / float64(max(a.TargetPendingPerSlot, 1))))
	running := max(busySlots, n.running-slotsElsewhere(p, *f.View))
	if ours != n.pending {
		hint = fmt.Sprintf(", %d jobs are left to other pools%s", n.pending-ours, hint)
	}
	want := bound(max(busyPods, int32(math.Ceil(float64(waiting+running)/float64(slots)))))
	s := Scale{
		Replicas: want,
		Again:    again,
		Reason:   "Steady",
		Message:  fmt.Sprintf("%d pending and %d running jobs; %d pods%s", n.pending, n.running, want, hint),
	}
	switch {
	case want > have:
		s.Reason = "ScaledUp"
	case want < have:
		s.FewerSince = now
		if t := p.Status.FewerSince; t != nil {
			s.FewerSince = t.Time
		}
		wait := 5 * time.Minute
		if a.ScaleDownStabilization != nil {
			wait = a.ScaleDownStabilization.Duration
		}
		if left := wait - now.Sub(s.FewerSince); left > 0 {
			s.Replicas = bound(have)
			s.Reason, s.Message = "Stabilizing", fmt.Sprintf("%d pods are sufficient; %d stay until this has lasted %s", want, s.Replicas, wait)
			if s.Again == 0 || left < s.Again {
				s.Again = left
			}
			return s
		}
		s.Reason, s.FewerSince = "ScaledDown", time.Time{}
	}
	return s
}

// slotsElsewhere returns the busy slots of other provisioners that match a job
// that the pool matches, too.
func slotsElsewhere(p *v1alpha1.CoderProvisioner, v coderclient.View) int32 {
	ours, tags := map[uuid.UUID]bool{}, codersdk.NormalizeTags(uuid.Nil, p.Spec.Tags)
	for _, d := range daemonsOf(p, v) {
		ours[d.ID] = true
	}
	var n int32
	for _, d := range v.Daemons {
		both := func(s codersdk.ProvisionerQueueTagSet) bool {
			return s.Running > 0 && tags.Match(s.Tags) && codersdk.Tags(d.Tags).Match(s.Tags)
		}
		if !ours[d.ID] && d.BusySlots > 0 && slices.ContainsFunc(v.Queue.TagSets, both) {
			n += int32(d.BusySlots) //nolint:gosec // at most 64
		}
	}
	return n
}

// leastNow returns the minimum number of pods at a time, the schedule entry
// that raised it, and when that may change.
func leastNow(a v1alpha1.AutoscalingSpec, now time.Time) (least int32, hint string, again time.Duration) {
	if a.MinReplicas != nil {
		least = *a.MinReplicas
	}
	for _, h := range a.Schedule {
		s, err := cron.ParseStandard(h.Start)
		if err != nil {
			continue // reported by a condition; see checkSchedule
		}
		// The last start is the first one after the start that would be over by
		// now.
		start := s.Next(now.Add(-h.Duration.Duration))
		next := start
		if !start.IsZero() && !start.After(now) {
			if h.MinReplicas > least {
				least, hint = h.MinReplicas, fmt.Sprintf(", at least %d by schedule %q", h.MinReplicas, h.Start)
			}
			next = start.Add(h.Duration.Duration)
		}
		if d := next.Sub(now); !next.IsZero() && d > 0 && (again == 0 || d < again) {
			again = d
		}
	}
	return min(least, a.MaxReplicas), hint, again
}

// checkSchedule returns what is invalid in the schedule, or "".
func checkSchedule(a v1alpha1.AutoscalingSpec) string {
	for i, h := range a.Schedule {
		if _, err := cron.ParseStandard(h.Start); err != nil {
			return fmt.Sprintf("autoscaling.schedule[%d].start %q is not a cron expression of five fields: %v", i, h.Start, err)
		}
		if h.Duration.Duration <= 0 {
			return fmt.Sprintf("autoscaling.schedule[%d].duration must be more than 0", i)
		}
	}
	return ""
}

// noteScale records the result in the status.
func noteScale(p *v1alpha1.CoderProvisioner, s Scale) {
	p.Status.FewerSince = nil
	if !s.FewerSince.IsZero() {
		t := metav1.NewTime(s.FewerSince.Truncate(time.Second))
		p.Status.FewerSince = &t
	}
	if p.Spec.Autoscaling == nil {
		meta.RemoveStatusCondition(&p.Status.Conditions, v1alpha1.ConditionScaled)
		return
	}
	if wrong := checkSchedule(*p.Spec.Autoscaling); wrong != "" {
		reconcile.Set(p, v1alpha1.ConditionScaled, false, "BadSchedule", wrong)
		return
	}
	reconcile.Set(p, v1alpha1.ConditionScaled, s.Reason != "QueueUnknown", s.Reason, s.Message)
}
