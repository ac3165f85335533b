package aggregated_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
)

// becomes waits until a workspace is in a status, and gives it.
func (w *town) becomes(t *testing.T, name, status string) *unstructured.Unstructured {
	t.Helper()
	var o *unstructured.Unstructured
	kubetest.Until(t, wait, func(ctx context.Context) string {
		var err error
		if o, err = w.workspaces.Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err.Error()
		}
		if got := text(o, "status", "latestBuildStatus"); got != status {
			return "it is " + got
		}
		return ""
	})
	return o
}

// next returns the next event of an object in a state, and skips those before.
func next(t *testing.T, w watch.Interface, kind watch.EventType, check func(*unstructured.Unstructured) bool) *unstructured.Unstructured {
	t.Helper()
	late := time.NewTimer(wait)
	defer late.Stop()
	for {
		select {
		case e, ok := <-w.ResultChan():
			if !ok {
				t.Fatalf("the watch ended while %s was waited for", kind)
			}
			o, is := e.Object.(*unstructured.Unstructured)
			if is && e.Type == kind && check(o) {
				return o
			}
			if e.Type == watch.Error {
				t.Fatalf("the watch failed: %v", e.Object)
			}
		case <-late.C:
			t.Fatalf("no event %s came", kind)
		}
	}
}

func in(status string) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool { return text(o, "status", "latestBuildStatus") == status }
}

