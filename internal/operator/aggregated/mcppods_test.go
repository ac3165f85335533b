package aggregated_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/controlplane"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
)

// kubelet starts a server that has the logs of pods of a new node, and returns the
// name of the node.
func kubelet(t *testing.T, namespace string) string {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.URL.Query().Get("tailLines"))
		if err != nil || !strings.HasPrefix(r.URL.Path, "/containerLogs/"+namespace+"/") {
			http.Error(w, r.URL.String(), http.StatusBadRequest)
			return
		}
		for i := range n {
			fmt.Fprintf(w, "%d%s\n", i, strings.Repeat("x", 200))
		}
	}))
	t.Cleanup(s.Close)
	at, err := url.Parse(s.URL)
	must(t, err)
	port, err := strconv.Atoi(at.Port())
	must(t, err)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-of-" + namespace}}
	must(t, cluster.Client.Create(t.Context(), n))
	t.Cleanup(func() { _ = cluster.Client.Delete(t.Context(), n) })
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: at.Hostname()}}
	n.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port)
	must(t, cluster.Client.Status().Update(t.Context(), n))
	return n.Name
}

// deploy creates the Deployment and the Service of the town's control plane as the
// operator does, a pod whose image cannot be pulled, and the endpoint of another pod.
func (w *town) deploy(t *testing.T, node string) {
	t.Helper()
	ctx := t.Context()
	cp := &v1alpha1.CoderControlPlane{}
	must(t, cluster.Client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "main"}, cp))
	cp.Spec.Image = "coder.test/coder:v1"
	d := controlplane.Deployment(cp, "")
	must(t, cluster.Client.Create(ctx, d))
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 2, ReadyReplicas: 1, Conditions: []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, Reason: "MinimumReplicasUnavailable"},
	}}
	must(t, cluster.Client.Status().Update(ctx, d))
	s := controlplane.Service(cp)
	must(t, cluster.Client.Create(ctx, s))
	must(t, cluster.Client.Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: w.ns, Name: "main-1", Labels: map[string]string{discoveryv1.LabelServiceName: s.Name}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{
			{Addresses: []string{"192.0.2.7"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}},
			{Addresses: []string{"192.0.2.8"}, Conditions: discoveryv1.EndpointConditions{Ready: new(false)}},
		},
	}))
	must(t, cluster.Client.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: d.Spec.Template.Spec.ServiceAccountName}}))
	p := &corev1.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec}
	p.Namespace, p.Name, p.Spec.NodeName = w.ns, "main-0", node
	must(t, cluster.Client.Create(ctx, p))
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "coder", Image: cp.Spec.Image, RestartCount: 3,
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137}},
	}}}
	must(t, cluster.Client.Status().Update(ctx, p))
}

// ready sets the condition Ready of the town's control plane.
func (w *town) ready(t *testing.T, status metav1.ConditionStatus, reason, message string) {
	t.Helper()
	cp := &v1alpha1.CoderControlPlane{}
	must(t, cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: w.ns, Name: "main"}, cp))
	meta.SetStatusCondition(&cp.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: message, ObservedGeneration: cp.Generation,
	})
	must(t, cluster.Client.Status().Update(t.Context(), cp))
}

