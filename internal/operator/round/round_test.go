package round

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
)

func TestPodsReady(t *testing.T) {
	waiting := func(reason, message string) []corev1.Pod {
		return []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Image: "image", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}}}}
	}
	for _, c := range []struct {
		name            string
		status          appsv1.DeploymentStatus
		pods            []corev1.Pod
		holds           bool
		reason, message string
	}{
		{"all there", appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: 2, ReadyReplicas: 2}, nil, true, "Ready", "2 of 2 pods are ready"},
		{"not seen yet", appsv1.DeploymentStatus{ObservedGeneration: 1, UpdatedReplicas: 2, ReadyReplicas: 2}, nil, false, "Progressing", "2 of 2 pods are ready, 2 of them of the newest kind"},
		{"old pods", appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: 1, ReadyReplicas: 2}, nil, false, "Progressing", "2 of 2 pods are ready, 1 of them of the newest kind"},
		{"an image", appsv1.DeploymentStatus{}, waiting("ErrImagePull", "403"), false, "ErrImagePull", "pod pod: 403; check spec.image (image) and spec.imagePullSecrets"},
		{"a crash", appsv1.DeploymentStatus{}, waiting("CrashLoopBackOff", ""), false, "CrashLoopBackOff", "pod pod: CrashLoopBackOff; 'kubectl logs --previous pod' says why"},
		{"no Secret", appsv1.DeploymentStatus{}, waiting("CreateContainerConfigError", "no secret x"), false, "CreateContainerConfigError", "pod pod: no secret x; check spec.extraEnv and spec.envFrom"},
		{"as a matter of course", appsv1.DeploymentStatus{}, waiting("ContainerCreating", ""), false, "Progressing", "0 of 2 pods are ready, 0 of them of the newest kind"},
		{"no node", appsv1.DeploymentStatus{}, []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "no node has zone"},
		}}}}, false, "Unschedulable", "pod pod: no node has zone"},
		{"a quota", appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota"},
		}}, nil, false, "FailedCreate", "exceeded quota"},
	} {
		d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: c.status}
		d.Spec.Replicas = new(int32(2))
		if holds, reason, message := PodsReady(d, c.pods); holds != c.holds || reason != c.reason || message != c.message {
			t.Errorf("%s: %t %s %q", c.name, holds, reason, message)
		}
	}
}

// TestTell: people are told when something begins to be wrong, when it is wrong
// for another reason, and when it is right again; not of what passes.
func TestTell(t *testing.T) {
	for _, c := range []struct {
		name     string
		was, now func(Resource)
		want     []string
	}{
		{"wrong at once", nil, wrong("Unreachable"), []string{"Warning Unreachable it is so"}},
		{"still wrong", wrong("Unreachable"), wrong("Unreachable"), nil},
		{"wrong for another reason", wrong("Unreachable"), wrong("RateLimited"), []string{"Warning RateLimited it is so"}},
		{"right again", wrong("Unreachable"), right, []string{"Normal Ready it is so"}},
		{"a matter of course", nil, wrong("Progressing"), nil},
		{"and its end", wrong("Progressing"), right, nil},
		{"not known any more", right, func(r Resource) { Unknown(r, "another", "Kind") }, nil},
	} {
		r := &v1alpha1.CoderProvisioner{}
		if c.was != nil {
			c.was(r)
		}
		before := slices.Clone(r.Status.Conditions)
		c.now(r)
		f := events.NewFakeRecorder(10)
		Config{Events: f}.tell(before, r)
		var got []string
		for len(f.Events) > 0 {
			got = append(got, <-f.Events)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func wrong(reason string) func(Resource) {
	return func(r Resource) { Set(r, "Kind", false, reason, "it is so") }
}

func right(r Resource) { Set(r, "Kind", true, "Ready", "it is so") }