// TestLife makes, stops, starts and deletes a workspace, and watches it.
func TestLife(t *testing.T) {
	w := newTown(t)
	ctx := t.Context()
	list, err := w.workspaces.List(ctx, metav1.ListOptions{})
	must(t, err)
	seen, err := w.workspaces.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion(), AllowWatchBookmarks: true})
	must(t, err)
	defer seen.Stop()
	made, err := w.workspaces.Create(ctx, workspace("coder.admin.dev", map[string]any{"templateName": "echo", "ttlMillis": int64(3600000)}), metav1.CreateOptions{})
	must(t, err)
	if text(made, "spec", "running") != "true" || text(made, "spec", "ttlMillis") != "3600000" || made.GetUID() == "" {
		t.Errorf("it was made as %v", made.Object)
	}
	// A build may be over before the workspace is seen for the first time.
	first := next(t, seen, watch.Added, func(o *unstructured.Unstructured) bool { return o.GetUID() == made.GetUID() })
	if !in("running")(first) {
		next(t, seen, watch.Modified, in("running"))
	}

	o := w.becomes(t, "coder.admin.dev", "running")
	old := o.GetResourceVersion()
	must(t, unstructured.SetNestedField(o.Object, false, "spec", "running"))
	if _, err = w.workspaces.Update(ctx, o, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	next(t, seen, watch.Modified, in("stopped"))
	o = w.becomes(t, "coder.admin.dev", "stopped")
	if text(o, "spec", "running") != "false" || o.GetResourceVersion() == old {
		t.Errorf("it was stopped as %v", o.Object)
	}
	_, err = w.workspaces.Patch(ctx, "coder.admin.dev", types.MergePatchType, []byte(`{"spec":{"running":true}}`), metav1.PatchOptions{})
	must(t, err)
	next(t, seen, watch.Modified, in("running"))

	must(t, w.workspaces.Delete(ctx, "coder.admin.dev", metav1.DeleteOptions{}))
	gone := next(t, seen, watch.Deleted, func(*unstructured.Unstructured) bool { return true })
	if gone.GetUID() != made.GetUID() {
		t.Errorf("another was deleted: %v", gone.Object)
	}
	if _, err := w.workspaces.Get(ctx, "coder.admin.dev", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// TestRefuses sends invalid objects; each error says what is wrong.
func TestRefuses(t *testing.T) {
	w := newTown(t)
	ctx := t.Context()
	for name, c := range map[string]struct {
		o    *unstructured.Unstructured
		says string
	}{
		"no template":        {workspace("coder.admin.a", map[string]any{}), "set templateName"},
		"another template":   {workspace("coder.admin.a", map[string]any{"templateName": "nothing"}), "has no template nothing"},
		"no such user":       {workspace("coder.nobody.a", map[string]any{"templateName": "echo"}), "nobody"},
		"no organization":    {workspace("nowhere.admin.a", map[string]any{"templateName": "echo"}), "organization nowhere not found"},
		"another":            {workspace("coder.admin.a", map[string]any{"templateName": "echo", "organization": "x"}), "must match the organization in the name, coder"},
		"two parts":          {workspace("admin.a", map[string]any{"templateName": "echo"}), "<organization>.<user>.<workspace>"},
		"capitals":           {workspace("coder.Admin.a", map[string]any{"templateName": "echo"}), "lower-case"},
		"stopped":            {workspace("coder.admin.a", map[string]any{"templateName": "echo", "running": false}), "a new workspace always starts"},
		"negative":           {workspace("coder.admin.a", map[string]any{"templateName": "echo", "ttlMillis": int64(-1)}), "must not be negative"},
		"no version":         {workspace("coder.admin.a", map[string]any{"templateVersionID": "x"}), "is not a UUID"},
		"bad schedule":       {workspace("coder.admin.a", map[string]any{"templateName": "echo", "autostartSchedule": "often"}), "schedule"},
		"an unknown version": {workspace("coder.admin.a", map[string]any{"templateVersionID": "6f1c1f5e-0000-4000-8000-000000000000"}), "no such version"},
	} {
		_, err := w.workspaces.Create(ctx, c.o, metav1.CreateOptions{})
		if err == nil || !strings.Contains(err.Error(), c.says) || apierrors.IsInternalError(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.workspaces.Create(ctx, workspace("coder.admin.dry", map[string]any{"templateName": "echo"}), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Errorf("a dry run: %v", err)
	}
	_, err := w.workspaces.Create(ctx, workspace("coder.admin.dev", map[string]any{"templateName": "echo"}), metav1.CreateOptions{})
	must(t, err)
	if _, err := w.workspaces.Create(ctx, workspace("coder.admin.dev", map[string]any{"templateName": "echo"}), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("made twice: %v", err)
	}
	o := w.becomes(t, "coder.admin.dev", "running")
	for name, change := range map[string]func(*unstructured.Unstructured){
		"template": func(o *unstructured.Unstructured) {
			must(t, unstructured.SetNestedField(o.Object, "other", "spec", "templateName"))
		},
		"ttl": func(o *unstructured.Unstructured) {
			must(t, unstructured.SetNestedField(o.Object, int64(1), "spec", "ttlMillis"))
		},
	} {
		bad := o.DeepCopy()
		change(bad)
		if _, err := w.workspaces.Update(ctx, bad, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "only running can be changed") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		version string
		is      func(error) bool
	}{"none": {"", apierrors.IsInvalid}, "an old one": {"1", apierrors.IsConflict}, "a later one": {o.GetResourceVersion() + "1", apierrors.IsConflict}} {
		bad := o.DeepCopy()
		bad.SetResourceVersion(c.version)
		must(t, unstructured.SetNestedField(bad.Object, false, "spec", "running"))
		if _, err := w.workspaces.Update(ctx, bad, metav1.UpdateOptions{}); !c.is(err) {
			t.Errorf("a version of %s: %v", name, err)
		}
	}
	for name, check := range map[string]bool{"coder.admin.nothing": true, "nonsense": true, "other.admin.dev": true} {
		if _, err := w.workspaces.Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(err) != check {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWatchVersions begins watches where nothing is known, and where much is.
func TestWatchVersions(t *testing.T) {
	w := newTown(t)
	ctx := t.Context()
	for _, n := range []string{"a", "b", "c"} {
		_, err := w.workspaces.Create(ctx, workspace("coder.admin."+n, map[string]any{"templateName": "echo"}), metav1.CreateOptions{})
		must(t, err)
		w.becomes(t, "coder.admin."+n, "running")
	}
	old, err := w.workspaces.Watch(ctx, metav1.ListOptions{ResourceVersion: "1000"})
	if err == nil {
		e := <-old.ResultChan()
		err = apierrors.FromObject(e.Object)
		old.Stop()
	}
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("of an old version: %v", err)
	}
	if _, err := w.workspaces.Watch(ctx, metav1.ListOptions{ResourceVersion: "nonsense"}); !apierrors.IsBadRequest(err) && !apierrors.IsInvalid(err) {
		t.Errorf("of nonsense: %v", err)
	}

	page, err := w.workspaces.List(ctx, metav1.ListOptions{Limit: 2})
	must(t, err)
	if len(page.Items) != 2 || page.GetContinue() == "" || *page.GetRemainingItemCount() != 1 {
		t.Fatalf("the first page is %+v", page)
	}
	must(t, w.workspaces.Delete(ctx, "coder.admin.a", metav1.DeleteOptions{}))
	kubetest.Until(t, wait, func(ctx context.Context) string {
		list, err := w.workspaces.List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) != 2 {
			return fmt.Sprint(len(list.Items), " are there ", err)
		}
		return ""
	})
	rest, err := w.workspaces.List(ctx, metav1.ListOptions{Limit: 2, Continue: page.GetContinue()})
	must(t, err)
	if len(rest.Items) != 1 || rest.Items[0].GetName() != "coder.admin.c" || rest.GetContinue() != "" || rest.GetResourceVersion() != page.GetResourceVersion() {
		t.Fatalf("the second page is %+v", rest)
	}
	// What went between the pages is told to who watches from their version.
	seen, err := w.workspaces.Watch(ctx, metav1.ListOptions{ResourceVersion: rest.GetResourceVersion()})
	must(t, err)
	next(t, seen, watch.Deleted, func(o *unstructured.Unstructured) bool { return o.GetName() == "coder.admin.a" })
	seen.Stop()

	yes := true
	all, err := w.workspaces.Watch(ctx, metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	must(t, err)
	defer all.Stop()
	next(t, all, watch.Added, func(o *unstructured.Unstructured) bool { return o.GetName() == "coder.admin.c" })
	next(t, all, watch.Bookmark, func(o *unstructured.Unstructured) bool {
		return o.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" && o.GetResourceVersion() != ""
	})
	for selector, n := range map[string]int{"aggregation.coder.com/template=echo": 2, "aggregation.coder.com/owner=nobody": 0} {
		if l, err := w.workspaces.List(ctx, metav1.ListOptions{LabelSelector: selector}); err != nil || len(l.Items) != n {
			t.Errorf("%s: %v", selector, err)
		}
	}
	for selector, n := range map[string]int{"metadata.name=coder.admin.b": 1, "spec.running=true": 2, "status.latestBuildStatus=stopped": 0} {
		if l, err := w.workspaces.List(ctx, metav1.ListOptions{FieldSelector: selector}); err != nil || len(l.Items) != n {
			t.Errorf("%s: %v", selector, err)
		}
	}
	if _, err := w.workspaces.List(ctx, metav1.ListOptions{FieldSelector: "spec.colour=red"}); !apierrors.IsBadRequest(err) {
		t.Errorf("an unknown field: %v", err)
	}
}

// TestRights lets the cluster's RBAC decide.
func TestRights(t *testing.T) {
	w := newTown(t)
	ctx := t.Context()
	must(t, cluster.Client.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "view"},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "coder-workspaces-view"},
		Subjects:   []rbacv1.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: "viewer"}},
	}))
	viewer, nobody := w.as(t, cluster.As("viewer"), workspaceResource), w.as(t, cluster.As("somebody"), workspaceResource)
	kubetest.Until(t, wait, func(ctx context.Context) string {
		if _, err := viewer.List(ctx, metav1.ListOptions{}); err != nil {
			return err.Error()
		}
		return ""
	})
	if _, err := viewer.Create(ctx, workspace("coder.admin.a", map[string]any{"templateName": "echo"}), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("who may look makes one: %v", err)
	}
	if err := viewer.Delete(ctx, "coder.admin.a", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("who may look deletes one: %v", err)
	}
	if _, err := nobody.List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("who may nothing lists: %v", err)
	}
}

