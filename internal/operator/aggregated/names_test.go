package aggregated_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
)

// TestAlias uses the aliases that control planes have for an organization and a
// user: no object is made, read or deleted by them, and the real name is in the
// message.
func TestAlias(t *testing.T) {
	w := newTown(t)
	ctx := t.Context()
	files := map[string]any{"apply.jsonl": "", "readme.md": "x"}
	_, err := w.workspaces.Create(ctx, workspace("coder.admin.dev", map[string]any{"templateName": "echo"}), metav1.CreateOptions{})
	must(t, err)
	for _, c := range []struct {
		of         dynamic.ResourceInterface
		made       *unstructured.Unstructured
		real       string
		identifies string // an existing object
	}{
		{w.workspaces, workspace("default.admin.fresh", map[string]any{"templateName": "echo"}), "coder.admin.fresh", "default.admin.dev"},
		{w.workspaces, workspace("coder.me.fresh", map[string]any{"templateName": "echo"}), "coder.admin.fresh", "coder.me.dev"},
		{w.templates, template("default.fresh", map[string]any{"files": files}), "coder.fresh", "default.echo"},
	} {
		name := c.made.GetName()
		if _, err := c.of.Create(ctx, c.made, metav1.CreateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "use "+c.real) {
			t.Errorf("%s: create: %v", name, err)
		}
		if _, err := c.of.Apply(ctx, name, c.made, metav1.ApplyOptions{FieldManager: "test"}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "use "+c.real) {
			t.Errorf("%s: apply: %v", name, err)
		}
		_, err := c.of.Get(ctx, c.identifies, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "its name is coder.") {
			t.Errorf("%s: get: %v", c.identifies, err)
		}
		if err := c.of.Delete(ctx, c.identifies, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "its name is coder.") {
			t.Errorf("%s: delete: %v", c.identifies, err)
		}
	}
	if _, err := w.workspaces.Get(ctx, "coder.admin.dev", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// applyByClient does what kubectl apply does without --server-side.
func applyByClient(t *testing.T, of dynamic.ResourceInterface, want *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	last, err := want.MarshalJSON()
	must(t, err)
	want = want.DeepCopy()
	want.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: string(last)})
	if _, err := of.Get(t.Context(), want.GetName(), metav1.GetOptions{}); apierrors.IsNotFound(err) {
		out, err := of.Create(t.Context(), want, metav1.CreateOptions{})
		must(t, err)
		return out
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": want.GetAnnotations()}, "spec": want.Object["spec"]})
	must(t, err)
	out, err := of.Patch(t.Context(), want.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
	must(t, err)
	return out
}

// TestApplyTwice applies the same objects again, by the client and by the
// server: there is no further build and no further version.
func TestApplyTwice(t *testing.T) {
	w := newTown(t)
	ctx := t.Context()
	tpl := template("coder.twice", map[string]any{"files": map[string]any{"apply.jsonl": "", "readme.md": "x"}})
	ws := workspace("coder.admin.dev", map[string]any{"templateName": "echo", "running": true})
	version := applyByClient(t, w.templates, tpl).Object["spec"].(map[string]any)["versionID"]
	applyByClient(t, w.workspaces, ws)
	build := w.becomes(t, "coder.admin.dev", "running")
	for range 2 {
		for by, apply := range map[string]func(dynamic.ResourceInterface, *unstructured.Unstructured) *unstructured.Unstructured{
			"client": func(of dynamic.ResourceInterface, o *unstructured.Unstructured) *unstructured.Unstructured {
				return applyByClient(t, of, o)
			},
			"server": func(of dynamic.ResourceInterface, o *unstructured.Unstructured) *unstructured.Unstructured {
				out, err := of.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: "test", Force: true})
				must(t, err)
				return out
			},
		} {
			if now := apply(w.templates, tpl); text(now, "spec", "versionID") != version {
				t.Errorf("by the %s: the template has the version %v, not %v", by, text(now, "spec", "versionID"), version)
			}
			if now := apply(w.workspaces, ws); text(now, "status", "latestBuildID") != text(build, "status", "latestBuildID") {
				t.Errorf("by the %s: the workspace has another build: %v", by, now.Object)
			}
		}
	}
	v, err := w.Client.TemplateByName(ctx, "default", "twice")
	must(t, err)
	all, err := w.Client.TemplateVersions(ctx, v.ID, nil)
	must(t, err)
	if len(all) != 1 {
		t.Errorf("there are %d versions", len(all))
	}
}

// warnings collects the warnings of responses.
type warnings struct {
	mu  sync.Mutex
	all []string
}

func (w *warnings) HandleWarningHeader(_ int, _ string, message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, message)
}

// about returns the warnings that name a namespace.
func (w *warnings) about(namespace string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, m := range w.all {
		if strings.Contains(m, "namespace "+namespace+" ") {
			out = append(out, m)
		}
	}
	return strings.Join(out, "\n")
}

// TestPartialList lists all namespaces while one control plane is down and was
// never read, and another namespace has two: the rest is listed, and warnings
// name what is left out.
func TestPartialList(t *testing.T) {
	w := newTown(t)
	ctx := t.Context()
	_, err := w.workspaces.Create(ctx, workspace("coder.admin.dev", map[string]any{"templateName": "echo"}), metav1.CreateOptions{})
	must(t, err)
	down := &town{ns: cluster.Namespace(t), Server: w.Server}
	gone := down.controlPlane(t, "http://127.0.0.1:1")
	two := &town{ns: cluster.Namespace(t), Server: w.Server}
	first := two.controlPlane(t, w.AccessURL().String())
	second := &v1alpha1.CoderControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "second", Namespace: two.ns}}
	must(t, cluster.Client.Create(ctx, second))
	t.Cleanup(func() { // others list all namespaces, too
		for _, cp := range []*v1alpha1.CoderControlPlane{gone, first, second} {
			_ = cluster.Client.Delete(t.Context(), cp)
		}
	})
	heard := &warnings{}
	r := rest.CopyConfig(cluster.Rest)
	r.WarningHandler = heard
	c, err := dynamic.NewForConfig(r)
	must(t, err)
	all := c.Resource(workspaceResource)
	kubetest.Until(t, wait, func(ctx context.Context) string {
		list, err := all.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err.Error()
		}
		seen := map[string]bool{}
		for _, i := range list.Items {
			seen[i.GetNamespace()] = true
		}
		switch {
		case !seen[w.ns] || seen[down.ns] || seen[two.ns]:
			return "the namespaces are " + strings.Join(slices.Collect(maps.Keys(seen)), ", ")
		case !strings.Contains(heard.about(down.ns), "is left out") || !strings.Contains(heard.about(two.ns), "several control planes"):
			return "the warnings are " + heard.about(down.ns) + heard.about(two.ns)
		}
		return ""
	})
	// A watch of all namespaces starts, too, with what there is.
	seen, err := all.Watch(ctx, metav1.ListOptions{})
	must(t, err)
	seen.Stop()
}
