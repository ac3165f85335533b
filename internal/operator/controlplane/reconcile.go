package controlplane

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/apply"
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
	Now    func() time.Time
	// Idle is how long a server at rest is left alone; zero is 15 minutes.
	Idle time.Duration
}

// Controller keeps servers. It is safe for concurrent use.
type Controller struct{ Config }

// New makes a controller.
func New(c Config) *Controller {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Idle == 0 {
		c.Idle = 15 * time.Minute
	}
	return &Controller{c}
}

// Start lets a manager run the controller.
func (c *Controller) Start(m ctrl.Manager) error {
	remote := handler.EnqueueRequestsFromMapFunc(c.ofRemote)
	return ctrl.NewControllerManagedBy(m).Named("controlplane").
		For(&v1alpha1.CoderControlPlane{}).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Owns(&corev1.Secret{}).
		Owns(&corev1.ServiceAccount{}).
		Owns(&rbacv1.Role{}).
		Owns(&rbacv1.RoleBinding{}).
		Owns(&policyv1.PodDisruptionBudget{}).
		Owns(&networkingv1.Ingress{}).
		Watches(&rbacv1.Role{}, remote).
		Watches(&rbacv1.RoleBinding{}, remote).
		WithOptions(controller.Options{MaxConcurrentReconciles: 2}).
		Complete(c)
}

// ofRemote gives the server of a role in another namespace.
func (c *Controller) ofRemote(ctx context.Context, o client.Object) []reconcile.Request {
	uid := o.GetLabels()[shape.LabelOwner]
	if uid == "" || o.GetLabels()[shape.LabelName] != component {
		return nil
	}
	var all v1alpha1.CoderControlPlaneList
	if err := c.Client.List(ctx, &all); err != nil {
		return nil
	}
	for _, cp := range all.Items {
		if string(cp.UID) == uid {
			return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(&cp)}}
		}
	}
	return nil
}

// Reconcile is one round of one server.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	cp := &v1alpha1.CoderControlPlane{}
	if err := c.Client.Get(ctx, req.NamespacedName, cp); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !cp.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, c.end(ctx, cp)
	}
	if controllerutil.AddFinalizer(cp, v1alpha1.FinalizerWorkspaceRBAC) {
		return ctrl.Result{}, c.Client.Update(ctx, cp)
	}
	before := cp.Status.DeepCopy()
	r := &round{Controller: c, cp: cp, again: c.Idle}
	err := r.run(ctx)
	cp.Status.ObservedGeneration = cp.Generation
	if !equality.Semantic.DeepEqual(before, &cp.Status) {
		if e := c.Client.Status().Update(ctx, cp); e != nil && !apierrors.IsConflict(e) {
			return ctrl.Result{}, errors.Join(err, e)
		}
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: r.again}, nil
}

// end takes back what the resource made beyond its namespace.
func (c *Controller) end(ctx context.Context, cp *v1alpha1.CoderControlPlane) error {
	all := append(slices.Clone(cp.Status.WorkspaceNamespaces), Namespaces(cp)...)
	if err := apply.DropRights(ctx, c.Client, c.Live, shape.OwnerOf(Kind, cp), RightsName(cp), all); err != nil {
		return err
	}
	if !controllerutil.RemoveFinalizer(cp, v1alpha1.FinalizerWorkspaceRBAC) {
		return nil
	}
	return client.IgnoreNotFound(c.Client.Update(ctx, cp))
}

// round is one look at one server.
type round struct {
	*Controller
	cp     *v1alpha1.CoderControlPlane
	again  time.Duration
	token  string
	refuse []string // what the cluster refused, and why
}

