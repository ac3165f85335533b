package provisioner

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/coderclient"
)

// starting is how long the pods of another pool may take to start before this
// one scales for its share of the queue. See reconcile.Config.Pace.
const starting = 2 * time.Minute

// Rival is another autoscaled pool of the same organization. It takes its share
// of the jobs that both match.
type Rival struct {
	Provisioner *v1alpha1.CoderProvisioner
	// Replicas is its desired number of pods.
	Replicas int32
}

// rivals returns the other pools that take a share of the queue. Those that
// cannot run builds are left out: nothing would scale for their share.
func (r *pass) rivals(ctx context.Context) ([]Rival, error) {
	p := r.Provisioner
	if p.Spec.Autoscaling == nil {
		return nil, nil
	}
	var all v1alpha1.CoderProvisionerList
	if err := r.Client.List(ctx, &all, client.InNamespace(p.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var out []Rival
	for i := range all.Items {
		o := &all.Items[i]
		if o.UID == p.UID || o.Spec.Autoscaling == nil || o.Spec.ControlPlaneRef != p.Spec.ControlPlaneRef ||
			!sameName(o.Spec.OrganizationName, p.Spec.OrganizationName) || !serves(o, r.Now().Add(-r.Pace(starting))) {
			continue
		}
		d := &appsv1.Deployment{}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: deploymentName(o)}, d)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		rival := Rival{Provisioner: o}
		if d.Spec.Replicas != nil {
			rival.Replicas = *d.Spec.Replicas
		}
		out = append(out, rival)
	}
	return out, nil
}

// serves reports whether a pool runs builds, or will once its pods have
// started. Pods that have been starting since before late do not count.
func serves(p *v1alpha1.CoderProvisioner, late time.Time) bool {
	if !p.DeletionTimestamp.IsZero() {
		return false
	}
	for _, kind := range needed() {
		c := meta.FindStatusCondition(p.Status.Conditions, kind)
		if c == nil || c.Status != metav1.ConditionTrue && (c.Reason != "Progressing" || c.LastTransitionTime.Time.Before(late)) {
			return false
		}
	}
	c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionProvisionersConnected)
	return c == nil || c.Reason != "NotConnected"
}

// claim is a pool's part in the distribution of pending jobs.
type claim struct {
	tags codersdk.Tags
	name string
	own  bool
	// free is the number of jobs for which it has slots; room is the number for
	// which it may still have some.
	free, room int32
}

// newClaim returns the claim of a pool with so many pods.
func newClaim(p *v1alpha1.CoderProvisioner, v coderclient.View, replicas int32) *claim {
	a := p.Spec.Autoscaling
	slots, each := slotsOf(p), max(a.TargetPendingPerSlot, 1)
	_, busy := busyOf(p, v)
	jobs := func(pods int32) int32 { return max(0, pods*slots-busy) * each }
	c := &claim{tags: codersdk.NormalizeTags(uuid.Nil, p.Spec.Tags), name: p.Name, free: jobs(replicas)}
	c.room = max(0, jobs(max(a.MaxReplicas, replicas))-c.free)
	return c
}

// takeJobs takes at most n jobs, of the free or of the further slots, and returns
// how many.
func takeJobs(from *int32, n int32) int32 {
	n = min(n, *from)
	*from -= n
	return n
}

// share returns the pending jobs for which the pool is to have slots. Jobs that
// several pools match go to slots that exist, then in equal parts to the pools
// that may grow. Every pool computes the same distribution, so that each job is
// counted once.
func share(f Facts, replicas int32) int32 {
	own := newClaim(f.Provisioner, *f.View, replicas)
	own.own = true
	claims := []*claim{own}
	for _, r := range f.Rivals {
		claims = append(claims, newClaim(r.Provisioner, *f.View, r.Replicas))
	}
	slices.SortFunc(claims, func(a, b *claim) int { return cmp.Compare(a.name, b.name) })
	var mine int32
	for _, set := range f.View.Queue.TagSets {
		matching := slices.DeleteFunc(slices.Clone(claims), func(c *claim) bool { return !c.tags.Match(set.Tags) })
		if !slices.Contains(matching, own) {
			continue
		}
		left := int32(set.Pending) //nolint:gosec // a queue's length
		if len(matching) == 1 {
			mine += left // beyond its limit, too: the condition shows the demand
			continue
		}
		mine += distribute(left, matching)
	}
	return mine
}

// distribute assigns jobs to claims, and returns the number of those that the
// pool's own one got.
func distribute(jobs int32, claims []*claim) (mine int32) {
	assign := func(c *claim, from *int32, n int32) {
		n = takeJobs(from, min(n, jobs))
		jobs -= n
		if c.own {
			mine += n
		}
	}
	for _, c := range claims {
		assign(c, &c.free, jobs)
	}
	for jobs > 0 {
		growing := slices.DeleteFunc(slices.Clone(claims), func(c *claim) bool { return c.room == 0 })
		if len(growing) == 0 {
			return mine
		}
		each := max(1, jobs/int32(len(growing))) //nolint:gosec // a number of pools
		for _, c := range growing {
			assign(c, &c.room, each)
		}
	}
	return mine
}

// slotsOf returns the slots of one pod of a pool.
func slotsOf(p *v1alpha1.CoderProvisioner) int32 {
	if p.Spec.Concurrency != nil {
		return *p.Spec.Concurrency
	}
	return 1
}

// busyOf returns how many pods of a pool run builds, and their busy slots.
func busyOf(p *v1alpha1.CoderProvisioner, v coderclient.View) (pods, slots int32) {
	for _, d := range daemonsOf(p, v) {
		if d.BusySlots > 0 {
			pods++
			slots += int32(d.BusySlots) //nolint:gosec // at most 64
		}
	}
	return pods, slots
}
