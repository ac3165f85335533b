package provisioner

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/apply"
	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
	"github.com/seed-2a7f8fe7/coder/internal/operator/reconcile"
)

// Maximum ages of a view of the server, and intervals between reconciliations.
const (
	fresh = 500 * time.Millisecond // to base decisions on
	// busyAgain is the interval while keys retire, pods start or builds run;
	// staleAgain is the interval while the provisioners of running pods do not
	// connect. See reconcile.Config.Pace.
	busyAgain  = 30 * time.Second
	staleAgain = 5 * time.Minute
	// connecting is how long the provisioner of a ready pod may be
	// disconnected, for example while the server restarts.
	connecting = time.Minute
	// grace is how long a replaced key stays valid unless it is deleted.
	grace = 30 * 24 * time.Hour
)

// Reconcile reconciles one pool.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &v1alpha1.CoderProvisioner{}
	if err := c.Client.Get(ctx, req.NamespacedName, p); err != nil {
		c.backoff.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !p.DeletionTimestamp.IsZero() {
		return c.finalize(ctx, p)
	}
	newest, err := c.Hold(ctx, p, v1alpha1.FinalizerProvisionerKey)
	if err != nil {
		return c.Finish(ctx, p, p, 0, err)
	}
	before := p.DeepCopy()
	f, err := c.gather(ctx, p)
	if err != nil {
		return ctrl.Result{}, err
	}
	r := &pass{Controller: c, Facts: f, newest: newest, recorded: p.Status.ProvisionerKeyID}
	err = r.run(ctx)
	if apply.Refused(err) {
		r.Refused, err = err.Error(), nil
		r.again = c.Pace(time.Minute)
	}
	switch {
	case err == nil:
		Conclude(r.Facts, r.Now().Add(-r.Pace(connecting)))
		if r.keyed && r.worked && r.Refused == "" && meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionRBACReady) {
			p.Observe()
		}
	case !reconcile.Outdated(err):
		p.Status.Phase = v1alpha1.PhasePending
		r.again, err = c.Fail(p, v1alpha1.ConditionDeploymentReady, false, err)
	}
	switch {
	case err == nil && r.failed:
		r.again = c.Pace(c.backoff.next(req.NamespacedName))
	case err == nil:
		c.backoff.forget(req.NamespacedName)
	}
	return c.Finish(ctx, before, p, r.again, err)
}

// gather reads the facts from the cluster.
func (c *Controller) gather(ctx context.Context, p *v1alpha1.CoderProvisioner) (Facts, error) {
	f := Facts{Provisioner: p}
	cp := &v1alpha1.CoderControlPlane{}
	switch err := c.Client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: p.Spec.ControlPlaneRef.Name}, cp); {
	case err == nil:
		f.ControlPlane = cp
	case !apierrors.IsNotFound(err):
		return f, err
	}
	if err := c.secret(ctx, c.Config.Read, &f); err != nil {
		return f, err
	}
	d := &appsv1.Deployment{}
	if err := c.Client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: deploymentName(p)}, d); err == nil {
		f.Deployment = d
	} else if !apierrors.IsNotFound(err) {
		return f, err
	}
	var err error
	if f.Pods, err = c.Config.Pods(ctx, p.Namespace, Selector(p)); err != nil {
		return f, err
	}
	if f.ControlPlane == nil {
		return f, nil
	}
	if f.Authorities, err = c.Authorities(ctx, cp); err != nil {
		return f, err
	}
	f.Token, err = c.token(ctx, cp)
	return f, err
}

// secret reads the Secret of the key.
func (c *Controller) secret(ctx context.Context, read func(ctx context.Context, namespace, name string, o client.Object) error, f *Facts) error {
	s := &corev1.Secret{}
	err := read(ctx, f.Provisioner.Namespace, SecretRef(f.Provisioner).Name, s)
	f.Secret = nil
	if err == nil {
		f.Secret = s
	}
	return client.IgnoreNotFound(err)
}

// token returns the operator's token for a control plane, or "".
func (c *Controller) token(ctx context.Context, cp *v1alpha1.CoderControlPlane) (string, error) {
	ref := cp.Status.OperatorTokenSecretRef
	if ref == nil {
		return "", nil
	}
	s := &corev1.Secret{}
	if err := c.Read(ctx, cp.Namespace, ref.Name, s); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	return string(s.Data[ref.Key]), nil
}

