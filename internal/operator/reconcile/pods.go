package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
)

// OfPod returns the listed resource that a pod belongs to. component is the
// name label of such pods.
func (c Config) OfPod(component string, list func() client.ObjectList) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		instance := o.GetLabels()[podspec.LabelInstance]
		if o.GetLabels()[podspec.LabelName] != component || instance == "" {
			return nil
		}
		return c.Find(ctx, list(), func(r client.Object) bool { return podspec.Name("", r.GetName()) == instance }, client.InNamespace(o.GetNamespace()))
	})
}

// Pods returns the existing pods of a selector, including terminating ones.
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

// PodsReady reports whether all pods of a Deployment are ready and up to date,
// or what prevents it.
func PodsReady(d appsv1.Deployment, pods []corev1.Pod) (holds bool, reason, message string) {
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	s := d.Status
	// Old pods can be ready while new ones cannot start, so the old ones must be gone.
	if s.ObservedGeneration >= d.Generation && s.UpdatedReplicas >= want && s.ReadyReplicas >= want && s.Replicas <= s.UpdatedReplicas {
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
	message = fmt.Sprintf("%d of %d pods are ready, %d are up to date", d.Status.ReadyReplicas, want, d.Status.UpdatedReplicas)
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning && !podReady(pod) {
			return false, "Progressing", fmt.Sprintf("%s; if it takes longer than a minute, check 'kubectl logs -n %s %s'", message, pod.Namespace, pod.Name)
		}
	}
	return false, "Progressing", message
}

func podReady(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// stuck returns what prevents a pod from running, such as an image that cannot
// be pulled, and what to do if that is known.
func stuck(pod corev1.Pod) (reason, message string) {
	for _, c := range pod.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil && pod.DeletionTimestamp == nil {
			advice := memory(t) + remedy("CrashLoopBackOff", pod, c.Image)
			return "CrashLoopBackOff", fmt.Sprintf("pod %s: the container ended with exit code %d%s", pod.Name, t.ExitCode, advice)
		}
		w := c.State.Waiting
		if w == nil || w.Reason == "" || w.Reason == "ContainerCreating" || w.Reason == "PodInitializing" {
			continue
		}
		reason, message := w.Reason, cmp.Or(w.Message, w.Reason)
		if reason == "ErrImagePull" { // kubelets alternate between the two
			reason = "ImagePullBackOff"
		}
		return reason, fmt.Sprintf("pod %s: %s%s%s", pod.Name, message, memory(c.LastTerminationState.Terminated), remedy(reason, pod, c.Image))
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

// memory returns what to do about a container that was killed for its memory, or "".
func memory(t *corev1.ContainerStateTerminated) string {
	if t == nil || t.Reason != "OOMKilled" {
		return ""
	}
	return "; it used more memory than its limit, so raise spec.resources.limits.memory"
}

// unpublished is the repository of the default image in api/v1alpha1, to which
// no image has been pushed yet.
const unpublished = "ghcr.io/seed-2a7f8fe7/coder"

func remedy(reason string, pod corev1.Pod, image string) string {
	switch reason {
	case "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
		if strings.HasPrefix(image, unpublished+":") {
			return fmt.Sprintf(
				"; the default image %s is not published: build one with 'make image', push it to a registry or load it into the nodes, and set spec.image",
				image,
			)
		}
		return fmt.Sprintf("; check spec.image (%s) and spec.imagePullSecrets", image)
	case "CreateContainerConfigError":
		return "; check spec.extraEnv and spec.envFrom"
	case "CrashLoopBackOff":
		return fmt.Sprintf("; check 'kubectl logs -n %s --previous %s'", pod.Namespace, pod.Name)
	}
	return ""
}
