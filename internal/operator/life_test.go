package operator_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
)

func (w *town) gone(t *testing.T, o client.Object) {
	t.Helper()
	kubetest.Until(t, wait, func(ctx context.Context) string {
		if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
			return fmt.Sprintf("%T %s should be gone, %v", o, o.GetName(), err)
		}
		return ""
	})
}

// TestScale lets a pool follow the queue from none to three and back, while
// what runs is never ended.
func TestScale(t *testing.T) {
	w := newTown(t)
	w.controlPlane(t)
	w.pool(t, "elastic", func(s *v1alpha1.CoderProvisionerSpec) {
		s.Tags = map[string]string{"zone": "a"}
		s.Autoscaling = &v1alpha1.AutoscalingSpec{MaxReplicas: 3, ScaleDownStabilization: &metav1.Duration{}}
	})
	w.become(t, "elastic", ready)
	replicas := func(want int32) func(*v1alpha1.CoderProvisioner) string {
		return func(p *v1alpha1.CoderProvisioner) string {
			if p.Status.Replicas != want || p.Status.ReadyReplicas != want {
				return fmt.Sprintf("there should be %d pods", want)
			}
			return ""
		}
	}
	w.become(t, "elastic", replicas(0))
	var short []codersdk.TemplateVersion
	long, release := w.longJob(t, map[string]string{"zone": "a"})
	for range 4 {
		short = append(short, w.job(t, map[string]string{"zone": "a"}, `{"sleep":"500ms"}`))
	}
	w.become(t, "elastic", replicas(3))
	for _, v := range short {
		w.ends(t, v, codersdk.ProvisionerJobStatusSucceeded)
	}
	w.become(t, "elastic", replicas(1))
	now, err := w.Client.TemplateVersion(t.Context(), long.ID)
	must(t, err)
	if now.Job.Status != codersdk.ProvisionerJobStatusRunning {
		t.Errorf("with one pod left the long job is %s", now.Job.Status)
	}
	release()
	w.ends(t, long, codersdk.ProvisionerJobStatusSucceeded)
	w.become(t, "elastic", replicas(0))
}

// TestSharedQueue has two pools match the same jobs: together they have a slot
// for each, not one of each pool.
func TestSharedQueue(t *testing.T) {
	w := newTown(t, quiet)
	w.run(t, cluster.Operator(), w.http(), 30*time.Minute) // provisioners have a minute to connect
	w.controlPlane(t)
	w.mute.Store(true) // jobs stay in the queue
	tags := map[string]string{"zone": "a"}
	pools := []string{"left", "right"}
	for _, name := range pools {
		w.pool(t, name, func(s *v1alpha1.CoderProvisionerSpec) {
			s.Tags, s.Autoscaling = tags, &v1alpha1.AutoscalingSpec{MaxReplicas: 10}
		})
		w.become(t, name, ready)
	}
	const jobs = 6
	for range jobs {
		w.job(t, tags, `{"log":{"output":"x"}}`)
	}
	kubetest.Until(t, wait, func(ctx context.Context) string {
		var pods int32
		for _, name := range pools {
			p := &v1alpha1.CoderProvisioner{}
			must(t, cluster.Client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: name}, p))
			if p.Status.Queue == nil || p.Status.Queue.Pending != jobs {
				return fmt.Sprintf("%s has not seen all jobs: %+v", name, p.Status.Queue)
			}
			pods += p.Status.Replicas
		}
		if pods < jobs {
			return fmt.Sprintf("there are %d pods", pods)
		}
		if pods > jobs+2 { // one that was decided on before the other's was known
			t.Errorf("there are %d pods for %d jobs", pods, jobs)
		}
		return ""
	})
}

