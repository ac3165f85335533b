package operator_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
)

// TestSamples applies every sample, waits until it is applied, and applies it
// again: neither the resource nor its Deployment changes.
func TestSamples(t *testing.T) {
	w := newTown(t)
	must(t, cluster.Client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "coder-db-url", Namespace: w.ns}, StringData: map[string]string{"url": "postgres://"}}))
	files, err := filepath.Glob("../../deploy/operator/samples/*.yaml")
	must(t, err)
	if len(files) != 4 {
		t.Fatalf("the samples are %v", files)
	}
	// The trial is applied before the server with a database, which has its name.
	for _, sample := range []struct{ file, deployment string }{
		{"trial", "main"}, {"provisioner", "provisioner-lisbon"}, {"controlplane", "main"}, {"workspaceproxy", ""},
	} {
		apply := func() *unstructured.Unstructured {
			u := &unstructured.Unstructured{}
			b, err := os.ReadFile(filepath.Join("../../deploy/operator/samples", sample.file+".yaml"))
			must(t, err)
			must(t, yaml.Unmarshal(b, &u.Object))
			u.SetNamespace(w.ns)
			must(t, client.IgnoreAlreadyExists(cluster.Client.Create(t.Context(), u.DeepCopy(), client.DryRunAll, client.FieldValidation("Strict"))))
			must(t, cluster.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("kubectl")))
			return u
		}
		u := apply()
		if sample.deployment == "" {
			continue // it waits for the credentials
		}
		kubetest.Until(t, wait, func(ctx context.Context) string {
			if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
				return err.Error()
			}
			phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")                //nolint:errcheck // absent is ""
			observed, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration") //nolint:errcheck // absent is 0
			if phase != "Ready" || observed != u.GetGeneration() {
				return fmt.Sprintf("%s is %s: %v", sample.file, phase, u.Object["status"])
			}
			return ""
		})
		d := &appsv1.Deployment{}
		w.get(t, sample.deployment, d)
		apply()
		again, after := u.DeepCopy(), &appsv1.Deployment{}
		must(t, cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(u), again))
		w.get(t, sample.deployment, after)
		if again.GetGeneration() != u.GetGeneration() || after.Generation != d.Generation {
			t.Errorf("%s: applied again, the generation is %d, not %d, and its Deployment's %d, not %d",
				sample.file, again.GetGeneration(), u.GetGeneration(), after.Generation, d.Generation)
		}
	}
}
