package operator_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
)

// TestBadInput gives pools that cannot be: each says why, in words to act on,
// and nothing that is somebody else's is touched.
func TestBadInput(t *testing.T) {
	w := newTown(t)
	ctx := t.Context()
	w.pool(t, "early", func(s *v1alpha1.CoderProvisionerSpec) { s.ControlPlaneRef.Name = "nowhere" })
	w.become(t, "early", condition(v1alpha1.ConditionControlPlaneReady, "NotFound"))

	w.controlPlane(t)
	w.pool(t, "org", func(s *v1alpha1.CoderProvisionerSpec) { s.OrganizationName = "nobody" })
	w.become(t, "org", condition(v1alpha1.ConditionProvisionerKeyReady, "OrganizationNotFound"))

	w.pool(t, "tags", func(s *v1alpha1.CoderProvisionerSpec) { s.Tags = map[string]string{"owner": "me"} })
	w.become(t, "tags", condition(v1alpha1.ConditionProvisionerKeyReady, "Refused"))

	long := strings.Repeat("a", 63) + "." + strings.Repeat("b", 63) + "." + strings.Repeat("c", 63) + "." + strings.Repeat("d", 61)
	w.pool(t, long, nil)
	w.become(t, long, condition(v1alpha1.ConditionProvisionerKeyReady, "Refused"))
	w.change(t, long, func(p *v1alpha1.CoderProvisioner) { p.Spec.Key.Name = "long" })
	w.become(t, long, ready)

	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "theirs", Namespace: w.ns}, StringData: map[string]string{"key": "precious"}}
	must(t, cluster.Client.Create(ctx, theirs))
	w.pool(t, "secret", func(s *v1alpha1.CoderProvisionerSpec) { s.Key.SecretName = "theirs" })
	w.become(t, "secret", condition(v1alpha1.ConditionProvisionerKeySecretReady, "SecretNotOwned"))
	must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(theirs), theirs))
	if string(theirs.Data["key"]) != "precious" {
		t.Error("a Secret of somebody else's was overwritten")
	}

	if _, err := w.Client.CreateProvisionerKey(ctx, "default", coder.CreateProvisionerKeyRequest{Name: "handmade"}); err != nil {
		t.Fatal(err)
	}
	w.pool(t, "handmade", nil)
	w.become(t, "handmade", condition(v1alpha1.ConditionProvisionerKeyReady, "KeyNameTaken"))
	must(t, cluster.Client.Delete(ctx, &v1alpha1.CoderProvisioner{ObjectMeta: metav1.ObjectMeta{Name: "handmade", Namespace: w.ns}}))
	w.become(t, long, ready) // something else goes on
	found := false
	for _, k := range w.keys(t) {
		found = found || k.Name == "handmade"
	}
	if !found {
		t.Error("a key that the operator did not make was deleted")
	}

	for name, change := range map[string]func(*v1alpha1.CoderProvisionerSpec){
		"replicas":    func(s *v1alpha1.CoderProvisionerSpec) { s.Replicas = new(int32(-1)) },
		"no ref":      func(s *v1alpha1.CoderProvisionerSpec) { s.ControlPlaneRef.Name = "" },
		"grace":       func(s *v1alpha1.CoderProvisionerSpec) { s.TerminationGracePeriodSeconds = new(int64(-1)) },
		"concurrency": func(s *v1alpha1.CoderProvisionerSpec) { s.Concurrency = new(int32(65)) },
		"min over max": func(s *v1alpha1.CoderProvisionerSpec) {
			s.Autoscaling = &v1alpha1.AutoscalingSpec{MinReplicas: new(int32(5)), MaxReplicas: 2}
		},
		"two sources": func(s *v1alpha1.CoderProvisionerSpec) {
			s.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{}, SecretRef: &corev1.SecretEnvSource{}}}
		},
	} {
		p := &v1alpha1.CoderProvisioner{ObjectMeta: metav1.ObjectMeta{Name: "refused", Namespace: w.ns}}
		p.Spec.ControlPlaneRef.Name = "main"
		change(&p.Spec)
		if err := cluster.Client.Create(ctx, p); err == nil {
			t.Errorf("%s: the API server takes it", name)
		}
	}
}
