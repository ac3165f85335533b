package provisioner

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/apply"
)

// Ages that a view of the server may have.
const (
	fresh = 500 * time.Millisecond // to act by
	// busyPart of the idle time is how old it may be while keys retire, pods come
	// or their number follows the queue: 30 seconds.
	busyPart = 30
	// grace is how long a replaced key stays good if nobody deletes it.
	grace = 30 * 24 * time.Hour
)

// Reconcile is one round of one pool.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &v1alpha1.CoderProvisioner{}
	if err := c.Client.Get(ctx, req.NamespacedName, p); err != nil {
		c.backoff.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !p.DeletionTimestamp.IsZero() {
		return c.end(ctx, p)
	}
	if controllerutil.AddFinalizer(p, v1alpha1.FinalizerProvisionerKey) {
		return ctrl.Result{}, c.Client.Update(ctx, p)
	}
	before := p.Status.DeepCopy()
	f, err := c.gather(ctx, p)
	if err != nil {
		return ctrl.Result{}, err
	}
	r := &round{Controller: c, Facts: f}
	err = r.run(ctx)
	if err == nil || errors.Is(err, errLook) {
		Conclude(r.Facts)
	}
	if !equality.Semantic.DeepEqual(before, &p.Status) {
		if e := c.Client.Status().Update(ctx, p); e != nil {
			if apierrors.IsConflict(e) {
				return ctrl.Result{RequeueAfter: time.Millisecond}, nil
			}
			return ctrl.Result{}, errors.Join(err, e)
		}
	}
	switch {
	case errors.Is(err, errLook):
		return ctrl.Result{RequeueAfter: time.Millisecond}, nil
	case err != nil:
		return ctrl.Result{}, err
	case r.failed:
		return ctrl.Result{RequeueAfter: c.backoff.next(req.NamespacedName)}, nil
	}
	c.backoff.forget(req.NamespacedName)
	return ctrl.Result{RequeueAfter: r.again}, nil
}

// errLook says that the round did something and the next shall go on at once.
var errLook = errors.New("look again")

// gather collects what the cluster knows.
func (c *Controller) gather(ctx context.Context, p *v1alpha1.CoderProvisioner) (Facts, error) {
	f := Facts{Provisioner: p}
	cp := &v1alpha1.CoderControlPlane{}
	switch err := c.Client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: p.Spec.ControlPlaneRef.Name}, cp); {
	case err == nil:
		f.ControlPlane = cp
	case !apierrors.IsNotFound(err):
		return f, err
	}
	secret := &corev1.Secret{}
	if err := c.get(ctx, p.Namespace, SecretRef(p).Name, secret); err == nil {
		f.Secret = secret
	} else if !apierrors.IsNotFound(err) {
		return f, err
	}
	d := &appsv1.Deployment{}
	if err := c.Client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: Name(p)}, d); err == nil {
		f.Deployment = d
	} else if !apierrors.IsNotFound(err) {
		return f, err
	}
	var pods corev1.PodList
	if err := c.Client.List(ctx, &pods, client.InNamespace(p.Namespace), client.MatchingLabels(Selector(p))); err != nil {
		return f, err
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			f.Pods = append(f.Pods, pod)
		}
	}
	var err error
	f.Token, err = c.token(ctx, f.ControlPlane)
	return f, err
}

// get reads from the cache, and past it what the cache leaves out.
func (c *Controller) get(ctx context.Context, namespace, name string, o client.Object) error {
	key := client.ObjectKey{Namespace: namespace, Name: name}
	err := c.Client.Get(ctx, key, o)
	if apierrors.IsNotFound(err) {
		return c.Live.Get(ctx, key, o)
	}
	return err
}

// token gives the operator's token for a control plane; "" while there is none.
func (c *Controller) token(ctx context.Context, cp *v1alpha1.CoderControlPlane) (string, error) {
	if cp == nil || cp.Status.OperatorTokenSecretRef == nil {
		return "", nil
	}
	ref := cp.Status.OperatorTokenSecretRef
	s := &corev1.Secret{}
	if err := c.get(ctx, cp.Namespace, ref.Name, s); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	return string(s.Data[ref.Key]), nil
}

// round is one look at one pool.
type round struct {
	*Controller
	Facts
	again  time.Duration // when to look again
	failed bool          // look again by back-off
}

// run does what can be done now and notes it in the conditions.
func (r *round) run(ctx context.Context) error {
	r.again = r.Idle
	if err := r.rights(ctx); err != nil {
		return err
	}
	if !r.ready() {
		return r.workload(ctx)
	}
	if err := r.look(ctx, r.age()); err != nil {
		r.trouble(err)
		return r.workload(ctx)
	}
	p := r.Provisioner
	set(p, v1alpha1.ConditionControlPlaneReady, true, "Ready", "the server at "+r.ControlPlane.Status.URL+" answers")
	set(p, v1alpha1.ConditionOperatorAccessReady, true, "Ready", "the server takes the operator's token")
	set(p, v1alpha1.ConditionExternalProvisionersEntitled, true, "Entitled", "provisioners of one's own need no license")
	d := Decide(r.Facts)
	if d.Key != KeyKeep || len(d.Delete) > 0 {
		v, err := r.Sites.Keys(ctx, r.Access(), p.Spec.OrganizationName, *r.View)
		if err != nil {
			r.trouble(err)
			return r.workload(ctx)
		}
		r.View = &v
		d = Decide(r.Facts)
	}
	if err := r.key(ctx, d); err != nil {
		if errors.Is(err, errLook) || apierrors.ReasonForError(err) != "" || errors.Is(err, apply.ErrNotOurs) {
			return err
		}
		r.trouble(err)
	}
	return r.workload(ctx)
}

