package operator_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
)

// setDisabled sets whether a control plane's operator access is disabled.
func setDisabled(t *testing.T, cp *v1alpha1.CoderControlPlane, disabled bool) {
	t.Helper()
	kubetest.Until(t, wait, func(ctx context.Context) string {
		must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(cp), cp))
		cp.Spec.OperatorAccess.Disabled = disabled
		if err := cluster.Client.Update(ctx, cp); err != nil {
			return err.Error()
		}
		return ""
	})
}

// TestAccessDisabled disables the operator's access: the server rejects the
// token from then on, and its Secret is gone. Enabled again, there is another.
func TestAccessDisabled(t *testing.T) {
	w := newTown(t)
	cp := w.controlPlane(t)
	secret := &corev1.Secret{}
	w.get(t, "main-operator-token", secret)
	c := codersdk.New(w.AccessURL())
	c.SessionToken = string(secret.Data["token"])
	if _, err := c.User(t.Context(), "me"); err != nil {
		t.Fatal(err)
	}
	setDisabled(t, cp, true)
	w.gone(t, secret)
	if _, err := c.User(t.Context(), "me"); !codersdk.Is(err, codersdk.CodeUnauthenticated) {
		t.Errorf("the server accepts the token: %v", err)
	}
	w.state(t, cp, v1alpha1.ConditionOperatorAccessReady, "Disabled")
	d := &appsv1.Deployment{}
	w.get(t, "main", d)
	if slices.Contains(names(d.Spec.Template.Spec.Containers[0].Env), "CODER_OPERATOR_TOKEN") {
		t.Error("the server starts with a token")
	}
	setDisabled(t, cp, false)
	kubetest.Until(t, wait, func(ctx context.Context) string {
		must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(cp), cp))
		if !meta.IsStatusConditionTrue(cp.Status.Conditions, v1alpha1.ConditionOperatorAccessReady) {
			return fmt.Sprintf("no access: %+v", cp.Status)
		}
		return ""
	})
}

// TestAccessURL sets the access URL by a Secret of spec.envFrom: it replaces the
// operator's default, which browsers see without a port.
func TestAccessURL(t *testing.T) {
	w := newTown(t)
	started := make(chan map[string]string, 10)
	w.node.Start = func(_ *corev1.Pod, env map[string]string) (kubetest.Process, error) {
		started <- env
		return nothing{}, nil
	}
	const mine = "https://coder.example.com"
	must(t, cluster.Client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "settings", Namespace: w.ns}, StringData: map[string]string{"CODER_ACCESS_URL": mine}}))
	must(t, cluster.Client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: w.ns}, StringData: map[string]string{"CODER_VERBOSE": "true"}}))
	derived := func(name string) string { return fmt.Sprintf("http://%s.%s.svc.cluster.local", name, w.ns) }
	for name, c := range map[string]struct {
		from  string
		extra []corev1.EnvVar
		want  string
	}{
		"alone":  {"", nil, derived("alone")},
		"other":  {"other", nil, derived("other")},
		"source": {"settings", nil, mine},
		"extra":  {"settings", []corev1.EnvVar{{Name: "CODER_ACCESS_URL", Value: "https://extra.example.com"}}, "https://extra.example.com"},
	} {
		cp := &v1alpha1.CoderControlPlane{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.ns}}
		cp.Spec.ExtraEnv = c.extra
		if c.from != "" {
			cp.Spec.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: c.from}}}}
		}
		must(t, cluster.Client.Create(t.Context(), cp))
		select {
		case env := <-started:
			if env["CODER_ACCESS_URL"] != c.want {
				t.Errorf("%s: the URL is %q, want %q", name, env["CODER_ACCESS_URL"], c.want)
			}
		case <-t.Context().Done():
		}
		if name == "source" { // the default needs no ConfigMap without other sources
			defaults := &corev1.ConfigMap{}
			w.get(t, "source-defaults", defaults)
			kubetest.Until(t, wait, func(ctx context.Context) string {
				must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(cp), cp))
				cp.Spec.EnvFrom = nil
				if err := cluster.Client.Update(ctx, cp); err != nil {
					return err.Error()
				}
				return ""
			})
			w.gone(t, defaults)
			if env := <-started; env["CODER_ACCESS_URL"] != derived("source") {
				t.Errorf("without sources the URL is %q", env["CODER_ACCESS_URL"])
			}
		}
		must(t, cluster.Client.Delete(t.Context(), cp))
		w.gone(t, cp)
		must(t, client.IgnoreNotFound(cluster.Client.Delete(t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.ns}})))
	}
}
