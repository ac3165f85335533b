package mcphttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seed-2a7f8fe7/coder/internal/mcp/toolkit"
	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
)

// Bounds of results.
const (
	maxObjects  = 100 // Deployments, Services and slices of endpoints of one resource
	maxLogBytes = 240 << 10
	maxLogRead  = 32 << 20
)

// podTools show what the operator runs for a resource.
var podTools = []tool{
	toolkit.New(toolkit.Spec{
		Name: "coder_list_pods", Title: "List pods", Effect: toolkit.ReadOnly,
		Description: "List the pods of a control plane, a provisioner pool or a workspace proxy, with the reason for each that does not run.",
	}, listPods),
	toolkit.New(toolkit.Spec{
		Name: "coder_get_pod_logs", Title: "Get the log of a pod", Effect: toolkit.ReadOnly,
		Description: "Return the last lines of the log of a pod's container, at most 240 KiB.",
	}, podLogs),
	toolkit.New(toolkit.Spec{
		Name: "coder_get_deployment_status", Title: "Get the status of a Deployment", Effect: toolkit.ReadOnly,
		Description: "Return the image, the numbers of pods and the conditions of the Deployment of a control plane, a provisioner pool or a workspace proxy.",
	}, deploymentStatus),
	toolkit.New(toolkit.Spec{
		Name: "coder_get_service_status", Title: "Get the status of a Service", Effect: toolkit.ReadOnly,
		Description: "Return the addresses, the ports and the numbers of ready and other endpoints of the Service of a control plane or a workspace proxy.",
	}, serviceStatus),
}

// instance is the input of tools for the objects that the operator created for a
// resource.
type instance struct {
	named
	Kind string `json:"kind,omitempty" jsonschema:"Kind of the object" enum:"control_plane,provisioner_pool,workspace_proxy" default:"control_plane"`
}

func (i instance) selector() string {
	component := map[string]string{
		controlPlanes.name: podspec.NameControlPlane, pools.name: podspec.NameProvisioner, proxies.name: podspec.NameWorkspaceProxy,
	}[i.Kind]
	return labels.SelectorFromSet(podspec.Selector(component, i.Name)).String()
}

