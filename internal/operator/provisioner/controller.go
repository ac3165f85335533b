package provisioner

import (
	"context"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/operator/coderclient"
	"github.com/seed-2a7f8fe7/coder/internal/operator/reconcile"
)

// parallel bounds the pools that are reconciled at the same time, and so the
// load on the cluster.
const parallel = 16

// Controller reconciles CoderProvisioners. It is safe for concurrent use.
type Controller struct {
	reconcile.Config
	backoff *backoffs
	touched chan event.GenericEvent // pools affected by a change at a server
}

// New returns a controller.
func New(c reconcile.Config) *Controller {
	return &Controller{Config: c.Complete(), backoff: &backoffs{byName: map[types.NamespacedName]*lifecycle.Backoff{}}, touched: make(chan event.GenericEvent)}
}

// Start registers the controller with a manager.
func (c *Controller) Start(m ctrl.Manager) error {
	list := func() client.ObjectList { return &v1alpha1.CoderProvisionerList{} }
	elsewhere := c.Elsewhere(component, list)
	if err := m.Add(manager.RunnableFunc(c.followServers)); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(m).Named("provisioner").
		// Changes of the status by the operator do not trigger a
		// reconciliation.
		For(&v1alpha1.CoderProvisioner{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Secret{}).
		Owns(&corev1.ServiceAccount{}).
		Owns(&rbacv1.Role{}).
		Owns(&rbacv1.RoleBinding{}).
		Owns(&policyv1.PodDisruptionBudget{}).
		Watches(&v1alpha1.CoderControlPlane{}, handler.EnqueueRequestsFromMapFunc(c.ofControlPlane),
			builder.WithPredicates(predicate.Funcs{UpdateFunc: matters})).
		Watches(&corev1.Pod{}, c.OfPod(component, list)).
		Watches(&rbacv1.Role{}, elsewhere).
		Watches(&rbacv1.RoleBinding{}, elsewhere).
		WatchesRawSource(source.Channel(c.touched, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: parallel}).
		Complete(c)
}

// matters reports whether a control plane changed in a field that its pools
// use.
func matters(e event.UpdateEvent) bool {
	was, ok := e.ObjectOld.(*v1alpha1.CoderControlPlane)
	now, also := e.ObjectNew.(*v1alpha1.CoderControlPlane)
	return !ok || !also || was.Generation != now.Generation || was.Status.URL != now.Status.URL ||
		was.Status.OperatorAccessReady != now.Status.OperatorAccessReady ||
		!equality.Semantic.DeepEqual(was.Status.OperatorTokenSecretRef, now.Status.OperatorTokenSecretRef)
}

// ofControlPlane returns the pools of a control plane.
func (c *Controller) ofControlPlane(ctx context.Context, o client.Object) []ctrl.Request {
	return c.Find(ctx, &v1alpha1.CoderProvisionerList{}, func(p client.Object) bool {
		return p.(*v1alpha1.CoderProvisioner).Spec.ControlPlaneRef.Name == o.GetName() //nolint:forcetypeassert // of that list
	}, client.InNamespace(o.GetNamespace()))
}

// followServers reconciles the pools that a change at their server affects, until ctx
// ends.
func (c *Controller) followServers(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case place := <-c.Sites.Changed():
			v, err := c.Sites.View(ctx, place, c.Idle)
			if err != nil {
				continue // the next reconciliations notice it
			}
			for _, p := range c.concerned(ctx, place, v) {
				select {
				case <-ctx.Done():
				case c.touched <- event.GenericEvent{Object: p}:
				}
			}
		}
	}
}

// concerned returns the pools of an organization whose status would change.
func (c *Controller) concerned(ctx context.Context, place coderclient.Place, v coderclient.View) []*v1alpha1.CoderProvisioner {
	var all v1alpha1.CoderProvisionerList
	if err := c.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var out []*v1alpha1.CoderProvisioner
	for i := range all.Items {
		p := &all.Items[i]
		if p.Status.ControlPlaneURL != place.Access.URL || !sameName(p.Spec.OrganizationName, place.Organization) {
			continue
		}
		seen := p.DeepCopy()
		observe(seen, v)
		k := v.Current(KeyName(p))
		if k == nil || k.ID.String() != p.Status.ProvisionerKeyID || !equality.Semantic.DeepEqual(seen.Status, p.Status) {
			out = append(out, seen)
		}
	}
	return out
}

// sameName compares organization names; "" is the default organization.
func sameName(a, b string) bool { return organization(a) == organization(b) }

func organization(name string) string {
	if name == "" {
		return "default"
	}
	return name
}

// backoffs are the waits between failed reconciliations of each resource.
type backoffs struct {
	mu     sync.Mutex
	byName map[types.NamespacedName]*lifecycle.Backoff
}

// next returns 2 s, 4 s, ... 2 min after failures in a row, multiplied by 0.5 to 1.5.
func (b *backoffs) next(n types.NamespacedName) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byName[n] == nil {
		b.byName[n] = &lifecycle.Backoff{First: 2 * time.Second, Limit: 2 * time.Minute}
	}
	return b.byName[n].Next()
}

func (b *backoffs) forget(n types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.byName, n)
}
