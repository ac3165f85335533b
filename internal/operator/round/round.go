// Package round has what the rounds of all kinds of resources have in common:
// what a controller works with, how a condition is noted, how a round ends, and
// which resource an object of another namespace belongs to. A round is one look
// at one resource, after which it is as it should be, or says why it is not.
package round

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seed-2a7f8fe7/coder/internal/operator/remote"
	"github.com/seed-2a7f8fe7/coder/internal/operator/shape"
)

// Config is what controllers of all kinds need.
type Config struct {
	// Client reads from the cache and writes to the cluster; Live reads past the
	// cache.
	Client client.Client
	Live   client.Reader
	Sites  *remote.Sites
	// Events tells people what happens; nil tells nobody.
	Events events.EventRecorder
	Now    func() time.Time
	// Idle is how long a resource at rest is left alone; zero is half an hour.
	Idle time.Duration
}

// idle is the Idle of those who say nothing.
const idle = 30 * time.Minute

// Complete gives the configuration with what it leaves out.
func (c Config) Complete() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Idle == 0 {
		c.Idle = idle
	}
	return c
}

// Pace gives a time between two looks, said for an Idle of half an hour, as it
// is for this one: all waiting is slower or faster together.
func (c Config) Pace(d time.Duration) time.Duration {
	return time.Duration(float64(d) * float64(c.Idle) / float64(idle))
}

// Resource is one of the custom resources.
type Resource interface {
	client.Object
	// StatusConditions are those of its status.
	StatusConditions() *[]metav1.Condition
	// Observe notes that the specification was acted upon.
	Observe()
}

// maxMessage bounds what a condition or an event says.
const maxMessage = 1000

// Set notes a condition of a resource.
func Set(r Resource, condition string, holds bool, reason, message string) {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	note(r, condition, status, reason, message)
}

// Unknown notes that nothing can be said of conditions, because of another.
func Unknown(r Resource, because string, conditions ...string) {
	for _, c := range conditions {
		note(r, c, metav1.ConditionUnknown, "Waiting", "waits for "+because)
	}
}

func note(r Resource, condition string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(r.StatusConditions(), metav1.Condition{
		Type: condition, Status: status, Reason: reason, Message: cut(message), ObservedGeneration: r.GetGeneration(),
	})
}

func cut(message string) string {
	if len(message) > maxMessage {
		return message[:maxMessage]
	}
	return message
}

// Hold puts a finalizer on a resource before anything is made for it. It says
// whether it had to, and so whether the resource at hand is the newest.
func (c Config) Hold(ctx context.Context, r Resource, finalizer string) (bool, error) {
	before, ok := r.DeepCopyObject().(client.Object)
	if !ok || !controllerutil.AddFinalizer(r, finalizer) {
		return false, nil
	}
	return true, c.Client.Patch(ctx, r, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// LetGo takes the finalizer away.
func (c Config) LetGo(ctx context.Context, r Resource, finalizer string) error {
	before, ok := r.DeepCopyObject().(client.Object)
	if !ok || !controllerutil.RemoveFinalizer(r, finalizer) {
		return nil
	}
	return client.IgnoreNotFound(c.Client.Patch(ctx, r, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

// Soon is after how long a round is made anew that found what it read outdated.
const Soon = 50 * time.Millisecond

// Finish ends a round that began with before and ended with err: what it noted
// is stored, what people want to know is told, and the next round is after again.
func (c Config) Finish(ctx context.Context, before, r Resource, again time.Duration, err error) (ctrl.Result, error) {
	if Outdated(err) {
		return ctrl.Result{RequeueAfter: Soon}, nil
	}
	r.Observe()
	if !equality.Semantic.DeepEqual(before, r) {
		if e := c.Client.Status().Update(ctx, r); apierrors.IsConflict(e) {
			return ctrl.Result{RequeueAfter: Soon}, nil
		} else if e != nil {
			return ctrl.Result{}, errors.Join(err, client.IgnoreNotFound(e))
		}
		c.tell(*before.StatusConditions(), r)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// Outdated says that a round acted upon something that was changed meanwhile,
// which the next finds.
func Outdated(err error) bool { return errors.Is(err, ErrOutdated) || apierrors.IsConflict(err) }

// ErrOutdated says that what a cache gave is not the newest.
var ErrOutdated = errors.New("the cluster has a newer state than this round began with")

// passing are reasons of conditions that do not hold for a while, as a matter
// of course.
func passing(reason string) bool {
	switch reason {
	case "Waiting", "Creating", "NotMade", "NotReady", "NoToken", "Connecting", "Progressing", "Registering", "Stabilizing", "TagsChanged":
		return true
	}
	return false
}

// tell makes events of conditions that began to be wrong, and of those that
// ceased to be.
func (c Config) tell(before []metav1.Condition, r Resource) {
	for _, now := range *r.StatusConditions() {
		was := meta.FindStatusCondition(before, now.Type)
		bad := was != nil && was.Status == metav1.ConditionFalse && !passing(was.Reason)
		switch {
		case now.Status == metav1.ConditionFalse && !passing(now.Reason) && (!bad || was.Reason != now.Reason):
			c.Tell(r, corev1.EventTypeWarning, now.Reason, now.Type, now.Message)
		case now.Status == metav1.ConditionTrue && bad:
			c.Tell(r, corev1.EventTypeNormal, now.Reason, now.Type, now.Message)
		}
	}
}

// Tell makes an event of a resource. kind is of the event; action is what was
// done, or looked at.
func (c Config) Tell(r Resource, kind, reason, action, message string) {
	if c.Events != nil {
		c.Events.Eventf(r, nil, kind, reason, action, "%s", cut(message))
	}
}

// Read reads an object from the cache, and past it what the cache leaves out.
func (c Config) Read(ctx context.Context, namespace, name string, o client.Object) error {
	key := client.ObjectKey{Namespace: namespace, Name: name}
	err := c.Client.Get(ctx, key, o)
	if apierrors.IsNotFound(err) {
		return c.Live.Get(ctx, key, o)
	}
	return err
}

// Elsewhere gives the resource, of those that list lists, that an object in
// another namespace was made for; component is the name that such objects have.
func (c Config) Elsewhere(component string, list func() client.ObjectList) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		uid := o.GetLabels()[shape.LabelOwner]
		if uid == "" || o.GetLabels()[shape.LabelName] != component {
			return nil
		}
		return c.Find(ctx, list(), func(r client.Object) bool { return string(r.GetUID()) == uid })
	})
}

// Find gives those of a list that match, which must not change what it is given.
func (c Config) Find(ctx context.Context, list client.ObjectList, match func(client.Object) bool, opts ...client.ListOption) []reconcile.Request {
	if err := c.Client.List(ctx, list, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil
	}
	var out []reconcile.Request
	_ = meta.EachListItem(list, func(item runtime.Object) error { //nolint:errcheck // it gives no error
		if o, ok := item.(client.Object); ok && match(o) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
		}
		return nil
	})
	return out
}
