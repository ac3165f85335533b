package kubetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Process is a process that a Node runs for a pod.
type Process interface {
	// Stop stops the process, as SIGTERM does, and returns after it has ended.
	Stop()
}

// Broken is an image that a Node cannot pull.
const Broken = "registry.example.com/forbidden"

// Node simulates the Deployment controller and the kubelet for one namespace. It
// creates the pods of Deployments and starts a process for each. When a pod template
// changes, it creates the new pods before it deletes the old ones. On scale-down, it
// deletes idle pods first.
type Node struct {
	Cluster   *Cluster
	Namespace string
	// Start starts the process of a pod. env is the environment of the first
	// container, resolved as the kubelet does. If Start is nil, pods have no process.
	Start func(pod *corev1.Pod, env map[string]string) (Process, error)
	// Interval is the time between two reconciliations. Zero means 50 milliseconds.
	Interval time.Duration

	mu       sync.Mutex
	running  map[string]Process
	stopping sync.WaitGroup
}

// Run starts the simulation. The test's cleanup stops it and all processes.
func (n *Node) Run(t testing.TB) {
	n.running = map[string]Process{}
	if n.Interval == 0 {
		n.Interval = 50 * time.Millisecond
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(n.Interval)
		defer tick.Stop()
		for ctx.Err() == nil {
			if err := n.reconcileAll(ctx); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				t.Log("node:", err)
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		n.mu.Lock()
		for _, p := range n.running {
			n.stopping.Go(p.Stop)
		}
		n.mu.Unlock()
		n.stopping.Wait()
	})
}

// reconcileAll reconciles each Deployment of the namespace.
func (n *Node) reconcileAll(ctx context.Context) error {
	var all appsv1.DeploymentList
	if err := n.Cluster.Client.List(ctx, &all, client.InNamespace(n.Namespace)); err != nil {
		return err
	}
	var pods corev1.PodList
	if err := n.Cluster.Client.List(ctx, &pods, client.InNamespace(n.Namespace)); err != nil {
		return err
	}
	for i := range all.Items {
		if err := n.reconcile(ctx, &all.Items[i], pods.Items); err != nil {
			return err
		}
	}
	return nil
}

// reconcile creates and deletes pods of a Deployment to match its spec, and updates
// its status.
func (n *Node) reconcile(ctx context.Context, d *appsv1.Deployment, pods []corev1.Pod) error {
	var current, old []corev1.Pod
	for _, p := range pods {
		switch {
		case !metav1.IsControlledBy(&p, d):
		case !p.DeletionTimestamp.IsZero():
		case p.Annotations["template"] == templateVersion(d):
			current = append(current, p)
		default:
			old = append(old, p)
		}
	}
	slices.SortFunc(current, func(a, b corev1.Pod) int {
		return len(b.Annotations["controller.kubernetes.io/pod-deletion-cost"]) - len(a.Annotations["controller.kubernetes.io/pod-deletion-cost"])
	})
	want := int(*d.Spec.Replicas)
	for len(current) < want {
		p, err := n.startPod(ctx, d)
		if err != nil {
			return err
		}
		current = append(current, *p)
	}
	surplus := old
	if len(current) > want {
		surplus = append(surplus, current[want:]...)
		current = current[:want]
	}
	broken := d.Spec.Template.Spec.Containers[0].Image == Broken
	for i := range surplus {
		if broken { // new pods do not become ready, so the old pods stay
			break
		}
		if err := n.deletePod(ctx, &surplus[i]); err != nil {
			return err
		}
	}
	up := int32(len(current)) //nolint:gosec // a test's number
	status := appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: up + int32(len(old)), UpdatedReplicas: up, ReadyReplicas: up, AvailableReplicas: up, //nolint:gosec // as above
	}
	if broken {
		status.ReadyReplicas, status.AvailableReplicas = int32(len(old)), int32(len(old)) //nolint:gosec // as above
	}
	if fmt.Sprint(status) == fmt.Sprint(d.Status) {
		return nil
	}
	d.Status = status
	return n.Cluster.Client.Status().Update(ctx, d)
}

