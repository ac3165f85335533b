package operator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/controlplane"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
)

// TestOneKeyTwoPools has two pools want the same key at once: one has it, the
// other states that it is taken, and they do not take it from each other.
func TestOneKeyTwoPools(t *testing.T) {
	w := newTown(t)
	w.controlPlane(t)
	for i := range 3 {
		pair := []string{fmt.Sprintf("left-%d", i), fmt.Sprintf("right-%d", i)}
		for _, name := range pair {
			w.pool(t, name, func(s *v1alpha1.CoderProvisionerSpec) { s.Key.Name = fmt.Sprintf("shared-%d", i) })
		}
		taken := condition(v1alpha1.ConditionProvisionerKeyReady, "KeyNameTaken")
		kubetest.Until(t, wait, func(ctx context.Context) string {
			var p [2]v1alpha1.CoderProvisioner
			for i, name := range pair {
				if err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: name}, &p[i]); err != nil {
					return err.Error()
				}
			}
			if (ready(&p[0]) == "") != (taken(&p[1]) == "") || (ready(&p[1]) == "") != (taken(&p[0]) == "") || ready(&p[0]) == ready(&p[1]) {
				return fmt.Sprintf("%+v and %+v", p[0].Status, p[1].Status)
			}
			return ""
		})
	}
	if keys := w.keys(t); len(keys) != 3 {
		t.Errorf("there are the keys %+v", keys)
	}
}

// TestOfSomebodyElse has objects of somebody else's where a pool's would be, and
// asks for more rights than the operator has: nothing is touched, it is said,
// and nobody loops.
func TestOfSomebodyElse(t *testing.T) {
	w := newTown(t, quiet)
	kube, config, far := w.counted()
	w.run(t, config, far.client(), 30*time.Minute)
	w.controlPlane(t)
	ctx := t.Context()
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Namespace: w.ns, Labels: map[string]string{"mine": "yes"}}
	}
	theirs := controlplane.Deployment(&v1alpha1.CoderControlPlane{ObjectMeta: meta("x")}, "")
	theirs.ObjectMeta = meta("provisioner-worked")
	theirs.Spec.Template.Spec.Containers[0].Image = "theirs"
	theirs.Spec.Replicas = new(int32(0))
	for _, o := range []client.Object{theirs, &corev1.ServiceAccount{ObjectMeta: meta("provisioner-worked")}, &rbacv1.Role{ObjectMeta: meta("provisioner-worked")}} {
		must(t, cluster.Client.Create(ctx, o))
	}
	w.pool(t, "worked", nil)
	p := w.become(t, "worked", condition(v1alpha1.ConditionRBACReady, "Refused"))
	w.become(t, "worked", condition(v1alpha1.ConditionDeploymentReady, "Refused"))
	must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(theirs), theirs))
	if theirs.Spec.Template.Spec.Containers[0].Image != "theirs" || len(theirs.OwnerReferences) > 0 {
		t.Errorf("the Deployment of somebody else's became %+v", theirs)
	}
	w.pool(t, "greedy", func(s *v1alpha1.CoderProvisionerSpec) {
		s.RBAC.ExtraRules = []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
	})
	w.become(t, "greedy", condition(v1alpha1.ConditionRBACReady, "Refused"))
	w.events(t, "greedy", "Refused")
	kubetest.Until(t, wait, func(context.Context) string {
		n := kube.n.Load() + far.n.Load()
		pause(t, 3*time.Second)
		if now := kube.n.Load() + far.n.Load(); now-n > 2 {
			return fmt.Sprintf("%d calls within three seconds", now-n)
		}
		return ""
	})
	must(t, cluster.Client.Delete(ctx, p))
	w.gone(t, p)
	must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(theirs), theirs))
	if !theirs.DeletionTimestamp.IsZero() {
		t.Error("what is somebody else's is deleted with the pool")
	}
}

// TestBadInput creates pools that cannot work: each states why and what to do,
// and objects of other owners stay as they are.
func TestBadInput(t *testing.T) {
	w := newTown(t)
	ctx := t.Context()
	w.pool(t, "early", func(s *v1alpha1.CoderProvisionerSpec) { s.ControlPlaneRef.Name = "nowhere" })
	w.become(t, "early", condition(v1alpha1.ConditionControlPlaneReady, "NotFound"))

	w.controlPlane(t)
	w.pool(t, "org", func(s *v1alpha1.CoderProvisionerSpec) { s.OrganizationName = "nobody" })
	lost := w.become(t, "org", condition(v1alpha1.ConditionProvisionerKeyReady, "OrganizationNotFound"))
	if c := meta.FindStatusCondition(lost.Status.Conditions, v1alpha1.ConditionReady); c == nil || !strings.Contains(c.Message, `no organization "nobody"`) {
		t.Errorf("the condition Ready is %+v", c)
	}

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

	if _, err := w.Client.CreateProvisionerKey(ctx, "default", codersdk.CreateProvisionerKeyRequest{Name: "handmade"}); err != nil {
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