// TestAway takes the control plane away and gives it back, under a watch.
func TestAway(t *testing.T) {
	w := newTown(t)
	ctx := t.Context()
	_, err := w.workspaces.Create(ctx, workspace("coder.admin.dev", map[string]any{"templateName": "echo"}), metav1.CreateOptions{})
	must(t, err)
	w.becomes(t, "coder.admin.dev", "running")
	list, err := w.workspaces.List(ctx, metav1.ListOptions{})
	must(t, err)
	seen, err := w.workspaces.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	must(t, err)
	defer seen.Stop()
	cp := w.find(t)
	cp.Status.URL = "http://127.0.0.1:1"
	must(t, cluster.Client.Status().Update(ctx, cp))
	kubetest.Until(t, wait, func(ctx context.Context) string {
		_, err := w.workspaces.Get(ctx, "coder.admin.dev", metav1.GetOptions{})
		if !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), "control plane "+w.ns+"/main") {
			return fmt.Sprint("it says ", err)
		}
		return ""
	})
	if _, err := w.workspaces.List(ctx, metav1.ListOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("the list says %v", err)
	}
	cp = w.find(t)
	cp.Status.URL = w.AccessURL().String()
	must(t, cluster.Client.Status().Update(ctx, cp))
	ws, err := w.Client.WorkspaceByOwnerAndName(ctx, "admin", "dev", nil)
	must(t, err)
	_, err = w.Client.CreateWorkspaceBuild(ctx, ws.ID, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop})
	must(t, err)
	next(t, seen, watch.Modified, in("stopped"))
}