func (r *round) run(ctx context.Context) error {
	cp := r.cp
	ours, err := r.tokenSecret(ctx)
	if err != nil {
		return err
	}
	if err := r.dropped(ctx); err != nil {
		return err
	}
	for _, o := range append(Rights(cp), Service(cp), Deployment(cp, ours)) {
		if err := r.apply(ctx, o); err != nil {
			return err
		}
	}
	if err := r.exposed(ctx); err != nil {
		return err
	}
	d := &appsv1.Deployment{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: cp.Namespace, Name: Name(cp)}, d); client.IgnoreNotFound(err) != nil {
		return err
	}
	s := &cp.Status
	s.URL, s.ReadyReplicas, s.Phase = URL(cp), d.Status.ReadyReplicas, v1alpha1.PhasePending
	if s.ReadyReplicas > 0 {
		s.Phase = v1alpha1.PhaseReady
	}
	r.available(d)
	r.license()
	r.probe(ctx)
	return nil
}

// apply brings an object about, or notes why it cannot be.
func (r *round) apply(ctx context.Context, o client.Object) error {
	err := apply.Object(ctx, r.Client, r.Live, o)
	if errors.Is(err, apply.ErrNotOurs) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) || meta.IsNoMatchError(err) {
		r.refuse = append(r.refuse, err.Error())
		return nil
	}
	return err
}

// tokenSecret makes the operator's token, unless there is one: one of a
// person's making is used as it is. ours says whether the server is to be told.
func (r *round) tokenSecret(ctx context.Context) (ours bool, err error) {
	cp := r.cp
	if cp.Spec.OperatorAccess.Disabled {
		cp.Status.OperatorTokenSecretRef, cp.Status.OperatorAccessReady = nil, false
		return false, nil
	}
	s := &corev1.Secret{}
	key := client.ObjectKey{Namespace: cp.Namespace, Name: TokenSecretName(cp)}
	err = r.Client.Get(ctx, key, s)
	if apierrors.IsNotFound(err) {
		err = r.Live.Get(ctx, key, s)
	}
	cp.Status.OperatorTokenSecretRef = &v1alpha1.SecretKeySelector{Name: key.Name, Key: TokenKey}
	switch {
	case apierrors.IsNotFound(err):
		r.token = newToken()
		return true, r.apply(ctx, TokenSecret(cp, r.token))
	case err != nil:
		return false, err
	}
	r.token = string(s.Data[TokenKey])
	if !metav1.IsControlledBy(s, cp) {
		return false, nil
	}
	if r.token == "" {
		r.token = newToken()
	}
	return true, r.apply(ctx, TokenSecret(cp, r.token))
}

// newToken makes a token of the form that servers take: an id of ten, a dash,
// and a secret of 22 letters and digits, which is 113 bits.
func newToken() string {
	text := rand.Text() + rand.Text() // 26 each
	return text[:10] + "-" + text[10:32]
}

// dropped deletes what the specification asks for no more.
func (r *round) dropped(ctx context.Context) error {
	cp, o := r.cp, shape.OwnerOf(Kind, r.cp)
	want := Namespaces(cp)
	gone := slices.DeleteFunc(slices.Clone(cp.Status.WorkspaceNamespaces), func(n string) bool { return slices.Contains(want, n) })
	cp.Status.WorkspaceNamespaces = want
	if len(shape.Rules(cp.Spec.RBAC.RBACSpec)) == 0 {
		gone = append(gone, want...)
		if err := apply.DropOwnRights(ctx, r.Client, r.Live, o, RightsName(cp)); err != nil {
			return err
		}
	}
	if err := apply.DropRights(ctx, r.Client, r.Live, o, RightsName(cp), gone); err != nil {
		return err
	}
	if cp.Spec.PodDisruptionBudget == nil {
		return apply.Absent(ctx, r.Client, r.Live, Budget(cp, v1alpha1.DisruptionSpec{}))
	}
	return r.apply(ctx, Budget(cp, *cp.Spec.PodDisruptionBudget))
}

