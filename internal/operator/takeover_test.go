package operator_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
)

// TestTakenOver has a pool that the original operator kept: its finalizer, what
// it notes in the status, and the Secret with the key that it made, without the
// annotations of ours. The operator takes it over while a build runs by the
// original's key: the build ends well, there is one key, and nothing is left of
// the other. Then the specification is edited by hand.
func TestTakenOver(t *testing.T) {
	w := newTown(t, quiet)
	stop := w.run(t, cluster.Operator(), w.http(), 18*time.Second)
	cp := w.controlPlane(t)
	stop()
	ctx := t.Context()
	tags := map[string]string{"zone": "a"}
	old, err := w.Client.CreateProvisionerKey(ctx, "default", codersdk.CreateProvisionerKeyRequest{Name: "inherited", Tags: tags})
	must(t, err)
	org, err := w.Client.Organization(ctx, "default")
	must(t, err)
	p := &v1alpha1.CoderProvisioner{ObjectMeta: metav1.ObjectMeta{Name: "inherited", Namespace: w.ns, Finalizers: []string{v1alpha1.FinalizerProvisionerKey}}}
	p.Spec.ControlPlaneRef.Name, p.Spec.Tags = "main", tags
	must(t, cluster.Client.Create(ctx, p))
	first := w.keys(t)[0].ID.String()
	p.Status = v1alpha1.CoderProvisionerStatus{
		Phase: v1alpha1.PhaseReady, OrganizationID: org.ID.String(), OrganizationName: org.Name, ProvisionerKeyID: first, ProvisionerKeyName: "inherited",
		TagsHash: "of another making", ControlPlaneRefName: "main", ControlPlaneURL: cp.Status.URL, SecretRef: &v1alpha1.SecretKeySelector{Name: "inherited-provisioner-key", Key: "key"},
	}
	must(t, cluster.Client.Status().Update(ctx, p))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "inherited-provisioner-key", Namespace: w.ns}, StringData: map[string]string{"key": old.Key}}
	secret.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(p, v1alpha1.GroupVersion().WithKind("CoderProvisioner"))}
	must(t, cluster.Client.Create(ctx, secret))
	theirs, err := w.start(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}, map[string]string{"CODER_URL": cp.Status.URL, "CODER_PROVISIONER_DAEMON_KEY": old.Key})
	must(t, err)
	t.Cleanup(theirs.Stop)
	long, release := w.longJob(t, tags)

	w.operate(t)
	second := w.become(t, "inherited", hasTags(tags)).Status.ProvisionerKeyID
	if second == first {
		t.Error("a key whose id the Secret does not tell should be replaced")
	}
	release()
	w.ends(t, long, codersdk.ProvisionerJobStatusSucceeded)
	theirs.Stop()
	w.onlyKey(t, "inherited")
	w.change(t, "inherited", func(p *v1alpha1.CoderProvisioner) {
		p.Spec.Replicas, p.Spec.Image = new(int32(2)), "registry.example.com/newer"
	})
	w.become(t, "inherited", func(p *v1alpha1.CoderProvisioner) string {
		if p.Status.ReadyReplicas != 2 {
			return "there should be two pods"
		}
		return ready(p)
	})
	must(t, cluster.Client.Delete(ctx, p))
	w.gone(t, p)
	kubetest.Until(t, wait, func(context.Context) string {
		if keys := w.keys(t); len(keys) != 0 {
			return "its keys should be gone"
		}
		return ""
	})
	if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(cp), cp); err != nil {
		t.Error("the control plane went too: ", err)
	}
}
