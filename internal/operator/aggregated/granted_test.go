package aggregated_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/internal/operator/controlplane"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
)

// TestNotGranted takes from the server the Secret with the operator's token, as
// before the operator has granted it: it is unavailable to the caller, not
// forbidden, and the message states what is missing.
func TestNotGranted(t *testing.T) {
	w := newTown(t)
	cp := w.find(t)
	readers := controlplane.Readers(cp, "coder-operator/coder-aggregated-apiserver")
	for _, o := range readers {
		must(t, cluster.Client.Delete(t.Context(), o))
	}
	kubetest.Until(t, wait, func(ctx context.Context) string {
		_, err := w.workspaces.List(ctx, metav1.ListOptions{})
		if !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), "the operator has not granted the aggregated API server the Secret "+w.ns+"/main-operator-token yet") {
			return fmt.Sprint("the list returns ", err)
		}
		return ""
	})
	for _, o := range controlplane.Readers(cp, "coder-operator/coder-aggregated-apiserver") {
		must(t, cluster.Client.Create(t.Context(), o))
	}
	kubetest.Until(t, wait, func(ctx context.Context) string {
		if _, err := w.workspaces.List(ctx, metav1.ListOptions{}); err != nil {
			return err.Error()
		}
		return ""
	})
}

// TestWarnings applies a workspace as kubectl does, without a warning, then with
// an annotation that is not stored.
func TestWarnings(t *testing.T) {
	w := newTown(t)
	heard := &warnings{}
	r := rest.CopyConfig(cluster.Rest)
	r.WarningHandler = heard
	workspaces := w.as(t, r, workspaceResource)
	applyByClient(t, workspaces, workspace("coder.admin.dev", map[string]any{"templateName": "echo"}))
	if len(heard.all) > 0 {
		t.Errorf("kubectl apply warns: %v", heard.all)
	}
	noted := workspace("coder.admin.noted", map[string]any{"templateName": "echo"})
	noted.SetAnnotations(map[string]string{"team": "platform"})
	_, err := workspaces.Create(t.Context(), noted, metav1.CreateOptions{})
	must(t, err)
	if len(heard.all) != 1 || !strings.Contains(heard.all[0], "annotations") {
		t.Errorf("the warnings are %v", heard.all)
	}
}

// TestCertificateDamaged damages the Secret with the server's certificate: the
// server replaces it with its own rights, and the API server trusts the new one.
func TestCertificateDamaged(t *testing.T) {
	w := newTown(t)
	s := &corev1.Secret{}
	must(t, cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: "coder-operator", Name: "coder-aggregated-apiserver-certificate"}, s))
	s.Data[corev1.TLSPrivateKeyKey] = []byte("damaged")
	must(t, cluster.Client.Update(t.Context(), s))
	theAPI.again(t)
	kubetest.Until(t, wait, func(ctx context.Context) string {
		if _, err := w.workspaces.List(ctx, metav1.ListOptions{}); err != nil {
			return err.Error()
		}
		return ""
	})
	must(t, cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s))
	if string(s.Data[corev1.TLSPrivateKeyKey]) == "damaged" {
		t.Error("the Secret is still damaged")
	}
}
