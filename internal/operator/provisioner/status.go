package provisioner

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/remote"
	"github.com/seed-2a7f8fe7/coder/internal/operator/round"
)

// needed are the conditions of a pool that is ready.
func needed() []string {
	return []string{
		v1alpha1.ConditionControlPlaneReady, v1alpha1.ConditionOperatorAccessReady, v1alpha1.ConditionExternalProvisionersEntitled,
		v1alpha1.ConditionProvisionerKeyReady, v1alpha1.ConditionProvisionerKeySecretReady, v1alpha1.ConditionRBACReady, v1alpha1.ConditionDeploymentReady,
	}
}

// Conclude completes the status from what the round found.
func Conclude(f Facts) {
	p := f.Provisioner
	s := &p.Status
	s.Selector = labels.SelectorFromSet(Selector(p)).String()
	s.ReadyReplicas, s.Replicas = 0, 0
	if f.Deployment != nil {
		s.ReadyReplicas, s.Replicas = f.Deployment.Status.ReadyReplicas, f.Deployment.Status.Replicas
	}
	holds, reason, message := false, "NotMade", "there are no pods yet, as there is no key for them"
	switch {
	case f.Refused != "":
		reason, message = "Refused", f.Refused
	case f.Deployment != nil:
		holds, reason, message = round.PodsReady(*f.Deployment, f.Pods)
	}
	round.Set(p, v1alpha1.ConditionDeploymentReady, holds, reason, message)
	s.Phase = v1alpha1.PhaseReady
	for _, c := range needed() {
		if !meta.IsStatusConditionTrue(s.Conditions, c) {
			s.Phase = v1alpha1.PhasePending
		}
	}
	if f.View != nil {
		observe(p, *f.View)
	}
}

func orText(s, or string) string {
	if s == "" {
		return or
	}
	return s
}

// observe notes what the server sees of the pool.
func observe(p *v1alpha1.CoderProvisioner, v remote.View) {
	daemons := &v1alpha1.DaemonsStatus{}
	for _, d := range daemonsOf(p, v) {
		daemons.Connected++
		daemons.Slots += int32(d.Slots)         //nolint:gosec // at most 64
		daemons.SlotsBusy += int32(d.BusySlots) //nolint:gosec // as above
		if !slices.Contains(daemons.Versions, d.Version) {
			daemons.Versions = append(daemons.Versions, d.Version)
		}
		if j := d.PreviousJob; j != nil && j.Status == coder.ProvisionerJobStatusFailed && (p.Status.LastFailure == nil || p.Status.LastFailure.JobID != j.ID.String()) {
			at := v.At
			if d.LastSeenAt != nil {
				at = *d.LastSeenAt
			}
			p.Status.LastFailure = &v1alpha1.BuildFailure{JobID: j.ID.String(), Time: metav1.NewTime(at.Truncate(time.Second)), Message: orText(j.TemplateDisplayName, j.TemplateName)}
		}
	}
	slices.Sort(daemons.Versions)
	p.Status.Daemons = daemons
	q := demand(p.Spec.Tags, v.Queue)
	p.Status.Queue = &v1alpha1.QueueStatus{Pending: q.pending, RecommendedSlots: q.recommended}
	if q.pending > 0 {
		p.Status.Queue.OldestWait = roughly(q.oldest).String()
	}
}

// roughly gives a time as exactly as is worth a write to the cluster.
func roughly(d time.Duration) time.Duration {
	switch {
	case d < time.Minute:
		return d.Truncate(10 * time.Second)
	case d < time.Hour:
		return d.Truncate(time.Minute)
	}
	return d.Truncate(10 * time.Minute)
}

// daemonsOf gives the provisioners that are connected by a key of the pool.
func daemonsOf(p *v1alpha1.CoderProvisioner, v remote.View) []coder.ProvisionerDaemon {
	ids := map[string]bool{p.Status.ProvisionerKeyID: true}
	for _, k := range p.Status.RetiringKeys {
		ids[k.ID] = true
	}
	for _, k := range v.Replaced(p.Status.ProvisionerKeyName) {
		ids[k.ID.String()] = true
	}
	var out []coder.ProvisionerDaemon
	for _, d := range v.Daemons {
		if ids[d.KeyID.String()] && d.Status != coder.ProvisionerDaemonStatusOffline {
			out = append(out, d)
		}
	}
	return out
}
