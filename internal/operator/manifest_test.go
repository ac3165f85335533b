package operator_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
)

// put makes what a manifest has, in the town's namespace. A field that the API
// server does not know is an error.
func (w *town) put(t *testing.T, file string, change func(*unstructured.Unstructured)) {
	t.Helper()
	f, err := os.Open(file)
	must(t, err)
	defer f.Close()
	d := yaml.NewYAMLOrJSONDecoder(f, 4096)
	for {
		u := &unstructured.Unstructured{}
		if err := d.Decode(&u.Object); errors.Is(err, io.EOF) {
			return
		}
		must(t, err)
		u.SetNamespace(w.ns)
		u.SetUID("")
		if change != nil {
			change(u)
		}
		must(t, cluster.Client.Create(t.Context(), u, client.FieldValidation("Strict")))
	}
}

func (w *town) get(t *testing.T, name string, o client.Object) {
	t.Helper()
	kubetest.Until(t, wait, func(ctx context.Context) string {
		if err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: name}, o); err != nil {
			return err.Error()
		}
		return ""
	})
}

// available waits until a control plane is, with nothing refused.
func (w *town) available(t *testing.T, name string) *v1alpha1.CoderControlPlane {
	t.Helper()
	cp := &v1alpha1.CoderControlPlane{}
	kubetest.Until(t, wait, func(ctx context.Context) string {
		if err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: name}, cp); err != nil {
			return err.Error()
		}
		if !meta.IsStatusConditionTrue(cp.Status.Conditions, v1alpha1.ConditionAvailable) || cp.Status.ObservedGeneration != cp.Generation {
			return fmt.Sprintf("not available: %+v", cp.Status)
		}
		return ""
	})
	return cp
}

// TestOriginalManifest applies, unchanged, a manifest that was written by hand
// for the original, with every field that it has (system.md 1.11): the objects
// are called, and start, what they did there. (OP-01, OP-10)
func TestOriginalManifest(t *testing.T) {
	w := newTown(t)
	for name, data := range map[string]map[string]string{"coder-db": {"url": "postgres://"}, "sydney-token": {"token": "id:secret"}} {
		must(t, cluster.Client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.ns}, StringData: data}))
	}
	must(t, cluster.Client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings", Namespace: w.ns}, Data: map[string]string{"CODER_VERBOSE": "true"}}))
	must(t, cluster.Client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "secrets", Namespace: w.ns}, StringData: map[string]string{"CODER_EXAMPLE": "x"}}))
	w.put(t, "testdata/manifest/original.yaml", nil)
	w.become(t, "builders", ready)
	cp := w.available(t, "main")
	if want := fmt.Sprintf("http://main.%s.svc.cluster.local:80", w.ns); cp.Status.URL != want || cp.Status.OperatorTokenSecretRef.Name != "main-operator-token" {
		t.Errorf("the status is %+v", cp.Status)
	}
	if c := meta.FindStatusCondition(cp.Status.Conditions, v1alpha1.ConditionLicenseApplied); c == nil || c.Reason != "NotSupported" {
		t.Errorf("the license: %+v", c)
	}

	var server, pool, sydney appsv1.Deployment
	w.get(t, "main", &server)
	c := server.Spec.Template.Spec.Containers[0]
	expect(t, "the server's arguments", c.Args, []string{"server", "--http-address=0.0.0.0:8080", "--verbose"})
	expect(t, "the server's variables", names(c.Env), []string{"KUBE_POD_IP", "CODER_DERP_SERVER_RELAY_URL", "CODER_OPERATOR_TOKEN", "CODER_PG_CONNECTION_URL"})
	if from := c.EnvFrom; len(from) != 3 || from[0].ConfigMapRef.Name != "main-defaults" || from[1].ConfigMapRef.Name != "settings" || from[2].SecretRef.Name != "secrets" {
		t.Errorf("the server's sources of variables are %+v", from)
	}
	expect(t, "the server's account", []string{server.Spec.Template.Spec.ServiceAccountName}, []string{"coder"})
	w.get(t, "provisioner-builders", &pool)
	c = pool.Spec.Template.Spec.Containers[0]
	expect(t, "the pool's arguments", c.Args, []string{"provisioner", "start", "--poll-interval=1s"})
	expect(t, "the pool's variables", names(c.Env), []string{"CODER_URL", "CODER_PROVISIONER_DAEMON_KEY", "TF_LOG"})
	if ref := c.Env[1].ValueFrom.SecretKeyRef; ref.Name != "builders-key" || ref.Key != "secret" || c.Env[0].Value != cp.Status.URL {
		t.Errorf("the pool's variables are %+v", c.Env)
	}
	if *pool.Spec.Replicas != 2 || *pool.Spec.Template.Spec.TerminationGracePeriodSeconds != 300 || c.Image != "ghcr.io/coder/coder:builders" {
		t.Errorf("the pool is %+v", pool.Spec)
	}
	w.get(t, "wsproxy-sydney", &sydney)
	expect(t, "the proxy's arguments", sydney.Spec.Template.Spec.Containers[0].Args, []string{"wsproxy", "server", "--http-address=0.0.0.0:3001", "--derp-only", "--verbose"})

	for name, o := range map[string]client.Object{
		"coder": &corev1.ServiceAccount{}, "main-workspace-perms": &rbacv1.RoleBinding{}, "main": &networkingv1.Ingress{},
		"builders-key": &corev1.Secret{}, "main-operator-token": &corev1.Secret{},
		"provisioner-builders": &rbacv1.Role{}, "wsproxy-sydney": &corev1.Service{},
	} {
		w.get(t, name, o)
	}
	service := &corev1.Service{}
	w.get(t, "wsproxy-sydney", service)
	if p := service.Spec.Ports[0]; p.Port != 80 {
		t.Errorf("the proxy's service is %+v", service.Spec)
	}
}