// pass is the reconciliation of one pool.
type pass struct {
	*Controller
	Facts
	again  time.Duration // when to reconcile again
	failed bool          // reconcile again with back-off
	newest bool          // the resource is not older than the cluster's
	keyed  bool          // the key and its Secret are as specified
	// recorded is the id of the key in the stored status.
	recorded string
	worked   bool // the Deployment is as specified, unless Refused
}

// run does what can be done now and records it in the conditions.
func (r *pass) run(ctx context.Context) error {
	r.again = r.Idle
	if err := r.rights(ctx); err != nil {
		return err
	}
	if !r.ready() {
		return r.workload(ctx)
	}
	if err := r.readView(ctx, r.age()); err != nil {
		r.trouble(err)
		return r.workload(ctx)
	}
	p := r.Provisioner
	r.responds()
	reconcile.Set(p, v1alpha1.ConditionOperatorAccessReady, true, "Ready", "the server accepts the operator's token")
	reconcile.Set(p, v1alpha1.ConditionExternalProvisionersEntitled, true, "Entitled", "external provisioners need no license")
	d, err := r.decide(ctx)
	if err == nil {
		err = r.key(ctx, d)
	}
	if err != nil {
		if reconcile.Outdated(err) || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown || errors.Is(err, apply.ErrNotOurs) {
			return err
		}
		r.trouble(err)
	}
	return r.workload(ctx)
}

// decide decides about the key. It reads past all caches, which may lack the
// result of the last reconciliation: a key must not be replaced twice.
func (r *pass) decide(ctx context.Context) (Decision, error) {
	d := Decide(r.Facts)
	if d.Blocked || d.Key == KeyKeep && len(d.Delete) == 0 {
		return d, nil
	}
	p := r.Provisioner
	if !r.newest {
		now := &v1alpha1.CoderProvisioner{}
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(p), now); err != nil {
			return d, err
		}
		if now.ResourceVersion != p.ResourceVersion {
			return d, reconcile.ErrOutdated
		}
		live := func(ctx context.Context, namespace, name string, o client.Object) error {
			return r.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o)
		}
		if err := r.secret(ctx, live, &r.Facts); err != nil {
			return d, err
		}
	}
	v, err := r.Sites.Keys(ctx, r.Place(), *r.View)
	if err != nil {
		return d, err
	}
	r.View = &v
	return Decide(r.Facts), nil
}

// age returns the maximum age of the view of the server, and with it when to
// reconcile again.
func (r *pass) age() time.Duration {
	p := r.Provisioner
	s := p.Status
	missing := r.Deployment != nil && s.Daemons != nil && s.Daemons.Connected < r.Deployment.Status.ReadyReplicas
	going := s.Daemons == nil || s.Daemons.SlotsBusy > 0 || s.Queue != nil && s.Queue.Pending > 0 || len(s.RetiringKeys) > 0 || s.FewerSince != nil ||
		r.Sites.Retiring(r.Place(), KeyName(p)) // wait for their last provisioners to disconnect
	switch {
	case missing && !going && r.longReady():
		r.again = min(r.again, r.Pace(staleAgain))
		return r.Pace(staleAgain) / 2
	case missing, going:
		r.again = min(r.again, r.Pace(busyAgain))
		return r.Pace(busyAgain) / 2
	case r.Sites.Followed(r.Place()):
		return r.Idle * 9 / 10
	}
	r.again = min(r.again, r.Idle/2)
	return r.Idle * 4 / 10
}

// longReady reports whether the pods have been ready for so long that missing
// provisioners will not connect.
func (r *pass) longReady() bool {
	c := meta.FindStatusCondition(r.Provisioner.Status.Conditions, v1alpha1.ConditionDeploymentReady)
	return c != nil && c.Status == metav1.ConditionTrue && r.Now().Sub(c.LastTransitionTime.Time) > r.Pace(staleAgain)
}

func (r *pass) readView(ctx context.Context, age time.Duration) error {
	v, err := r.Sites.View(ctx, r.Place(), age)
	if err != nil {
		r.View, r.ViewErr = nil, err
		return err
	}
	r.View, r.ViewErr = &v, nil
	return nil
}

