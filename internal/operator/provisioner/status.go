package provisioner

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/coderclient"
	"github.com/seed-2a7f8fe7/coder/internal/operator/reconcile"
)

// needed are the conditions of a ready pool.
func needed() []string {
	return []string{
		v1alpha1.ConditionControlPlaneReady, v1alpha1.ConditionOperatorAccessReady, v1alpha1.ConditionExternalProvisionersEntitled,
		v1alpha1.ConditionProvisionerKeyReady, v1alpha1.ConditionProvisionerKeySecretReady, v1alpha1.ConditionRBACReady, v1alpha1.ConditionDeploymentReady,
	}
}

// Conclude completes the status from the facts. Provisioners that have been
// missing since before late count as not connecting.
func Conclude(f Facts, late time.Time) {
	p := f.Provisioner
	s := &p.Status
	s.Selector = labels.SelectorFromSet(Selector(p)).String()
	s.ReadyReplicas, s.Replicas = 0, 0
	if f.Deployment != nil {
		s.ReadyReplicas, s.Replicas = f.Deployment.Status.ReadyReplicas, f.Deployment.Status.Replicas
	}
	holds, reason, message := false, "NotMade", "no pods exist yet because the key is missing"
	switch {
	case f.Refused != "":
		reason, message = "Refused", f.Refused
	case f.Deployment != nil:
		holds, reason, message = reconcile.PodsReady(*f.Deployment, f.Pods)
	}
	reconcile.Set(p, v1alpha1.ConditionDeploymentReady, holds, reason, message)
	s.Phase = v1alpha1.PhaseReady
	for _, c := range needed() {
		if !meta.IsStatusConditionTrue(s.Conditions, c) {
			s.Phase = v1alpha1.PhasePending
		}
	}
	if f.View != nil {
		observe(p, *f.View)
	}
	connected(f, late)
	if c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionProvisionersConnected); c.Reason == "NotConnected" {
		s.Phase = v1alpha1.PhasePending
	}
}

// connected records whether the server sees a provisioner for every ready pod.
func connected(f Facts, late time.Time) {
	p, ready := f.Provisioner, f.Provisioner.Status.ReadyReplicas
	const condition = v1alpha1.ConditionProvisionersConnected
	switch {
	case f.View == nil:
		reconcile.Unknown(p, "the server", condition)
		return
	case p.Status.Replicas == 0:
		reconcile.Set(p, condition, true, "NoPods", "no pods exist, so there are no provisioners")
		return
	case ready == 0:
		reconcile.Unknown(p, "a pod to be ready", condition)
		return
	case p.Status.Daemons.Connected >= ready:
		reconcile.Set(p, condition, true, "Connected", "the provisioner of every ready pod is connected")
		return
	}
	reason, message := "NotConnected", fmt.Sprintf("pods are ready, but none of their provisioners is connected to %s", f.ControlPlane.Status.URL)
	if n := p.Status.Daemons.Connected; n > 0 {
		reason, message = "SomeNotConnected", fmt.Sprintf("of %d ready pods, the provisioners of %d are connected to %s", ready, n, f.ControlPlane.Status.URL)
	}
	if pod := silent(f); pod != "" {
		message += fmt.Sprintf("; check 'kubectl logs -n %s %s'", p.Namespace, pod)
	}
	message += "; check for a NetworkPolicy or proxy between the pods and the server, and for an untrusted certificate"
	before := meta.FindStatusCondition(p.Status.Conditions, condition)
	if before == nil || before.Status != metav1.ConditionFalse || before.LastTransitionTime.After(late) {
		reason, message = "Connecting", "provisioners are connecting"
	}
	reconcile.Set(p, condition, false, reason, message)
}

// silent returns a ready pod whose provisioner, which has the pod's name, is
// not connected, or "".
func silent(f Facts) string {
	there := map[string]bool{}
	for _, d := range daemonsOf(f.Provisioner, *f.View) {
		there[d.Name] = true
	}
	names := []string{}
	for _, pod := range f.Pods {
		ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		if ready && pod.DeletionTimestamp.IsZero() && !there[pod.Name] {
			names = append(names, pod.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return slices.Min(names)
}

func orText(s, or string) string {
	if s == "" {
		return or
	}
	return s
}

// observe records the pool as the server sees it.
func observe(p *v1alpha1.CoderProvisioner, v coderclient.View) {
	daemons := &v1alpha1.DaemonsStatus{}
	for _, d := range daemonsOf(p, v) {
		daemons.Connected++
		daemons.Slots += int32(d.Slots)         //nolint:gosec // at most 64
		daemons.SlotsBusy += int32(d.BusySlots) //nolint:gosec // as above
		if !slices.Contains(daemons.Versions, d.Version) {
			daemons.Versions = append(daemons.Versions, d.Version)
		}
		if j := d.PreviousJob; j != nil && j.Status == codersdk.ProvisionerJobStatusFailed &&
			(p.Status.LastFailure == nil || p.Status.LastFailure.JobID != j.ID.String()) {
			at := v.At
			if d.LastSeenAt != nil {
				at = *d.LastSeenAt
			}
			p.Status.LastFailure = &v1alpha1.BuildFailure{
				JobID:   j.ID.String(),
				Time:    metav1.NewTime(at.Truncate(time.Second)),
				Message: orText(j.TemplateDisplayName, j.TemplateName),
			}
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

// roughly rounds a time to a precision that is worth a write to the cluster.
func roughly(d time.Duration) time.Duration {
	switch {
	case d < time.Minute:
		return d.Truncate(10 * time.Second)
	case d < time.Hour:
		return d.Truncate(time.Minute)
	}
	return d.Truncate(10 * time.Minute)
}

// daemonsOf returns the provisioners that are connected with a key of the pool.
func daemonsOf(p *v1alpha1.CoderProvisioner, v coderclient.View) []codersdk.ProvisionerDaemon {
	ids := map[string]bool{p.Status.ProvisionerKeyID: true}
	for _, k := range p.Status.RetiringKeys {
		ids[k.ID] = true
	}
	for _, k := range v.Replaced(p.Status.ProvisionerKeyName) {
		ids[k.ID.String()] = true
	}
	var out []codersdk.ProvisionerDaemon
	for _, d := range v.Daemons {
		if ids[d.KeyID.String()] && d.Status != codersdk.ProvisionerDaemonStatusOffline {
			out = append(out, d)
		}
	}
	return out
}
