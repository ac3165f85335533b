package reconcile

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
)

func TestPodsReady(t *testing.T) {
	waiting := func(reason, message string) []corev1.Pod {
		return []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "coder", Name: "pod"}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Image: "image", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}}}}
	}
	imaged := func(image string, pods []corev1.Pod) []corev1.Pod {
		pods[0].Status.ContainerStatuses[0].Image = image
		return pods
	}
	for _, c := range []struct {
		name            string
		status          appsv1.DeploymentStatus
		pods            []corev1.Pod
		holds           bool
		reason, message string
	}{
		{"all there", appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: 2, ReadyReplicas: 2}, nil, true, "Ready", "2 of 2 pods are ready"},
		{"not seen yet", appsv1.DeploymentStatus{ObservedGeneration: 1, UpdatedReplicas: 2, ReadyReplicas: 2}, nil, false, "Progressing", "2 of 2 pods are ready, 2 are up to date"},
		{"old pods", appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: 1, ReadyReplicas: 2}, nil, false, "Progressing", "2 of 2 pods are ready, 1 are up to date"},
		{"old pods beside new ones", appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 2, ReadyReplicas: 2}, nil, false, "Progressing", "2 of 2 pods are ready, 2 are up to date"},
		{"an image that new pods cannot pull", appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 4, UpdatedReplicas: 2, ReadyReplicas: 2}, waiting("ErrImagePull", "403"), false, "ImagePullBackOff", "pod pod: 403; check spec.image (image) and spec.imagePullSecrets"},
		{"an image", appsv1.DeploymentStatus{}, waiting("ErrImagePull", "403"), false, "ImagePullBackOff", "pod pod: 403; check spec.image (image) and spec.imagePullSecrets"},
		{"a crash", appsv1.DeploymentStatus{}, waiting("CrashLoopBackOff", ""), false, "CrashLoopBackOff", "pod pod: CrashLoopBackOff; check 'kubectl logs -n coder --previous pod'"},
		{
			"an end", appsv1.DeploymentStatus{}, []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "coder", Name: "pod"}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}},
			}}}}},
			false, "CrashLoopBackOff",
			"pod pod: the container ended with exit code 137; it used more memory than its limit, so raise spec.resources.limits.memory; check 'kubectl logs -n coder --previous pod'",
		},
		{"no Secret", appsv1.DeploymentStatus{}, waiting("CreateContainerConfigError", "no secret x"), false, "CreateContainerConfigError", "pod pod: no secret x; check spec.extraEnv and spec.envFrom"},
		{"as a matter of course", appsv1.DeploymentStatus{}, waiting("ContainerCreating", ""), false, "Progressing", "0 of 2 pods are ready, 0 are up to date"},
		{
			"no answer", appsv1.DeploymentStatus{UpdatedReplicas: 2}, []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "coder", Name: "pod"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}},
			false, "Progressing", "0 of 2 pods are ready, 2 are up to date; if it takes longer than a minute, check 'kubectl logs -n coder pod'",
		},
		{"no node", appsv1.DeploymentStatus{}, []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "no node has zone"},
		}}}}, false, "Unschedulable", "pod pod: no node has zone"},
		{"a quota", appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota"},
		}}, nil, false, "FailedCreate", "exceeded quota"},
		{"the default image", appsv1.DeploymentStatus{}, imaged("ghcr.io/seed-2a7f8fe7/coder:latest", waiting("ImagePullBackOff", "not found")), false, "ImagePullBackOff",
			"pod pod: not found; the default image ghcr.io/seed-2a7f8fe7/coder:latest is not published: build one with 'make image', push it to a registry or load it into the nodes, and set spec.image"},
	} {
		d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: c.status}
		d.Spec.Replicas = new(int32(2))
		if holds, reason, message := PodsReady(d, c.pods); holds != c.holds || reason != c.reason || message != c.message {
			t.Errorf("%s: %t %s %q", c.name, holds, reason, message)
		}
	}
}

// TestRecordEvents records an event when a fault begins, when its reason changes, and when
// it ends, but none for a fault that passes.
func TestRecordEvents(t *testing.T) {
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
		Config{Events: f}.recordChanges(before, r)
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

func TestSummarize(t *testing.T) {
	set := func(kind string, holds bool, reason string) func(Resource) {
		return func(r Resource) { Set(r, kind, holds, reason, "about "+kind) }
	}
	for _, c := range []struct {
		name            string
		conditions      []func(Resource)
		phase           string
		observed        int64
		reason, message string
	}{
		{"nothing known yet", nil, "", 0, "Progressing", "the specification is being applied"},
		{
			"what waits for what does not hold",
			[]func(Resource){func(r Resource) { Unknown(r, "Server", "Key") }, set("Server", false, "Unreachable"), set("Pods", false, "NotMade")},
			v1alpha1.PhasePending, 2, "Unreachable", "Server: about Server",
		},
		{
			"a failure rather than progress",
			[]func(Resource){set("Pods", false, "Progressing"), set("Server", false, "RateLimited")},
			v1alpha1.PhasePending, 2, "RateLimited", "Server: about Server",
		},
		{"an older generation", []func(Resource){set("Pods", true, "Ready")}, v1alpha1.PhaseReady, 1, "Progressing", "the specification is being applied"},
		{
			"ready, with a note",
			[]func(Resource){set("Pods", true, "Ready"), set(v1alpha1.ConditionLicenseApplied, false, "NotSupported")},
			v1alpha1.PhaseReady, 2, "Ready", "all that the specification asks for is in place",
		},
	} {
		r := &v1alpha1.CoderProvisioner{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
		r.Status.Phase, r.Status.ObservedGeneration = c.phase, c.observed
		for _, do := range c.conditions {
			do(r)
		}
		summarize(r)
		got := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionReady)
		if got == nil || got.Reason != c.reason || got.Message != c.message || (got.Status == metav1.ConditionTrue) != (c.reason == "Ready") {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
