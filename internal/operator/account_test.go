package operator_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
)

// subjects returns the accounts that a RoleBinding names.
func (w *town) subjects(ctx context.Context, binding string) ([]string, error) {
	b := &rbacv1.RoleBinding{}
	if err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: binding}, b); err != nil {
		return nil, err
	}
	var out []string
	for _, s := range b.Subjects {
		out = append(out, s.Name)
	}
	return out, nil
}

// bound waits until a RoleBinding names exactly these accounts, and until an
// account without permissions is gone.
func (w *town) bound(t *testing.T, binding, former string, want ...string) {
	t.Helper()
	kubetest.Until(t, wait, func(ctx context.Context) string {
		got, err := w.subjects(ctx, binding)
		if err != nil || !slices.Equal(got, want) {
			return fmt.Sprintf("%s names %v, not %v: %v", binding, got, want, err)
		}
		err = cluster.Client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: former}, &corev1.ServiceAccount{})
		if apierrors.IsNotFound(err) == slices.Contains(want, former) {
			return fmt.Sprintf("the account %s: %v", former, err)
		}
		return ""
	})
}

// TestAccountChange renames the ServiceAccounts of a pool that runs a build and of
// a server: the build keeps its account and permissions until it ends, then they
// are deleted.
func TestAccountChange(t *testing.T) {
	w := newTown(t)
	cp := w.controlPlane(t)
	tags := map[string]string{"zone": "a"}
	w.pool(t, "builders", func(s *v1alpha1.CoderProvisionerSpec) { s.Tags = tags })
	w.become(t, "builders", ready)
	w.bound(t, "provisioner-builders", "provisioner-builders", "provisioner-builders")

	build, release := w.longJob(t, tags)
	w.change(t, "builders", func(p *v1alpha1.CoderProvisioner) { p.Spec.ServiceAccount.Name = "builders-provisioner" })
	w.bound(t, "provisioner-builders", "provisioner-builders", "builders-provisioner", "provisioner-builders")
	w.ends(t, w.job(t, tags, `{"log":{"output":"x"}}`), codersdk.ProvisionerJobStatusSucceeded) // by a new pod
	w.bound(t, "provisioner-builders", "provisioner-builders", "builders-provisioner", "provisioner-builders")
	release()
	w.ends(t, build, codersdk.ProvisionerJobStatusSucceeded)
	w.bound(t, "provisioner-builders", "provisioner-builders", "builders-provisioner")

	// An account that was not created for the pool stays.
	other := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "shared", Namespace: w.ns, Labels: map[string]string{
		"app.kubernetes.io/name": "coder-provisioner", "app.kubernetes.io/instance": "builders", "app.kubernetes.io/managed-by": "coder-operator",
	}}}
	must(t, cluster.Client.Create(t.Context(), other))
	w.change(t, "builders", func(p *v1alpha1.CoderProvisioner) {
		p.Spec.ServiceAccount = v1alpha1.ServiceAccountSpec{Name: "shared", DisableCreate: true}
	})
	w.bound(t, "provisioner-builders", "builders-provisioner", "shared")
	w.change(t, "builders", func(p *v1alpha1.CoderProvisioner) { p.Spec.ServiceAccount = v1alpha1.ServiceAccountSpec{} })
	w.bound(t, "provisioner-builders", "builders-provisioner", "provisioner-builders")
	must(t, cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(other), other))

	kubetest.Until(t, wait, func(ctx context.Context) string {
		must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(cp), cp))
		cp.Spec.ServiceAccount.Name = "coder"
		if err := cluster.Client.Update(ctx, cp); err != nil {
			return err.Error()
		}
		return ""
	})
	w.bound(t, "main-workspace-perms", "main", "coder")
}