// TestRestart ends the server under a client that watches as controllers do: it
// lists again, and hears on.
func TestRestart(t *testing.T) {
	w := newTown(t)
	ctx := t.Context()
	list, err := w.workspaces.List(ctx, metav1.ListOptions{})
	must(t, err)
	seen, err := w.workspaces.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	must(t, err)
	theAPI.again(t)
	for range seen.ResultChan() {
		// until it ends
	}
	kubetest.Until(t, wait, func(ctx context.Context) string {
		again, err := w.workspaces.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return ""
		}
		if err == nil {
			defer again.Stop()
			if e := <-again.ResultChan(); e.Type == watch.Error && apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
				return ""
			}
			return "a version of before the restart is taken"
		}
		return err.Error()
	})
	list, err = w.workspaces.List(ctx, metav1.ListOptions{})
	must(t, err)
	seen, err = w.workspaces.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	must(t, err)
	defer seen.Stop()
	_, err = w.workspaces.Create(ctx, workspace("coder.admin.dev", map[string]any{"templateName": "echo"}), metav1.CreateOptions{})
	must(t, err)
	next(t, seen, watch.Added, func(*unstructured.Unstructured) bool { return true })
}

// TestApply applies on the server's side.
func TestApply(t *testing.T) {
	w := newTown(t)
	ctx := t.Context()
	o := workspace("coder.admin.dev", map[string]any{"templateName": "echo", "running": true})
	_, err := w.workspaces.Apply(ctx, "coder.admin.dev", o, metav1.ApplyOptions{FieldManager: "test"})
	must(t, err)
	w.becomes(t, "coder.admin.dev", "running")
	o = workspace("coder.admin.dev", map[string]any{"running": false})
	_, err = w.workspaces.Apply(ctx, "coder.admin.dev", o, metav1.ApplyOptions{FieldManager: "test", Force: true})
	must(t, err)
	w.becomes(t, "coder.admin.dev", "stopped")
}

// TestNamespaceEnds deletes the namespace as Kubernetes would: what is in it is
// asked to go, and the workspaces stay at their control plane.
func TestNamespaceEnds(t *testing.T) {
	w := newTown(t)
	ctx := t.Context()
	_, err := w.workspaces.Create(ctx, workspace("coder.admin.dev", map[string]any{"templateName": "echo"}), metav1.CreateOptions{})
	must(t, err)
	w.becomes(t, "coder.admin.dev", "running")
	must(t, cluster.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}}))
	kubetest.Until(t, wait, func(ctx context.Context) string {
		if err := w.workspaces.Delete(ctx, "coder.admin.dev", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Sprint("a deletion says ", err)
		}
		l, err := w.workspaces.List(ctx, metav1.ListOptions{})
		if err != nil || len(l.Items) != 0 {
			return fmt.Sprint("it lists ", len(l.Items), " ", err)
		}
		return ""
	})
	if ws, err := w.Client.WorkspaceByOwnerAndName(ctx, "admin", "dev", nil); err != nil || ws.LatestBuild.Transition != codersdk.WorkspaceTransitionStart {
		t.Errorf("the workspace did not stay: %+v, %v", ws.LatestBuild.Transition, err)
	}
}

// TestTable shows what kubectl shows, and what it reads to know the resource.
func TestTable(t *testing.T) {
	w := newTown(t)
	_, err := w.workspaces.Create(t.Context(), workspace("coder.admin.dev", map[string]any{"templateName": "echo"}), metav1.CreateOptions{})
	must(t, err)
	var table metav1.Table
	raw := w.raw(t, "/apis/aggregation.coder.com/v1alpha1/namespaces/"+w.ns+"/coderworkspaces", "application/json;as=Table;v=v1;g=meta.k8s.io")
	must(t, json.Unmarshal(raw, &table))
	if len(table.Rows) != 1 || table.ColumnDefinitions[0].Name != "Name" || table.Rows[0].Cells[0] != "coder.admin.dev" || table.Rows[0].Cells[1] != "echo" {
		t.Errorf("the table is %s", raw)
	}
	kubetest.Until(t, wait, func(context.Context) string {
		if doc := string(w.raw(t, "/openapi/v3/apis/aggregation.coder.com/v1alpha1", "application/json")); !strings.Contains(doc, "autostartSchedule") {
			return "no schema has autostartSchedule"
		}
		return ""
	})
}