// age is how old the view of the server may be.
func (r *round) age() time.Duration {
	p := r.Provisioner
	restless := p.Spec.Autoscaling != nil || len(p.Status.RetiringKeys) > 0 || p.Status.Daemons == nil ||
		(r.Deployment != nil && p.Status.Daemons.Connected < r.Deployment.Status.ReadyReplicas)
	if restless {
		r.again = min(r.again, r.busy())
		return r.busy() / 2
	}
	return r.Idle / 2
}

// busy is how soon a pool is looked at again while something is going on.
func (r *round) busy() time.Duration { return r.Idle / busyPart }

func (r *round) look(ctx context.Context, age time.Duration) error {
	v, err := r.Sites.View(ctx, r.Access(), r.Provisioner.Spec.OrganizationName, age)
	if err != nil {
		r.View, r.ViewErr = nil, err
		return err
	}
	r.View, r.ViewErr = &v, nil
	return nil
}

// ready says whether the server can be asked at all, and if not, why.
func (r *round) ready() bool {
	p, cp := r.Provisioner, r.ControlPlane
	later := []string{v1alpha1.ConditionExternalProvisionersEntitled, v1alpha1.ConditionProvisionerKeyReady, v1alpha1.ConditionProvisionerKeySecretReady}
	switch {
	case cp == nil:
		set(p, v1alpha1.ConditionControlPlaneReady, false, "NotFound", fmt.Sprintf("there is no CoderControlPlane %q in the namespace %q; make it, or name another in spec.controlPlaneRef.name", p.Spec.ControlPlaneRef.Name, p.Namespace))
		unknown(p, "the control plane", append(later, v1alpha1.ConditionOperatorAccessReady)...)
	case cp.Status.URL == "":
		set(p, v1alpha1.ConditionControlPlaneReady, false, "NotReady", fmt.Sprintf("the control plane %q has no URL yet", cp.Name))
		unknown(p, "the control plane", append(later, v1alpha1.ConditionOperatorAccessReady)...)
	case cp.Spec.OperatorAccess.Disabled:
		set(p, v1alpha1.ConditionOperatorAccessReady, false, "Disabled", fmt.Sprintf("the control plane %q sets operatorAccess.disabled, so the operator can make no keys there", cp.Name))
		unknown(p, "the operator's access", later...)
	case r.Token == "":
		set(p, v1alpha1.ConditionOperatorAccessReady, false, "NoToken", fmt.Sprintf("the control plane %q has no token for the operator yet", cp.Name))
		unknown(p, "the operator's access", later...)
		r.again = 15 * time.Second
	default:
		return true
	}
	return false
}

// trouble notes a failure of the server.
func (r *round) trouble(err error) {
	condition, reason, again := Trouble(err)
	set(r.Provisioner, condition, false, reason, err.Error())
	if again == 0 {
		r.failed = true
	} else {
		r.again = again
	}
}

// rights brings account, roles and bindings about.
func (r *round) rights(ctx context.Context) error {
	p := r.Provisioner
	wrong := ""
	for _, o := range Rights(p) {
		err := apply.Object(ctx, r.Client, r.Live, o)
		switch {
		case errors.Is(err, apply.ErrNotOurs), apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsNotFound(err):
			wrong = err.Error()
		case err != nil:
			return err
		}
	}
	if err := r.dropRights(ctx); err != nil {
		return err
	}
	if wrong != "" {
		set(p, v1alpha1.ConditionRBACReady, false, "Refused", wrong)
		r.again = time.Minute
		return nil
	}
	set(p, v1alpha1.ConditionRBACReady, true, "Ready", "account, roles and bindings are as they should be")
	return nil
}

// workload brings the pods about, when there is a key for them.
func (r *round) workload(ctx context.Context) error {
	p := r.Provisioner
	now := r.Now()
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
	if p.Spec.PodDisruptionBudget == nil {
		if err := apply.Absent(ctx, r.Client, r.Live, Budget(p, v1alpha1.DisruptionSpec{})); err != nil {
			return err
		}
	}
	for _, o := range Workload(r.Facts, scale.Replicas) {
		if err := apply.Object(ctx, r.Client, r.Live, o); err != nil {
			if errors.Is(err, apply.ErrNotOurs) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
				set(p, v1alpha1.ConditionDeploymentReady, false, "Refused", err.Error())
				r.again = time.Minute
				continue
			}
			return err
		}
	}
	return nil
}