// listAll returns the objects of a resource that the labels select, at most limit.
func listAll[T any](ctx context.Context, c *caller, r schema.GroupVersionResource, namespace, selector string, limit int64) ([]T, error) {
	list, err := c.objects.Resource(r).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector, Limit: limit})
	if err != nil {
		return nil, explain(err)
	}
	out := make([]T, len(list.Items))
	for i := range list.Items {
		if err := convert(&list.Items[i], &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func convert(u *unstructured.Unstructured, to any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, to); err != nil {
		return fmt.Errorf("read %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return nil
}

type listPodsInput struct {
	instance
	Limit int64 `json:"limit,omitempty" jsonschema:"Maximum number of pods" min:"1" max:"500" default:"100"`
}

type podOutput struct {
	Name       string            `json:"name"`
	Phase      string            `json:"phase"`
	Reason     string            `json:"reason,omitempty"`
	Message    string            `json:"message,omitempty"`
	Ready      bool              `json:"ready"`
	Deleting   bool              `json:"deleting,omitempty"`
	Node       string            `json:"node,omitempty"`
	Created    string            `json:"created"`
	Containers []containerOutput `json:"containers"`
}

type containerOutput struct {
	Name     string `json:"name"`
	Image    string `json:"image"`
	Ready    bool   `json:"ready"`
	Restarts int32  `json:"restarts"`
	State    string `json:"state,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"`
	ExitCode *int32 `json:"exit_code,omitempty"` // of a container that ended, now or before its last start
}

func listPods(ctx context.Context, c *caller, in listPodsInput) ([]podOutput, error) {
	pods, err := listAll[corev1.Pod](ctx, c, corev1.SchemeGroupVersion.WithResource("pods"), in.Namespace, in.selector(), in.Limit)
	if err != nil {
		return nil, err
	}
	out := make([]podOutput, len(pods))
	for i, p := range pods {
		out[i] = podOf(p)
	}
	return out, nil
}

func podOf(p corev1.Pod) podOutput {
	out := podOutput{
		Name: p.Name, Phase: string(p.Status.Phase), Reason: p.Status.Reason, Message: p.Status.Message, Deleting: p.DeletionTimestamp != nil,
		Node: p.Spec.NodeName, Created: p.CreationTimestamp.UTC().Format(time.RFC3339),
	}
	for _, c := range p.Status.Conditions {
		switch {
		case c.Type == corev1.PodReady:
			out.Ready = c.Status == corev1.ConditionTrue
		case c.Type == corev1.PodScheduled && c.Status != corev1.ConditionTrue && out.Reason == "":
			out.Reason, out.Message = c.Reason, c.Message
		}
	}
	for _, c := range p.Spec.Containers {
		at := containerOutput{Name: c.Name, Image: c.Image}
		for _, s := range p.Status.ContainerStatuses {
			if s.Name == c.Name {
				at.fill(s)
			}
		}
		out.Containers = append(out.Containers, at)
	}
	return out
}

func (o *containerOutput) fill(s corev1.ContainerStatus) {
	o.Ready, o.Restarts = s.Ready, s.RestartCount
	ended := s.State.Terminated
	if ended == nil {
		ended = s.LastTerminationState.Terminated
	}
	if ended != nil {
		o.ExitCode = &ended.ExitCode
	}
	switch state := s.State; {
	case state.Running != nil:
		o.State = "running"
	case state.Waiting != nil:
		o.State, o.Reason, o.Message = "waiting", state.Waiting.Reason, state.Waiting.Message
	case state.Terminated != nil:
		o.State, o.Reason, o.Message = "terminated", state.Terminated.Reason, state.Terminated.Message
	}
}

type podLogsInput struct {
	named
	Container string `json:"container,omitempty" jsonschema:"Name of the container; it can be absent if the pod has one" max:"63"`
	Lines     int64  `json:"lines,omitempty" jsonschema:"Maximum number of lines, from the end" min:"1" max:"2000" default:"200"`
	Previous  bool   `json:"previous,omitempty" jsonschema:"The log of the container before its last start"`
}

func podLogs(ctx context.Context, c *caller, in podLogsInput) (string, error) {
	from, err := c.core.Pods(in.Namespace).GetLogs(in.Name, &corev1.PodLogOptions{
		Container: in.Container, TailLines: &in.Lines, Previous: in.Previous, LimitBytes: new(int64(maxLogRead)),
	}).Stream(ctx)
	if err != nil {
		return "", explain(err)
	}
	defer from.Close() //nolint:errcheck // it was only read
	text, cut, err := lastBytes(from, maxLogBytes)
	switch {
	case err != nil:
		return "", fmt.Errorf("read the log of %s: %w", in.Name, err)
	case len(text) == 0:
		return "The log is empty.", nil
	case cut:
		return "(earlier lines are omitted)\n" + string(text), nil
	}
	return string(text), nil
}

// lastBytes reads r to its end and returns the whole lines in its last n bytes. cut
// reports whether there was more. Bytes that are not UTF-8 are replaced.
func lastBytes(r io.Reader, n int) (text []byte, cut bool, err error) {
	buffer := make([]byte, 32<<10)
	for err == nil {
		var k int
		k, err = r.Read(buffer)
		text = append(text, buffer[:k]...)
		if len(text) > 2*n {
			text, cut = append([]byte(nil), text[len(text)-n:]...), true
		}
	}
	if len(text) > n {
		text, cut = text[len(text)-n:], true
	}
	if cut {
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			text = text[i+1:]
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return bytes.ToValidUTF8(text, []byte("?")), cut, err
}

type deploymentOutput struct {
	Name       string            `json:"name"`
	Images     []string          `json:"images"`
	Desired    int32             `json:"desired"`
	Updated    int32             `json:"updated"`
	Ready      int32             `json:"ready"`
	Available  int32             `json:"available"`
	Observed   bool              `json:"observed"` // whether the numbers are those of the newest specification
	Conditions []conditionOutput `json:"conditions"`
}

type conditionOutput struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

func deploymentStatus(ctx context.Context, c *caller, in instance) (deploymentOutput, error) {
	found, err := listAll[appsv1.Deployment](ctx, c, appsv1.SchemeGroupVersion.WithResource("deployments"), in.Namespace, in.selector(), maxObjects)
	if err != nil {
		return deploymentOutput{}, err
	}
	if len(found) == 0 {
		return deploymentOutput{}, fmt.Errorf("the %s %s has no Deployment: it does not exist, or its conditions report why it is not applied", in.Kind, in.Name)
	}
	d := found[0]
	out := deploymentOutput{
		Name: d.Name, Desired: 1, Updated: d.Status.UpdatedReplicas, Ready: d.Status.ReadyReplicas, Available: d.Status.AvailableReplicas,
		Observed: d.Status.ObservedGeneration >= d.Generation, Conditions: []conditionOutput{},
	}
	if d.Spec.Replicas != nil {
		out.Desired = *d.Spec.Replicas
	}
	for _, c := range d.Spec.Template.Spec.Containers {
		out.Images = append(out.Images, c.Image)
	}
	for _, c := range d.Status.Conditions {
		out.Conditions = append(out.Conditions, conditionOutput{string(c.Type), string(c.Status), c.Reason, c.Message})
	}
	return out, nil
}

type serviceOutput struct {
	Name      string       `json:"name"`
	Type      string       `json:"type"`
	ClusterIP string       `json:"cluster_ip,omitempty"`
	External  []string     `json:"external,omitempty"` // addresses of the load balancer
	Ports     []portOutput `json:"ports"`
	Ready     int          `json:"ready_endpoints"`
	NotReady  int          `json:"other_endpoints"` // of pods that start, end or fail
}

type portOutput struct {
	Name     string `json:"name,omitempty"`
	Port     int32  `json:"port"`
	NodePort int32  `json:"node_port,omitempty"`
}

func serviceStatus(ctx context.Context, c *caller, in instance) (serviceOutput, error) {
	if in.Kind == pools.name {
		return serviceOutput{}, errors.New("a provisioner pool has no Service: its provisioners connect to the control plane")
	}
	found, err := listAll[corev1.Service](ctx, c, corev1.SchemeGroupVersion.WithResource("services"), in.Namespace, in.selector(), maxObjects)
	if err != nil {
		return serviceOutput{}, err
	}
	if len(found) == 0 {
		return serviceOutput{}, fmt.Errorf("the %s %s has no Service: it does not exist, or its conditions report why it is not applied", in.Kind, in.Name)
	}
	s := found[0]
	out := serviceOutput{Name: s.Name, Type: string(s.Spec.Type), ClusterIP: s.Spec.ClusterIP, Ports: []portOutput{}}
	for _, i := range s.Status.LoadBalancer.Ingress {
		out.External = append(out.External, i.IP+i.Hostname) // one of them is empty
	}
	for _, p := range s.Spec.Ports {
		out.Ports = append(out.Ports, portOutput{p.Name, p.Port, p.NodePort})
	}
	slicesOf := labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: s.Name}).String()
	endpoints, err := listAll[discoveryv1.EndpointSlice](ctx, c, discoveryv1.SchemeGroupVersion.WithResource("endpointslices"), in.Namespace, slicesOf, maxObjects)
	if err != nil {
		return serviceOutput{}, err
	}
	ready := map[string]bool{} // by address, because a slice has one port name or address family
	for _, e := range slices.Concat(endpointsOf(endpoints)...) {
		for _, address := range e.Addresses {
			ready[address] = ready[address] || e.Conditions.Ready == nil || *e.Conditions.Ready
		}
	}
	for _, r := range ready {
		if r {
			out.Ready++
		} else {
			out.NotReady++
		}
	}
	return out, nil
}

func endpointsOf(all []discoveryv1.EndpointSlice) [][]discoveryv1.Endpoint {
	out := make([][]discoveryv1.Endpoint, len(all))
	for i, s := range all {
		out[i] = s.Endpoints
	}
	return out
}
