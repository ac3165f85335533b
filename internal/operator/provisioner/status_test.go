package provisioner

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// TestConnected looks at pods whose provisioners are connected, and at such as
// are not.
func TestConnected(t *testing.T) {
	daemon := func(name string) codersdk.ProvisionerDaemon {
		return codersdk.ProvisionerDaemon{Name: name, KeyID: keyA, Status: codersdk.ProvisionerDaemonStatusIdle}
	}
	pods := func(f *Facts, names ...string) {
		f.Deployment.Status.Replicas, f.Deployment.Status.ReadyReplicas = int32(len(names)), int32(len(names))
		f.Pods = nil
		for _, n := range names {
			p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: n}}
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			f.Pods = append(f.Pods, p)
		}
	}
	since := func(f *Facts, ago time.Duration) {
		meta.SetStatusCondition(&f.Provisioner.Status.Conditions, metav1.Condition{
			Type: v1alpha1.ConditionProvisionersConnected, Status: metav1.ConditionFalse, Reason: "Connecting", LastTransitionTime: metav1.NewTime(moment.Add(-ago)),
		})
	}
	for _, c := range []struct {
		name           string
		change         func(*Facts)
		status, reason string
		message        string
	}{
		{"all", func(f *Facts) {
			pods(f, "a", "b")
			f.View.Daemons = []codersdk.ProvisionerDaemon{daemon("a"), daemon("b")}
		}, "True", "Connected", ""},
		{"no pods", func(f *Facts) { pods(f) }, "True", "NoPods", ""},
		{"none is ready", func(f *Facts) { f.Deployment.Status.ReadyReplicas = 0 }, "Unknown", "Waiting", "a pod"},
		{"no server", func(f *Facts) { f.View = nil }, "Unknown", "Waiting", "the server"},
		{"just begun", func(f *Facts) { pods(f, "a") }, "False", "Connecting", ""},
		{"for a while", func(f *Facts) { pods(f, "a"); since(f, 30*time.Second) }, "False", "Connecting", ""},
		{"for long", func(f *Facts) { pods(f, "b", "a"); since(f, 2*time.Minute) }, "False", "NotConnected", "'kubectl logs -n ns a'"},
		{"one for long", func(f *Facts) {
			pods(f, "a", "b")
			f.View.Daemons = []codersdk.ProvisionerDaemon{daemon("a")}
			since(f, 2*time.Minute)
		}, "False", "SomeNotConnected", "of 2 ready pods, the provisioners of 1"},
		{"one that is offline", func(f *Facts) {
			pods(f, "a")
			f.View.Daemons = []codersdk.ProvisionerDaemon{{Name: "a", KeyID: keyA, Status: codersdk.ProvisionerDaemonStatusOffline}}
			since(f, 2*time.Minute)
		}, "False", "NotConnected", "kubectl logs -n ns a"},
	} {
		f := settled()
		c.change(&f)
		Conclude(f, moment.Add(-time.Minute))
		got := meta.FindStatusCondition(f.Provisioner.Status.Conditions, v1alpha1.ConditionProvisionersConnected)
		if got == nil || string(got.Status) != c.status || got.Reason != c.reason || !strings.Contains(got.Message, c.message) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
