package aggregated_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func template(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "aggregation.coder.com/v1alpha1", "kind": "CoderTemplate", "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

// TestTemplate makes a template of files, changes them, and deletes it.
func TestTemplate(t *testing.T) {
	w := newTown(t)
	ctx := t.Context()
	made, err := w.templates.Create(ctx, template("coder.mine", map[string]any{"displayName": "Mine", "files": map[string]any{"readme.md": "one"}}), metav1.CreateOptions{})
	must(t, err)
	if text(made, "spec", "displayName") != "Mine" || text(made, "spec", "files") != "map[readme.md:one]" || text(made, "spec", "running") != "true" {
		t.Errorf("it was made as %v", made.Object)
	}
	list, err := w.templates.List(ctx, metav1.ListOptions{})
	must(t, err)
	if len(list.Items) != 2 || text(&list.Items[0], "spec", "files") != "<nil>" {
		t.Errorf("the list is %v", list.Items)
	}
	first := text(made, "spec", "versionID")
	changed, err := w.templates.Patch(ctx, "coder.mine", types.MergePatchType, []byte(`{"spec":{"description":"all mine","files":{"readme.md":"two","sub/x.tf":"# x"}}}`), metav1.PatchOptions{})
	must(t, err)
	if text(changed, "spec", "versionID") == first || text(changed, "spec", "description") != "all mine" || text(changed, "spec", "files") != "map[readme.md:two sub/x.tf:# x]" {
		t.Errorf("it was changed to %v", changed.Object)
	}
	back, err := w.templates.Patch(ctx, "coder.mine", types.MergePatchType, []byte(`{"spec":{"running":false,"versionID":"`+first+`"}}`), metav1.PatchOptions{})
	must(t, err)
	if text(back, "spec", "files") != "map[readme.md:one]" || text(back, "status", "deprecated") != "true" {
		t.Errorf("it was put back to %v", back.Object)
	}
	for name, c := range map[string]struct{ patch, says string }{
		"both":      {`{"spec":{"files":{"readme.md":"3"},"versionID":"6f1c1f5e-0000-4000-8000-000000000000"}}`, "not both"},
		"a path":    {`{"spec":{"files":{"../x":"3"}}}`, "is not a relative file path"},
		"a version": {`{"spec":{"versionID":"x"}}`, "is not a UUID"},
		"moved":     {`{"spec":{"organization":"x"}}`, "cannot move to another organization"},
		"outdated":  {`{"metadata":{"resourceVersion":"1"},"spec":{"icon":"/x"}}`, "has been modified"},
	} {
		if _, err := w.templates.Patch(ctx, "coder.mine", types.MergePatchType, []byte(c.patch), metav1.PatchOptions{}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.templates.Create(ctx, template("coder.none", map[string]any{}), metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("without files: %v", err)
	}
	must(t, w.templates.Delete(ctx, "coder.mine", metav1.DeleteOptions{}))
	if _, err := w.templates.Get(ctx, "coder.mine", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
	_, err = w.workspaces.Create(ctx, workspace("coder.admin.dev", map[string]any{"templateName": "echo"}), metav1.CreateOptions{})
	must(t, err)
	if err := w.templates.Delete(ctx, "coder.echo", metav1.DeleteOptions{}); err == nil || apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "workspace") {
		t.Errorf("one with workspaces: %v", err)
	}
}