// TestMCPPods has an MCP client find out why a control plane does not work.
func TestMCPPods(t *testing.T) {
	w := newTown(t)
	w.deploy(t, kubelet(t, w.ns))
	url := serveMCP(t)
	// The role view of Kubernetes is aggregated by a controller, which this cluster
	// does not have.
	admin := agent(t, url, w.account(t, "admin", "cluster-admin"))
	viewer := agent(t, url, w.account(t, "viewer", "coder-operator-view", "coder-workspaces-view"))
	main := map[string]any{"namespace": w.ns, "name": "main"}
	pod := map[string]any{"namespace": w.ns, "name": "main-0"}
	with := func(in map[string]any, key string, value any) map[string]any {
		out := map[string]any{key: value}
		for k, v := range in {
			out[k] = v
		}
		return out
	}

	w.ready(t, metav1.ConditionFalse, "ImagePullBackOff", "no such image")
	for _, c := range []struct {
		name, tool string
		in         map[string]any
		failed     bool
		want       []string
	}{
		{"pods", "coder_list_pods", main, false, []string{`"name":"main-0"`, `"phase":"Pending"`, `"restarts":3`, `"reason":"ImagePullBackOff"`, `"exit_code":137`, `"ready":false`}},
		{"pods of no pool", "coder_list_pods", with(main, "kind", "provisioner_pool"), false, []string{"[]"}},
		{"pods of another kind", "coder_list_pods", with(main, "kind", "node"), true, []string{"node"}},
		{"log", "coder_get_pod_logs", with(pod, "lines", 3), false, []string{"0xx", "2xx"}},
		{"long log", "coder_get_pod_logs", with(pod, "lines", 2000), false, []string{"(earlier lines are omitted)\n", "1999xx"}},
		{"too long log", "coder_get_pod_logs", with(pod, "lines", 2001), true, []string{"lines"}},
		{"log of another container", "coder_get_pod_logs", with(pod, "container", "none"), true, []string{"container none is not valid"}},
		{"log of no pod", "coder_get_pod_logs", main, true, []string{"not found"}},
		{"Deployment", "coder_get_deployment_status", main, false, []string{`"desired":1`, `"ready":1`, `"observed":true`, "MinimumReplicasUnavailable", "coder.test/coder:v1"}},
		{"no Deployment", "coder_get_deployment_status", with(main, "kind", "workspace_proxy"), true, []string{"has no Deployment"}},
		{"Service", "coder_get_service_status", main, false, []string{`"name":"main"`, `"port":80`, `"ready_endpoints":1`, `"other_endpoints":1`}},
		{"no Service", "coder_get_service_status", with(main, "kind", "provisioner_pool"), true, []string{"has no Service"}},
		{"health", "coder_check_health", main, false, []string{
			`"healthy":false`, `"check":"control plane","result":"failed","detail":"ImagePullBackOff: no such image"`, `"check":"server","result":"failed"`,
			`"check":"workspaces","result":"ok"`, `"check":"provisioner pools","result":"ok"`,
		}},
		{"health of no control plane", "coder_check_health", pod, true, []string{"not found"}},
	} {
		got, failed := call(t, admin, c.tool, c.in)
		for _, want := range c.want {
			if failed != c.failed || !strings.Contains(got, want) {
				t.Errorf("%s: failed %t, want %s: %.500s", c.name, failed, want, got)
			}
		}
	}

	w.ready(t, metav1.ConditionTrue, "Ready", "")
	pool := &v1alpha1.CoderProvisioner{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "pool"}}
	pool.Spec.ControlPlaneRef.Name = "main"
	must(t, cluster.Client.Create(t.Context(), pool))
	got, failed := call(t, viewer, "coder_check_health", main)
	for _, want := range []string{
		`"check":"control plane","result":"ok"`, `"check":"server","result":"unknown"`, `"check":"provisioner pools","result":"failed","detail":"pool: the operator has not`,
	} {
		if failed || !strings.Contains(got, want) {
			t.Errorf("health for a viewer: failed %t, want %s: %.500s", failed, want, got)
		}
	}
	if got, failed := call(t, viewer, "coder_get_pod_logs", pod); !failed || !strings.Contains(got, `cannot get resource "pods/log"`) {
		t.Errorf("log without the right: %.500s", got)
	}
}

// TestMCPFailedBuild has an MCP client read why a build failed.
func TestMCPFailedBuild(t *testing.T) {
	w := newTown(t)
	s := agent(t, serveMCP(t), w.account(t, "editor", "coder-workspaces-edit", "coder-templates-edit"))
	for _, c := range []struct {
		tool, name string
		more       map[string]any
	}{
		{"coder_create_template", "coder.broken", map[string]any{"files": map[string]any{"apply.start.jsonl": `{"error": "no capacity in this zone"}`}}},
		{"coder_create_workspace", "coder.admin.dev", map[string]any{"template": "broken"}},
	} {
		in := map[string]any{"namespace": w.ns, "name": c.name}
		for k, v := range c.more {
			in[k] = v
		}
		if got, failed := call(t, s, c.tool, in); failed {
			t.Fatal(got)
		}
	}
	kubetest.Until(t, wait, func(context.Context) string {
		got, _ := call(t, s, "coder_get_workspace", map[string]any{"namespace": w.ns, "name": "coder.admin.dev"})
		if !strings.Contains(got, `"latestBuildStatus":"failed"`) || !strings.Contains(got, "no capacity in this zone") {
			return got
		}
		return ""
	})
}

// TestMCPAllowed serves two tools only.
func TestMCPAllowed(t *testing.T) {
	w := newTown(t)
	s := agent(t, serveMCP(t, "coder_list_events", "coder_get_pod_logs", "coder_unknown"), w.account(t, "reader"))
	list, err := s.ListTools(t.Context(), nil)
	must(t, err)
	if len(list.Tools) != 2 {
		t.Errorf("the server has %d tools", len(list.Tools))
	}
}
