package round

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seed-2a7f8fe7/coder/internal/operator/shape"
)

// OfPod gives the resource, of those that list lists, that a pod is of;
// component is the name that such pods have.
func (c Config) OfPod(component string, list func() client.ObjectList) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		instance := o.GetLabels()[shape.LabelInstance]
		if o.GetLabels()[shape.LabelName] != component || instance == "" {
			return nil
		}
		return c.Find(ctx, list(), func(r client.Object) bool { return shape.Name("", r.GetName()) == instance }, client.InNamespace(o.GetNamespace()))
	})
}

// Pods gives the pods of a selector that are there, those that are ending too.
func (c Config) Pods(ctx context.Context, namespace string, selector map[string]string) ([]corev1.Pod, error) {
	var all corev1.PodList
	if err := c.Client.List(ctx, &all, client.InNamespace(namespace), client.MatchingLabels(selector)); err != nil {
		return nil, err
	}
	var out []corev1.Pod
	for _, pod := range all.Items {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			out = append(out, pod)
		}
	}
	return out, nil
}

// PodsReady says whether all pods of a Deployment are there and of the newest
// kind, and if not, what keeps one.
func PodsReady(d appsv1.Deployment, pods []corev1.Pod) (holds bool, reason, message string) {
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	if d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas >= want && d.Status.ReadyReplicas >= want {
		return true, "Ready", fmt.Sprintf("%d of %d pods are ready", d.Status.ReadyReplicas, want)
	}
	for _, pod := range pods {
		if reason, message := stuck(pod); reason != "" {
			return false, reason, message
		}
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue && c.Reason != "" {
			return false, c.Reason, c.Message
		}
	}
	return false, "Progressing", fmt.Sprintf("%d of %d pods are ready, %d of them of the newest kind", d.Status.ReadyReplicas, want, d.Status.UpdatedReplicas)
}

// stuck says what keeps a pod from running, such as an image that cannot be
// fetched, and what to do where that is known.
func stuck(pod corev1.Pod) (reason, message string) {
	for _, c := range pod.Status.ContainerStatuses {
		w := c.State.Waiting
		if w == nil || w.Reason == "" || w.Reason == "ContainerCreating" || w.Reason == "PodInitializing" {
			continue
		}
		if w.Message == "" {
			w.Message = w.Reason
		}
		return w.Reason, fmt.Sprintf("pod %s: %s%s", pod.Name, w.Message, remedy(w.Reason, pod.Name, c.Image))
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			if c.Reason == "" {
				c.Reason = "Unschedulable"
			}
			return c.Reason, fmt.Sprintf("pod %s: %s", pod.Name, c.Message)
		}
	}
	return "", ""
}

func remedy(reason, pod, image string) string {
	switch reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
		return fmt.Sprintf("; check spec.image (%s) and spec.imagePullSecrets", image)
	case "CreateContainerConfigError":
		return "; check spec.extraEnv and spec.envFrom"
	case "CrashLoopBackOff":
		return fmt.Sprintf("; 'kubectl logs --previous %s' says why", pod)
	}
	return ""
}