// ready reports whether the server can be called, and records why not.
func (r *pass) ready() bool {
	p, cp := r.Provisioner, r.ControlPlane
	later := []string{v1alpha1.ConditionExternalProvisionersEntitled, v1alpha1.ConditionProvisionerKeyReady, v1alpha1.ConditionProvisionerKeySecretReady}
	switch {
	case cp == nil:
		reconcile.Set(p, v1alpha1.ConditionControlPlaneReady, false, "NotFound",
			fmt.Sprintf("CoderControlPlane %q not found in namespace %q; create it, or set spec.controlPlaneRef.name",
				p.Spec.ControlPlaneRef.Name, p.Namespace))
		reconcile.Unknown(p, "the control plane", append(later, v1alpha1.ConditionOperatorAccessReady)...)
	case cp.Status.URL == "":
		reconcile.Set(p, v1alpha1.ConditionControlPlaneReady, false, "NotReady", fmt.Sprintf("the control plane %q has no URL yet", cp.Name))
		reconcile.Unknown(p, "the control plane", append(later, v1alpha1.ConditionOperatorAccessReady)...)
	case cp.Spec.OperatorAccess.Disabled:
		reconcile.Set(p, v1alpha1.ConditionOperatorAccessReady, false, "Disabled",
			fmt.Sprintf("the control plane %q sets operatorAccess.disabled, so the operator cannot create keys there", cp.Name))
		reconcile.Unknown(p, "the operator's access", later...)
	case r.Token == "":
		reconcile.Set(p, v1alpha1.ConditionOperatorAccessReady, false, "NoToken",
			fmt.Sprintf("the control plane %q has no token for the operator yet", cp.Name))
		reconcile.Unknown(p, "the operator's access", later...)
		r.again = r.Pace(15 * time.Second)
	default:
		return true
	}
	return false
}

func (r *pass) responds() {
	reconcile.Set(r.Provisioner, v1alpha1.ConditionControlPlaneReady, true, "Ready", "the server at "+r.ControlPlane.Status.URL+" responds")
}

// trouble records a failure of the server.
func (r *pass) trouble(err error) {
	condition, reason, again := Trouble(err)
	if condition != v1alpha1.ConditionControlPlaneReady {
		r.responds()
	}
	message := err.Error()
	if reason == organizationNotFound {
		message = fmt.Sprintf("the server has no organization %q; create it, or set spec.organizationName", r.Provisioner.Spec.OrganizationName)
	}
	reconcile.Set(r.Provisioner, condition, false, reason, message)
	if again == 0 {
		r.failed = true
	} else {
		r.again = r.Pace(again)
	}
}

// workload applies the Deployment once the key exists.
func (r *pass) workload(ctx context.Context) error {
	p := r.Provisioner
	now := r.Now()
	var err error
	if r.Rivals, err = r.rivals(ctx); err != nil {
		return err
	}
	scale := Replicas(r.Facts, now)
	noteScale(p, scale)
	if scale.Again > 0 {
		r.again = min(r.again, scale.Again)
	}
	if r.KeyID() == "" || r.ControlPlane == nil || r.ControlPlane.Status.URL == "" {
		return nil
	}
	if err := r.costs(ctx, scale.Replicas); err != nil {
		return err
	}
	if d := r.Deployment; d != nil && d.Spec.Replicas != nil && *d.Spec.Replicas != scale.Replicas && scale.Reason != "" {
		r.RecordEvent(p, corev1.EventTypeNormal, scale.Reason, "Scale", fmt.Sprintf("scaled from %d pods to %d: %s", *d.Spec.Replicas, scale.Replicas, scale.Message))
	}
	if p.Spec.PodDisruptionBudget == nil {
		if err := apply.Absent(ctx, r.Client, r.Live, Budget(p, v1alpha1.DisruptionSpec{})); err != nil {
			return err
		}
	}
	if name := Name(p); name != deploymentName(p) {
		// The Deployment had this name in an older version.
		if err := apply.Absent(ctx, r.Client, r.Live, &appsv1.Deployment{ObjectMeta: podspec.OwnerOf(Kind, p).Meta(name, nil)}); err != nil {
			return err
		}
	}
	for _, o := range Workload(r.Facts, scale.Replicas) {
		if err := apply.Object(ctx, r.Client, r.Live, o); err != nil {
			if apply.Refused(err) {
				r.Refused = err.Error()
				r.again = r.Pace(time.Minute)
				continue
			}
			return err
		}
	}
	r.worked = true
	return nil
}
