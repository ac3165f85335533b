// Package reconcile contains what the controllers of all kinds share: their
// configuration, conditions, the end of a reconciliation, and how to find the
// resource that an object in another namespace belongs to. After a
// reconciliation a resource is in its desired state, or its conditions explain
// why not.
package reconcile

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

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/coderclient"
	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
)

// Config is the configuration of all controllers.
type Config struct {
	// Client reads from the cache and writes to the cluster; Live reads past
	// the cache.
	Client client.Client
	Live   client.Reader
	Sites  *coderclient.Sites
	// Events records Kubernetes events; nil records none.
	Events events.EventRecorder
	Now    func() time.Time
	// Aggregated is the account of the aggregated API server, as
	// namespace/name; "" means none.
	Aggregated string
	// CrossRules are the namespaces whose resources may grant extra rules in
	// other namespaces.
	CrossRules []string
	// Idle is the interval of reconciliations of a resource at rest; zero means
	// half an hour.
	Idle time.Duration
}

// idle is the default of Idle.
const idle = 30 * time.Minute

// Complete returns the configuration with defaults.
func (c Config) Complete() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Idle == 0 {
		c.Idle = idle
	}
	return c
}

// Pace scales an interval, given for an Idle of half an hour, to the configured
// Idle.
func (c Config) Pace(d time.Duration) time.Duration {
	return time.Duration(float64(d) * float64(c.Idle) / float64(idle))
}

// Resource is one of the custom resources.
type Resource interface {
	client.Object
	// StatusConditions returns the conditions of the status.
	StatusConditions() *[]metav1.Condition
	// Settled reports whether all that the current generation asks for is in
	// place.
	Settled() bool
}

// maxMessage bounds the message of a condition or an event, in bytes.
const maxMessage = 1000

// Set sets a condition of a resource.
func Set(r Resource, condition string, holds bool, reason, message string) {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	note(r, condition, status, reason, message)
}

// Unknown sets conditions to Unknown because another one must hold first.
func Unknown(r Resource, because string, conditions ...string) {
	for _, c := range conditions {
		note(r, c, metav1.ConditionUnknown, "Waiting", "waiting for "+because)
	}
}

func note(r Resource, condition string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(r.StatusConditions(), metav1.Condition{
		Type: condition, Status: status, Reason: reason, Message: cut(message), ObservedGeneration: r.GetGeneration(),
	})
}

// summarize sets the condition Ready: to what keeps the resource from being
// ready, a condition that does not hold rather than one that waits for another.
func summarize(r Resource) {
	if r.Settled() {
		Set(r, v1alpha1.ConditionReady, true, "Ready", "all that the specification asks for is in place")
		return
	}
	why := metav1.Condition{Reason: "Progressing", Message: "the specification is being applied"}
	for _, c := range *r.StatusConditions() {
		switch {
		case c.Type == v1alpha1.ConditionReady || c.Status == metav1.ConditionTrue || advisory(c):
		case why.Type == "" || why.Status == metav1.ConditionUnknown && c.Status == metav1.ConditionFalse,
			why.Status == c.Status && passing(why.Reason) && !passing(c.Reason):
			why = c
		}
	}
	if why.Type != "" {
		why.Message = why.Type + ": " + why.Message
	}
	Set(r, v1alpha1.ConditionReady, false, why.Reason, why.Message)
}

// advisory reports whether a condition may be false of a resource that is ready.
func advisory(c metav1.Condition) bool {
	return c.Type == v1alpha1.ConditionLicenseApplied || c.Type == v1alpha1.ConditionScaled || c.Reason == "SomeNotConnected"
}

func cut(message string) string {
	if len(message) > maxMessage {
		return message[:maxMessage]
	}
	return message
}