// TestRights has roles in other namespaces made, healed and taken away.
func TestRights(t *testing.T) {
	other := cluster.Namespace(t)
	w := newTown(t, other)
	w.allow(t, other)
	w.controlPlane(t)
	p := w.pool(t, "far", func(s *v1alpha1.CoderProvisionerSpec) { s.WorkspaceNamespaces = []string{other} })
	w.become(t, "far", ready)
	var roles rbacv1.RoleList
	var bindings rbacv1.RoleBindingList
	find := func() string {
		must(t, cluster.Client.List(t.Context(), &roles, client.InNamespace(other), client.MatchingLabels{"coder.com/owner-uid": string(p.UID)}))
		must(t, cluster.Client.List(t.Context(), &bindings, client.InNamespace(other), client.MatchingLabels{"coder.com/owner-uid": string(p.UID)}))
		if len(roles.Items) != 1 || len(bindings.Items) != 1 {
			return fmt.Sprintf("%d roles and %d bindings", len(roles.Items), len(bindings.Items))
		}
		return ""
	}
	if s := find(); s != "" {
		t.Fatal(s)
	}
	rules := len(roles.Items[0].Rules)
	if rules != 3 || bindings.Items[0].Subjects[0].Namespace != w.ns {
		t.Errorf("the role has the rules %+v, its binding %+v", roles.Items[0].Rules, bindings.Items[0].Subjects)
	}
	must(t, cluster.Client.Delete(t.Context(), &bindings.Items[0]))
	roles.Items[0].Rules = nil
	must(t, cluster.Client.Update(t.Context(), &roles.Items[0]))
	kubetest.Until(t, wait, func(context.Context) string {
		if s := find(); s != "" {
			return s
		}
		if len(roles.Items[0].Rules) != rules {
			return "the role should be healed"
		}
		return ""
	})
	w.change(t, "far", func(p *v1alpha1.CoderProvisioner) { p.Spec.WorkspaceNamespaces = nil })
	w.gone(t, &roles.Items[0])
	w.gone(t, &bindings.Items[0])
}

// TestRightsElsewhere has an operator give rights in a namespace that it does
// not watch.
func TestRightsElsewhere(t *testing.T) {
	w := newTown(t)
	w.controlPlane(t)
	other := cluster.Namespace(t)
	w.allow(t, other)
	p := w.pool(t, "far", func(s *v1alpha1.CoderProvisionerSpec) { s.WorkspaceNamespaces = []string{other, "nowhere"} })
	w.become(t, "far", condition(v1alpha1.ConditionRBACReady, "Refused")) // the namespace does not exist
	w.change(t, "far", func(p *v1alpha1.CoderProvisioner) { p.Spec.WorkspaceNamespaces = []string{other} })
	w.become(t, "far", ready)
	must(t, cluster.Client.Delete(t.Context(), p))
	w.gone(t, p)
	var roles rbacv1.RoleList
	must(t, cluster.Client.List(t.Context(), &roles, client.InNamespace(other)))
	if len(roles.Items) != 0 {
		t.Errorf("roles are left: %+v", roles.Items)
	}
}

// TestControlPlaneFirst ends a control plane before its pools: the pools say
// so, and still end at once.
func TestControlPlaneFirst(t *testing.T) {
	w := newTown(t)
	cp := w.controlPlane(t)
	p := w.pool(t, "left", nil)
	w.become(t, "left", ready)
	must(t, cluster.Client.Delete(t.Context(), cp))
	w.gone(t, cp)
	w.become(t, "left", condition(v1alpha1.ConditionControlPlaneReady, "NotFound"))
	d := &appsv1.Deployment{}
	must(t, cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: w.ns, Name: "provisioner-left"}, d))
	must(t, cluster.Client.Delete(t.Context(), p))
	w.gone(t, p)
}

// TestNamespace ends a namespace with everything in it: no finalizer is in the
// way, and the key goes too.
func TestNamespace(t *testing.T) {
	w := newTown(t)
	w.controlPlane(t)
	p := w.pool(t, "doomed", nil)
	w.become(t, "doomed", ready)
	// What the namespace controller does: mark it, then delete what is in it, the
	// Secrets first.
	ns := &corev1.Namespace{}
	must(t, cluster.Client.Get(t.Context(), client.ObjectKey{Name: w.ns}, ns))
	must(t, cluster.Client.Delete(t.Context(), ns))
	must(t, cluster.Client.DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace(w.ns)))
	must(t, cluster.Client.DeleteAllOf(t.Context(), &v1alpha1.CoderControlPlane{}, client.InNamespace(w.ns)))
	must(t, cluster.Client.DeleteAllOf(t.Context(), &v1alpha1.CoderProvisioner{}, client.InNamespace(w.ns)))
	w.gone(t, p)
	w.gone(t, &v1alpha1.CoderControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: w.ns}})
	kubetest.Until(t, wait, func(context.Context) string {
		if keys := w.keys(t); len(keys) != 0 {
			return fmt.Sprintf("the keys should be gone: %+v", keys)
		}
		return ""
	})
}
