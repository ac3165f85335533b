package operator_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
	"github.com/seed-2a7f8fe7/coder/internal/testport"
)

// grant binds a ClusterRole to an account of the operator's namespace: in the
// town's namespace, or in the whole cluster.
func (w *town) grant(t *testing.T, account, role string, whole bool) {
	t.Helper()
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: "coder-operator"}}
	var o client.Object = &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role, Namespace: w.ns}, RoleRef: ref, Subjects: subjects}
	if whole {
		o = &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: account + "-" + role}, RoleRef: ref, Subjects: subjects}
		t.Cleanup(func() { _ = cluster.Client.Delete(context.Background(), o) })
	}
	must(t, cluster.Client.Create(t.Context(), o))
}

// TestLimited runs an operator that has its rights in one namespace, as
// deploy/operator-namespaced grants them: a pool there works, and the operator
// reads no Secret elsewhere.
func TestLimited(t *testing.T) {
	w := newTown(t, quiet)
	other := cluster.Namespace(t)
	w.grant(t, "limited", "coder-operator", false)
	w.grant(t, "limited", "coder-operator-grants", false)
	w.grant(t, "limited", "coder-operator-namespaces", true)
	limited := cluster.As("system:serviceaccount:coder-operator:limited", "system:serviceaccounts")
	w.run(t, limited, w.http(), 18*time.Second)
	w.controlPlane(t)
	w.pool(t, "near", nil)
	w.become(t, "near", ready)
	c, err := client.New(limited, client.Options{})
	must(t, err)
	if err := c.List(t.Context(), &corev1.SecretList{}, client.InNamespace(other)); !apierrors.IsForbidden(err) {
		t.Errorf("it lists the Secrets of another namespace: %v", err)
	}
}

// token returns a token of a new account of the operator's namespace.
func (w *town) token(t *testing.T, account string) string {
	t.Helper()
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: "coder-operator"}}
	must(t, cluster.Client.Create(t.Context(), sa))
	t.Cleanup(func() { _ = cluster.Client.Delete(context.Background(), sa) })
	r := &authenticationv1.TokenRequest{}
	must(t, cluster.Client.SubResource("token").Create(t.Context(), sa, r))
	return r.Status.Token
}

// TestMetrics reads the operator's metrics: only a client that the cluster
// permits it may.
func TestMetrics(t *testing.T) {
	w := newTown(t, quiet)
	w.metrics = testport.FreeAddress(t)
	w.operate(t)
	permitted, other := w.token(t, "prometheus"), w.token(t, "somebody")
	w.grant(t, "prometheus", "coder-operator-metrics", true)
	h := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // the certificate is self-signed
	for token, want := range map[string]int{"": http.StatusUnauthorized, other: http.StatusForbidden, permitted: http.StatusOK} {
		kubetest.Until(t, wait, func(ctx context.Context) string {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+w.metrics+"/metrics", nil)
			must(t, err)
			if token != "" {
				req.Header.Set("Authorization", "Bearer "+token)
			}
			resp, err := h.Do(req)
			if err != nil {
				return err.Error()
			}
			defer resp.Body.Close() //nolint:errcheck // not read
			if resp.StatusCode != want {
				return fmt.Sprintf("the status is %d, want %d", resp.StatusCode, want)
			}
			return ""
		})
	}
}