// exposed brings Ingress or HTTPRoute about, and takes the other away.
func (r *round) exposed(ctx context.Context) error {
	cp := r.cp
	var e v1alpha1.ExposeSpec
	if cp.Spec.Expose != nil {
		e = *cp.Spec.Expose
	}
	if e.Ingress == nil {
		if err := apply.Absent(ctx, r.Client, r.Live, Ingress(cp, v1alpha1.IngressSpec{})); err != nil {
			return err
		}
	} else if err := r.apply(ctx, Ingress(cp, *e.Ingress)); err != nil {
		return err
	}
	if e.Gateway != nil {
		return r.apply(ctx, Route(cp, *e.Gateway))
	}
	if meta.IsStatusConditionTrue(cp.Status.Conditions, conditionRouted) {
		if err := apply.Absent(ctx, r.Client, r.Live, Route(cp, v1alpha1.GatewaySpec{})); err != nil {
			return err
		}
	}
	meta.RemoveStatusCondition(&cp.Status.Conditions, conditionRouted)
	return nil
}

// conditionRouted says that there may be an HTTPRoute to take away.
const conditionRouted = "Routed"

func (r *round) set(condition string, holds bool, reason, message string) {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&r.cp.Status.Conditions, metav1.Condition{
		Type: condition, Status: status, Reason: reason, Message: message[:min(len(message), 1024)], ObservedGeneration: r.cp.Generation,
	})
}

func (r *round) available(d *appsv1.Deployment) {
	cp := r.cp
	if cp.Spec.Expose != nil && cp.Spec.Expose.Gateway != nil {
		r.set(conditionRouted, true, "Ready", "there is an HTTPRoute for "+cp.Spec.Expose.Gateway.Host)
	}
	switch {
	case len(r.refuse) > 0:
		r.again = min(r.again, time.Minute)
		r.set(v1alpha1.ConditionAvailable, false, "Refused", fmt.Sprint(r.refuse))
	case d.Status.ReadyReplicas == 0:
		r.set(v1alpha1.ConditionAvailable, false, "NotReady", "no replica is ready yet")
	default:
		r.set(v1alpha1.ConditionAvailable, true, "Ready", fmt.Sprintf("%d replicas are ready", d.Status.ReadyReplicas))
	}
}

// license answers a specification that has one.
func (r *round) license() {
	s := &r.cp.Status
	if r.cp.Spec.LicenseSecretRef == nil {
		meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionLicenseApplied)
		return
	}
	r.set(v1alpha1.ConditionLicenseApplied, false, "NotSupported", "nothing needs a license here: every feature is free, and the license is left alone")
}

// probe asks the server whether it takes the operator's token, when that is
// not known or was long ago.
func (r *round) probe(ctx context.Context) {
	cp, s := r.cp, &r.cp.Status
	s.LicenseTier = "none"
	if cp.Spec.OperatorAccess.Disabled {
		r.set(v1alpha1.ConditionOperatorAccessReady, false, "Disabled", "the specification says so")
		return
	}
	if s.ReadyReplicas == 0 {
		s.OperatorAccessReady = false
		r.set(v1alpha1.ConditionOperatorAccessReady, false, "Waiting", "waits for a replica to be ready")
		return
	}
	if t := s.EntitlementsLastChecked; t != nil && s.OperatorAccessReady && r.Now().Sub(t.Time) < r.Idle {
		r.again = min(r.again, r.Idle-r.Now().Sub(t.Time))
		return
	}
	v, err := r.Sites.Probe(ctx, remote.Access{URL: s.URL, Token: r.token})
	if v.Version != "" {
		s.Version = v.Version
	}
	if err != nil {
		s.OperatorAccessReady = false
		r.again = min(r.again, 15*time.Second)
		reason, message := "Unreachable", err.Error()
		if coder.Is(err, coder.CodeUnauthenticated, coder.CodeForbidden) {
			reason = "TokenRefused"
			message = fmt.Sprintf("the server does not take the token of the Secret %s: put a token of an owner there, made with 'coder tokens create' (%s)", TokenSecretName(cp), message)
		}
		r.set(v1alpha1.ConditionOperatorAccessReady, false, reason, message)
		return
	}
	now := metav1.NewTime(r.Now().Truncate(time.Second))
	s.OperatorAccessReady, s.EntitlementsLastChecked, s.ExternalProvisionerDaemonsEntitlement = true, &now, v.ExternalProvisioners
	r.set(v1alpha1.ConditionOperatorAccessReady, true, "Ready", "the operator acts as "+v.Account)
}
