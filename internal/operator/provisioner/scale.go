package provisioner

import (
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/round"
)

// need is what the queue asks of a pool.
type need struct {
	pending, running, recommended int32
	oldest                        time.Duration
}

// demand gives what waits and runs that provisioners with these tags can take.
// A provisioner with no tags of its own takes jobs without tags only.
func demand(tags map[string]string, q coder.ProvisionerQueue) need {
	var n need
	daemon := coder.NormalizeTags(uuid.Nil, tags)
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

// Scale is how many pods there should be, and why.
type Scale struct {
	Replicas int32
	// FewerSince is since when fewer would do; zero while they would not.
	FewerSince time.Time
	Reason     string
	Message    string
	// Again is when the time alone may change the answer; zero for never.
	Again time.Duration
}

// Replicas says how many pods there should be at a time. Without autoscaling it
// is what the specification says. With it, there are slots for all jobs that
// run and for those that wait, divided by the target, within the bounds; more
// at once, fewer only when fewer have been enough for the whole stabilization,
// and never fewer than run builds now.
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
		return Scale{Replicas: bound(have), Reason: "QueueUnknown", Message: "the server cannot be asked for its queue; the number of pods stays", Again: again}
	}
	n := demand(p.Spec.Tags, f.View.Queue)
	busyPods, slots := busy(p, f)
	waiting := int32(math.Ceil(float64(n.pending) / float64(max(a.TargetPendingPerSlot, 1))))
	running := max(n.running, 0)
	if others := slotsElsewhere(p, f); others > 0 {
		running = max(0, running-others) // run by provisioners that are not this pool's
	}
	want := bound(max(busyPods, int32(math.Ceil(float64(waiting+running)/float64(slots)))))
	s := Scale{Replicas: want, Again: again, Reason: "Steady", Message: fmt.Sprintf("%d jobs wait and %d run; %d pods%s", n.pending, n.running, want, hint)}
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
			s.Reason, s.Message = "Stabilizing", fmt.Sprintf("%d pods would do; %d stay until that has held for %s", want, s.Replicas, wait)
			if s.Again == 0 || left < s.Again {
				s.Again = left
			}
			return s
		}
		s.Reason, s.FewerSince = "ScaledDown", time.Time{}
	}
	return s
}

// busy gives how many pods of the pool run builds, and the slots of one pod.
func busy(p *v1alpha1.CoderProvisioner, f Facts) (pods, slots int32) {
	slots = 1
	if p.Spec.Concurrency != nil {
		slots = *p.Spec.Concurrency
	}
	for _, d := range daemonsOf(p, *f.View) {
		if d.BusySlots > 0 {
			pods++
		}
	}
	return pods, slots
}

// slotsElsewhere gives the running jobs of the pool's tag sets that provisioners
// of others run.
func slotsElsewhere(p *v1alpha1.CoderProvisioner, f Facts) int32 {
	ours := map[string]bool{}
	for _, d := range daemonsOf(p, *f.View) {
		ours[d.ID.String()] = true
	}
	var n int32
	for _, d := range f.View.Daemons {
		if !ours[d.ID.String()] && d.BusySlots > 0 && coder.NormalizeTags(uuid.Nil, p.Spec.Tags).Match(coder.Tags(d.Tags)) {
			n += int32(d.BusySlots) //nolint:gosec // at most 64
		}
	}
	return n
}

// leastNow gives the least number of pods at a time, what raised it, and when
// that may change.
func leastNow(a v1alpha1.AutoscalingSpec, now time.Time) (least int32, hint string, again time.Duration) {
	if a.MinReplicas != nil {
		least = *a.MinReplicas
	}
	for _, h := range a.Schedule {
		s, err := cron.ParseStandard(h.Start)
		if err != nil {
			continue // its condition says so; see checkSchedule
		}
		// The last start is the first after the one that would be over by now.
		start := s.Next(now.Add(-h.Duration.Duration))
		next := start
		if !start.IsZero() && !start.After(now) {
			if h.MinReplicas > least {
				least, hint = h.MinReplicas, fmt.Sprintf(", at least %d by the schedule %q", h.MinReplicas, h.Start)
			}
			next = start.Add(h.Duration.Duration)
		}
		if d := next.Sub(now); !next.IsZero() && d > 0 && (again == 0 || d < again) {
			again = d
		}
	}
	return min(least, a.MaxReplicas), hint, again
}

// checkSchedule gives what is wrong with the schedule; "" for nothing.
func checkSchedule(a v1alpha1.AutoscalingSpec) string {
	for i, h := range a.Schedule {
		if _, err := cron.ParseStandard(h.Start); err != nil {
			return fmt.Sprintf("autoscaling.schedule[%d].start %q is no cron expression of five fields: %v", i, h.Start, err)
		}
		if h.Duration.Duration <= 0 {
			return fmt.Sprintf("autoscaling.schedule[%d].duration must be more than 0", i)
		}
	}
	return ""
}

// noteScale puts the answer into the status.
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
		round.Set(p, v1alpha1.ConditionScaled, false, "BadSchedule", wrong)
		return
	}
	round.Set(p, v1alpha1.ConditionScaled, s.Reason != "QueueUnknown", s.Reason, s.Message)
}