// Hold adds a finalizer to a resource before objects are created for it. It
// reports whether it had to, and so whether the resource at hand is the newest.
func (c Config) Hold(ctx context.Context, r Resource, finalizer string) (bool, error) {
	before, ok := r.DeepCopyObject().(client.Object)
	if !ok || !controllerutil.AddFinalizer(r, finalizer) {
		return false, nil
	}
	return true, c.Client.Patch(ctx, r, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// LetGo removes the finalizer.
func (c Config) LetGo(ctx context.Context, r Resource, finalizer string) error {
	before, ok := r.DeepCopyObject().(client.Object)
	if !ok || !controllerutil.RemoveFinalizer(r, finalizer) {
		return nil
	}
	return client.IgnoreNotFound(c.Client.Patch(ctx, r, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

// Soon is the delay after a reconciliation that read outdated objects.
const Soon = 50 * time.Millisecond

// Finish ends a reconciliation that started with before and ended with err. It
// stores the status, records events, and schedules the next reconciliation
// after again.
func (c Config) Finish(ctx context.Context, before, r Resource, again time.Duration, err error) (ctrl.Result, error) {
	if Outdated(err) {
		return ctrl.Result{RequeueAfter: Soon}, nil
	}
	if before != r {
		summarize(r)
	}
	if !equality.Semantic.DeepEqual(before, r) {
		if e := c.Client.Status().Update(ctx, r); apierrors.IsConflict(e) {
			return ctrl.Result{RequeueAfter: Soon}, nil
		} else if e != nil {
			return ctrl.Result{}, errors.Join(err, client.IgnoreNotFound(e))
		}
		c.recordChanges(*before.StatusConditions(), r)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// Fail records in a condition why a reconciliation stopped. A refusal is tried
// again after a minute; any other failure is returned, for a retry with
// back-off.
func (c Config) Fail(r Resource, condition string, refused bool, failure error) (again time.Duration, err error) {
	if refused {
		Set(r, condition, false, "Refused", failure.Error())
		return c.Pace(time.Minute), nil
	}
	Set(r, condition, false, "ApplyFailed", failure.Error())
	return 0, failure
}

// Outdated reports whether a reconciliation failed because an object changed
// meanwhile, which the next one will see.
func Outdated(err error) bool { return errors.Is(err, ErrOutdated) || apierrors.IsConflict(err) }

// ErrOutdated reports that a cache did not have the newest object.
var ErrOutdated = errors.New("the cluster has a newer state than this reconciliation started with")

// passing are reasons for which conditions normally do not hold for some time.
func passing(reason string) bool {
	switch reason {
	case "Waiting", "Creating", "NotMade", "NotReady", "NoToken", "Connecting", "Progressing", "Registering", "Stabilizing", "TagsChanged", "Revoking":
		return true
	}
	return false
}

// recordChanges records events for conditions that stopped or started to hold.
func (c Config) recordChanges(before []metav1.Condition, r Resource) {
	for _, now := range *r.StatusConditions() {
		if now.Type == v1alpha1.ConditionReady {
			continue // it repeats another
		}
		was := meta.FindStatusCondition(before, now.Type)
		bad := was != nil && was.Status == metav1.ConditionFalse && !passing(was.Reason)
		switch {
		case now.Status == metav1.ConditionFalse && !passing(now.Reason) && (!bad || was.Reason != now.Reason):
			c.RecordEvent(r, corev1.EventTypeWarning, now.Reason, now.Type, now.Message)
		case now.Status == metav1.ConditionTrue && bad:
			c.RecordEvent(r, corev1.EventTypeNormal, now.Reason, now.Type, now.Message)
		}
	}
}

// RecordEvent records an event of a resource. kind is the event's type; action is what
// was done or checked.
func (c Config) RecordEvent(r Resource, kind, reason, action, message string) {
	if c.Events != nil {
		c.Events.Eventf(r, nil, kind, reason, action, "%s", cut(message))
	}
}

// Read reads an object from the cache, or past it if the cache leaves it out.
func (c Config) Read(ctx context.Context, namespace, name string, o client.Object) error {
	key := client.ObjectKey{Namespace: namespace, Name: name}
	err := c.Client.Get(ctx, key, o)
	if apierrors.IsNotFound(err) {
		return c.Live.Get(ctx, key, o)
	}
	return err
}

// Elsewhere returns the listed resource that an object in another namespace was
// created for. component is the name label of such objects.
func (c Config) Elsewhere(component string, list func() client.ObjectList) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		uid := o.GetLabels()[podspec.LabelOwner]
		if uid == "" || o.GetLabels()[podspec.LabelName] != component {
			return nil
		}
		return c.Find(ctx, list(), func(r client.Object) bool { return string(r.GetUID()) == uid })
	})
}

// Find returns the items of a list that match. match must not change its
// argument.
func (c Config) Find(ctx context.Context, list client.ObjectList, match func(client.Object) bool, opts ...client.ListOption) []reconcile.Request {
	if err := c.Client.List(ctx, list, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil
	}
	var out []reconcile.Request
	_ = meta.EachListItem(list, func(item runtime.Object) error { //nolint:errcheck // it returns no error
		if o, ok := item.(client.Object); ok && match(o) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
		}
		return nil
	})
	return out
}
