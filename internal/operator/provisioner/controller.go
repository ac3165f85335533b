package provisioner

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/remote"
	"github.com/seed-2a7f8fe7/coder/internal/operator/shape"
)

// Config is what a Controller needs.
type Config struct {
	// Client reads from the cache and writes to the cluster; Live reads past the
	// cache.
	Client client.Client
	Live   client.Reader
	Sites  *remote.Sites
	// Events has resources that are to be looked at again; nil for none.
	Events <-chan event.GenericEvent
	Now    func() time.Time
	// Idle is how long a pool at rest is left alone; zero is 15 minutes.
	Idle time.Duration
	// Parallel is how many are looked at at a time; zero is 4.
	Parallel int
}

// Controller keeps pools. It is safe for concurrent use.
type Controller struct {
	Config
	backoff *backoff
}

// New makes a controller.
func New(c Config) *Controller {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Idle == 0 {
		c.Idle = 15 * time.Minute
	}
	if c.Parallel == 0 {
		c.Parallel = 4
	}
	return &Controller{Config: c, backoff: &backoff{failures: map[types.NamespacedName]int{}}}
}

// Start lets a manager run the controller.
func (c *Controller) Start(m ctrl.Manager) error {
	b := ctrl.NewControllerManagedBy(m).Named("provisioner").
		For(&v1alpha1.CoderProvisioner{}).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Secret{}).
		Owns(&corev1.ServiceAccount{}).
		Owns(&rbacv1.Role{}).
		Owns(&rbacv1.RoleBinding{}).
		Owns(&policyv1.PodDisruptionBudget{}).
		Watches(&v1alpha1.CoderControlPlane{}, handler.EnqueueRequestsFromMapFunc(c.ofControlPlane)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(c.ofPod)).
		Watches(&rbacv1.Role{}, handler.EnqueueRequestsFromMapFunc(c.ofRemote)).
		Watches(&rbacv1.RoleBinding{}, handler.EnqueueRequestsFromMapFunc(c.ofRemote)).
		WithOptions(controller.Options{MaxConcurrentReconciles: c.Parallel})
	if c.Events != nil {
		b = b.WatchesRawSource(channelSource(c.Events))
	}
	return b.Complete(c)
}

// ofControlPlane gives the pools of a control plane.
func (c *Controller) ofControlPlane(ctx context.Context, o client.Object) []reconcile.Request {
	var all v1alpha1.CoderProvisionerList
	if err := c.Client.List(ctx, &all, client.InNamespace(o.GetNamespace())); err != nil {
		return nil
	}
	var out []reconcile.Request
	for _, p := range all.Items {
		if p.Spec.ControlPlaneRef.Name == o.GetName() {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&p)})
		}
	}
	return out
}

// ofPod gives the pool of a pod.
func (c *Controller) ofPod(ctx context.Context, o client.Object) []reconcile.Request {
	instance := o.GetLabels()[shape.LabelInstance]
	if o.GetLabels()[shape.LabelName] != component || instance == "" {
		return nil
	}
	var all v1alpha1.CoderProvisionerList
	if err := c.Client.List(ctx, &all, client.InNamespace(o.GetNamespace())); err != nil {
		return nil
	}
	for _, p := range all.Items {
		if Selector(&p)[shape.LabelInstance] == instance {
			return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(&p)}}
		}
	}
	return nil
}

// ofRemote gives the pool of an object in another namespace.
func (c *Controller) ofRemote(ctx context.Context, o client.Object) []reconcile.Request {
	uid := o.GetLabels()[shape.LabelOwner]
	if uid == "" || o.GetLabels()[shape.LabelName] != component {
		return nil
	}
	var all v1alpha1.CoderProvisionerList
	if err := c.Client.List(ctx, &all); err != nil {
		return nil
	}
	for _, p := range all.Items {
		if string(p.UID) == uid {
			return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(&p)}}
		}
	}
	return nil
}

// backoff gives how long to wait after failures in a row.
type backoff struct {
	mu       sync.Mutex
	failures map[types.NamespacedName]int
}

// next is 2 s, 4 s, ... 2 min, each give or take a fifth.
func (b *backoff) next(n types.NamespacedName) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	wait := min(2*time.Second<<min(b.failures[n], 6), 2*time.Minute)
	b.failures[n]++
	return time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // spreads load, guards nothing
}

func (b *backoff) forget(n types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.failures, n)
}
