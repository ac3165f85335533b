package provisioner

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"
)

// annotationCost is the order in which a ReplicaSet deletes pods.
const annotationCost = "controller.kubernetes.io/pod-deletion-cost"

// costs marks the pods that run builds before the number of pods is reduced, so
// that idle pods are deleted. A pod whose build starts just then finishes it
// and takes no other.
func (r *pass) costs(ctx context.Context, replicas int32) error {
	if r.View == nil || r.Deployment == nil || r.Deployment.Spec.Replicas == nil || replicas >= *r.Deployment.Spec.Replicas {
		return nil
	}
	if err := r.readView(ctx, fresh); err != nil {
		return nil //nolint:nilerr // marked pods stay marked
	}
	for name, cost := range deletionCosts(r.Facts) {
		pod := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: r.Provisioner.Namespace}}
		pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		patch := []byte(`{"metadata":{"annotations":{"` + annotationCost + `":"` + cost + `"}}}`)
		if err := r.Client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// deletionCosts returns the costs that must change: 1000 for a pod whose
// provisioner, which has the pod's name, runs a build, and 0 for an idle one.
func deletionCosts(f Facts) map[string]string {
	busy := map[string]bool{}
	for _, d := range daemonsOf(f.Provisioner, *f.View) {
		busy[d.Name] = busy[d.Name] || d.BusySlots > 0
	}
	out := map[string]string{}
	for _, pod := range f.Pods {
		want := "0"
		if busy[pod.Name] {
			want = "1000"
		}
		have := pod.Annotations[annotationCost]
		if have == "" {
			have = "0"
		}
		if have != want {
			out[pod.Name] = want
		}
	}
	return out
}