func names(env []corev1.EnvVar) (out []string) {
	for _, e := range env {
		out = append(out, e.Name)
	}
	return out
}

func expect(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s are %q, want %q", what, got, want)
	}
}

// install adds a kind of resource of another project to the cluster until the test ends.
func install(t *testing.T, group, version, plural, kind string) {
	t.Helper()
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + group, "annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, for a test"}},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]any{"plural": plural, "kind": kind, "singular": strings.ToLower(kind), "listKind": kind + "List"},
			"versions": []any{map[string]any{
				"name": version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
	must(t, cluster.Client.Create(t.Context(), crd))
	t.Cleanup(func() { _ = cluster.Client.Delete(context.Background(), crd) })
}

// TestEverythingIsTaken sends the API server, with the operator's own rights,
// resources with every field set, of each kind of object that may come of them:
// nothing is refused, and what is asked for no more goes away.
func TestEverythingIsTaken(t *testing.T) {
	other := cluster.Namespace(t)
	w := newTown(t, other)
	w.allow(t, other)
	w.node.Start = nil // the server would find neither database nor certificates
	full := func(u *unstructured.Unstructured) {
		must(t, unstructured.SetNestedStringSlice(u.Object, []string{other}, "spec", "rbac", "workspaceNamespaces"))
	}
	w.put(t, "testdata/controlplane-full.yaml", full)
	cp := w.available(t, "main")
	for name, o := range map[string]client.Object{"main": &policyv1.PodDisruptionBudget{}, "coder": &corev1.ServiceAccount{}} {
		w.get(t, name, o)
	}
	ingress := &networkingv1.Ingress{}
	w.get(t, "main", ingress)
	if len(ingress.Spec.Rules) != 2 || len(ingress.Spec.TLS) != 2 {
		t.Errorf("the Ingress is %+v", ingress.Spec)
	}

	// Without HTTPRoute in the cluster the condition says so; with it there is one,
	// and the Ingress goes.
	gateway := func() {
		kubetest.Until(t, wait, func(ctx context.Context) string {
			must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(cp), cp))
			cp.Spec.Expose = &v1alpha1.ExposeSpec{Gateway: &v1alpha1.GatewaySpec{Host: "coder.example.com", ParentRefs: []v1alpha1.GatewayParentRef{{Name: "public"}}}}
			cp.Spec.PodDisruptionBudget = nil
			if err := cluster.Client.Update(ctx, cp); err != nil {
				return err.Error()
			}
			return ""
		})
	}
	gateway()
	kubetest.Until(t, wait, func(ctx context.Context) string {
		must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(cp), cp))
		if c := meta.FindStatusCondition(cp.Status.Conditions, v1alpha1.ConditionAvailable); c == nil || c.Reason != "Refused" {
			return fmt.Sprintf("there is no HTTPRoute here, and yet %+v", cp.Status.Conditions)
		}
		return ""
	})
	w.gone(t, ingress)
	w.gone(t, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: w.ns}})
	install(t, "gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute")
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"})
	kubetest.Until(t, wait, func(ctx context.Context) string {
		must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(cp), cp))
		cp.Annotations = map[string]string{"look": "again"}
		cp.Spec.Expose.Gateway.WildcardHost = "*.apps.example.com"
		if err := cluster.Client.Update(ctx, cp); err != nil {
			return err.Error()
		}
		if err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "main"}, route); err != nil {
			return err.Error()
		}
		return ""
	})
	w.available(t, "main")
	kubetest.Until(t, wait, func(ctx context.Context) string {
		must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(cp), cp))
		cp.Spec.Expose = nil
		if err := cluster.Client.Update(ctx, cp); err != nil {
			return err.Error()
		}
		return ""
	})
	w.gone(t, route)
}

// TestEveryPool sends the API server a pool and a proxy with every field set.
func TestEveryPool(t *testing.T) {
	w := newTown(t, "workspaces")
	must(t, client.IgnoreAlreadyExists(cluster.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "workspaces"}})))
	w.allow(t, "workspaces")
	w.controlPlane(t)
	w.put(t, "testdata/provisioner-full.yaml", func(u *unstructured.Unstructured) {
		unstructured.RemoveNestedField(u.Object, "spec", "organizationName")
		unstructured.RemoveNestedField(u.Object, "spec", "priorityClassName") // the class does not exist
		must(t, unstructured.SetNestedSlice(u.Object, nil, "spec", "autoscaling", "schedule"))
	})
	w.become(t, "lisbon", ready)
	pdb := &policyv1.PodDisruptionBudget{}
	w.get(t, "provisioner-lisbon", pdb)
	w.change(t, "lisbon", func(p *v1alpha1.CoderProvisioner) { p.Spec.PodDisruptionBudget = nil })
	w.gone(t, pdb)
	d := &appsv1.Deployment{}
	w.get(t, "provisioner-lisbon", d)
	if s := d.Spec.Template.Spec; s.NodeSelector["disk"] != "fast" || s.Affinity == nil || len(s.Tolerations) != 1 || len(s.TopologySpreadConstraints) != 1 || len(s.Volumes) != 1 {
		t.Errorf("the pods are %+v", s)
	}
	must(t, cluster.Client.Delete(t.Context(), &v1alpha1.CoderProvisioner{ObjectMeta: metav1.ObjectMeta{Name: "lisbon", Namespace: w.ns}}))
	w.gone(t, &v1alpha1.CoderProvisioner{ObjectMeta: metav1.ObjectMeta{Name: "lisbon", Namespace: w.ns}})
}