// templateVersion returns an identifier of a Deployment's pod template, which
// changes when the pods must be replaced.
func templateVersion(d *appsv1.Deployment) string {
	s := d.Spec.Template.Spec
	return fmt.Sprint(d.Spec.Template.Annotations, s.Containers[0].Image, s.Containers[0].Env, s.ServiceAccountName)
}

// startPod creates a pod of a Deployment and starts its process.
func (n *Node) startPod(ctx context.Context, d *appsv1.Deployment) (*corev1.Pod, error) {
	p := &corev1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: *d.Spec.Template.Spec.DeepCopy()}
	p.Name, p.Namespace = d.Name+"-"+rand.String(5), d.Namespace
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations["template"] = templateVersion(d)
	p.Spec.NodeName = "node"
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	p.Finalizers = []string{"test/node"} // deletePod removes it after the process has ended
	broken := p.Spec.Containers[0].Image == Broken
	if n.Start != nil && !broken {
		env, err := n.environment(ctx, p)
		if err != nil {
			return nil, err
		}
		proc, err := n.Start(p, env)
		if err != nil {
			return nil, err
		}
		n.mu.Lock()
		n.running[p.Name] = proc
		n.mu.Unlock()
	}
	if err := n.Cluster.Client.Create(ctx, p); err != nil {
		return nil, err
	}
	if broken {
		p.Status = corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
			Name: p.Spec.Containers[0].Name, Image: Broken,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "the registry refuses: 403 Forbidden"}},
		}}}
		return p, n.Cluster.Client.Status().Update(ctx, p)
	}
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	return p, n.Cluster.Client.Status().Update(ctx, p)
}

// environment returns the environment of the pod's first container, resolved as the
// kubelet does.
func (n *Node) environment(ctx context.Context, p *corev1.Pod) (map[string]string, error) {
	out := map[string]string{}
	for _, e := range p.Spec.Containers[0].EnvFrom {
		if err := n.addEnvFrom(ctx, p.Namespace, e, out); err != nil {
			return nil, err
		}
	}
	for _, e := range p.Spec.Containers[0].Env {
		out[e.Name] = e.Value
		if e.ValueFrom == nil || e.ValueFrom.SecretKeyRef == nil {
			continue
		}
		ref := e.ValueFrom.SecretKeyRef
		s := &corev1.Secret{}
		if err := n.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: ref.Name}, s); err != nil {
			return nil, err
		}
		v, ok := s.Data[ref.Key]
		if !ok {
			return nil, fmt.Errorf("secret %s has no key %q", ref.Name, ref.Key)
		}
		out[e.Name] = string(v)
	}
	return out, nil
}

// addEnvFrom adds the variables of a ConfigMap or Secret to out.
func (n *Node) addEnvFrom(ctx context.Context, namespace string, e corev1.EnvFromSource, out map[string]string) error {
	if ref := e.ConfigMapRef; ref != nil {
		c := &corev1.ConfigMap{}
		if err := n.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, c); err != nil {
			return err
		}
		maps.Copy(out, c.Data)
	}
	if ref := e.SecretRef; ref != nil {
		s := &corev1.Secret{}
		if err := n.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, s); err != nil {
			return err
		}
		for k, v := range s.Data {
			out[k] = string(v)
		}
	}
	return nil
}

// deletePod deletes a pod and stops its process. The pod remains, with a deletion
// timestamp, until its process has ended.
func (n *Node) deletePod(ctx context.Context, p *corev1.Pod) error {
	if err := n.Cluster.Client.Delete(ctx, p, client.GracePeriodSeconds(0)); err != nil {
		return client.IgnoreNotFound(err)
	}
	n.mu.Lock()
	proc := n.running[p.Name]
	delete(n.running, p.Name)
	n.mu.Unlock()
	key := client.ObjectKeyFromObject(p)
	n.stopping.Go(func() {
		if proc != nil {
			proc.Stop()
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
		defer cancel()
		gone := &corev1.Pod{}
		if n.Cluster.Client.Get(ctx, key, gone) == nil {
			gone.Finalizers = nil
			_ = n.Cluster.Client.Update(ctx, gone)
		}
	})
	return nil
}
