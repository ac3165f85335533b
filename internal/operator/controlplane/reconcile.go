package controlplane

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/apply"
	"github.com/seed-2a7f8fe7/coder/internal/operator/remote"
	"github.com/seed-2a7f8fe7/coder/internal/operator/round"
	"github.com/seed-2a7f8fe7/coder/internal/operator/shape"
)

// Controller keeps servers. It is safe for concurrent use.
type Controller struct{ round.Config }

// New makes a controller.
func New(c round.Config) *Controller { return &Controller{c.Complete()} }

// Start lets a manager run the controller.
func (c *Controller) Start(m ctrl.Manager) error {
	list := func() client.ObjectList { return &v1alpha1.CoderControlPlaneList{} }
	elsewhere := c.Elsewhere(component, list)
	return ctrl.NewControllerManagedBy(m).Named("controlplane").
		For(&v1alpha1.CoderControlPlane{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Owns(&corev1.Secret{}).
		Owns(&corev1.ServiceAccount{}).
		Owns(&rbacv1.Role{}).
		Owns(&rbacv1.RoleBinding{}).
		Owns(&policyv1.PodDisruptionBudget{}).
		Owns(&networkingv1.Ingress{}).
		Watches(&corev1.Pod{}, c.OfPod(component, list)).
		Watches(&rbacv1.Role{}, elsewhere).
		Watches(&rbacv1.RoleBinding{}, elsewhere).
		WithOptions(controller.Options{MaxConcurrentReconciles: 2}).
		Complete(c)
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
	if _, err := c.Hold(ctx, cp, v1alpha1.FinalizerWorkspaceRBAC); err != nil {
		return c.Finish(ctx, cp, cp, 0, err)
	}
	before := cp.DeepCopy()
	r := &pass{Controller: c, cp: cp, again: c.Idle}
	err := r.run(ctx)
	return c.Finish(ctx, before, cp, r.again, err)
}

// end takes back what the resource made beyond its namespace.
func (c *Controller) end(ctx context.Context, cp *v1alpha1.CoderControlPlane) error {
	all := append(slices.Clone(cp.Status.WorkspaceNamespaces), Namespaces(cp)...)
	if err := apply.DropRights(ctx, c.Client, c.Live, shape.OwnerOf(Kind, cp), RightsName(cp), all); err != nil {
		return err
	}
	return c.LetGo(ctx, cp, v1alpha1.FinalizerWorkspaceRBAC)
}

// pass is one look at one server.
type pass struct {
	*Controller
	cp     *v1alpha1.CoderControlPlane
	again  time.Duration
	token  string
	refuse []string // what the cluster refused, and why
}

func (r *pass) run(ctx context.Context) error {
	cp := r.cp
	given, err := r.tokenSecret(ctx)
	if err != nil {
		return err
	}
	if err := r.dropped(ctx); err != nil {
		return err
	}
	for _, o := range Objects(cp, given) {
		refused := len(r.refuse)
		if err := r.apply(ctx, o); err != nil {
			return err
		}
		if route, ok := o.(*unstructured.Unstructured); ok {
			r.routed(route, len(r.refuse) == refused)
		}
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
	if err := r.available(ctx, d); err != nil {
		return err
	}
	r.license()
	r.probe(ctx, d, given)
	return nil
}

// apply brings an object about, or notes why it cannot be.
func (r *pass) apply(ctx context.Context, o client.Object) error {
	err := apply.Object(ctx, r.Client, r.Live, o)
	if errors.Is(err, apply.ErrNotOurs) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) || meta.IsNoMatchError(err) {
		r.refuse = append(r.refuse, err.Error())
		return nil
	}
	return err
}

// tokenSecret makes the operator's token, unless there is one: one of a
// person's making is used as it is. given is what the server is to be started
// with; "" for a person's, which it knows.
func (r *pass) tokenSecret(ctx context.Context) (given string, err error) {
	cp := r.cp
	if cp.Spec.OperatorAccess.Disabled {
		cp.Status.OperatorTokenSecretRef, cp.Status.OperatorAccessReady = nil, false
		return "", nil
	}
	s, name := &corev1.Secret{}, TokenSecretName(cp)
	err = r.Read(ctx, cp.Namespace, name, s)
	cp.Status.OperatorTokenSecretRef = &v1alpha1.SecretKeySelector{Name: name, Key: TokenKey}
	switch {
	case apierrors.IsNotFound(err):
		r.token = newToken()
		cp.Status.OperatorAccessReady = false // until a server has started with it
		return r.token, r.apply(ctx, TokenSecret(cp, r.token))
	case err != nil:
		return "", err
	}
	r.token = string(s.Data[TokenKey])
	if !metav1.IsControlledBy(s, cp) {
		return "", nil
	}
	if r.token == "" {
		r.token = newToken()
	}
	return r.token, r.apply(ctx, TokenSecret(cp, r.token))
}

// newToken makes a token of the form that servers take: an id of ten, a dash,
// and a secret of 22 letters and digits, which is 113 bits.
func newToken() string {
	text := rand.Text() + rand.Text() // 26 each
	return text[:10] + "-" + text[10:32]
}

// dropped deletes what the specification asks for no more.
func (r *pass) dropped(ctx context.Context) error {
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
		if err := apply.Absent(ctx, r.Client, r.Live, Budget(cp, v1alpha1.DisruptionSpec{})); err != nil {
			return err
		}
	}
	return r.hidden(ctx)
}

// hidden takes away the Ingress or HTTPRoute that is asked for no more.
func (r *pass) hidden(ctx context.Context) error {
	cp, e := r.cp, v1alpha1.ExposeSpec{}
	if cp.Spec.Expose != nil {
		e = *cp.Spec.Expose
	}
	if e.Ingress == nil {
		if err := apply.Absent(ctx, r.Client, r.Live, Ingress(cp, v1alpha1.IngressSpec{})); err != nil {
			return err
		}
	}
	if e.Gateway != nil {
		return nil
	}
	if meta.FindStatusCondition(cp.Status.Conditions, conditionRouted) != nil {
		if err := apply.Absent(ctx, r.Client, r.Live, Route(cp, v1alpha1.GatewaySpec{})); err != nil {
			return err
		}
	}
	meta.RemoveStatusCondition(&cp.Status.Conditions, conditionRouted)
	return nil
}

// conditionRouted says that there may be an HTTPRoute to take away.
const conditionRouted = "Routed"

func (r *pass) routed(route *unstructured.Unstructured, made bool) {
	if made {
		round.Set(r.cp, conditionRouted, true, "Ready", "there is an HTTPRoute "+route.GetName())
		return
	}
	message := r.refuse[len(r.refuse)-1] + "; where the cluster lacks HTTPRoute, install the Gateway API or use expose.ingress"
	r.refuse[len(r.refuse)-1] = message
	round.Set(r.cp, conditionRouted, false, "Refused", message)
}

// available notes how the pods do.
func (r *pass) available(ctx context.Context, d *appsv1.Deployment) error {
	switch {
	case len(r.refuse) > 0:
		r.again = min(r.again, r.Pace(time.Minute))
		round.Set(r.cp, v1alpha1.ConditionAvailable, false, "Refused", strings.Join(r.refuse, "; "))
	case d.Status.ReadyReplicas > 0:
		round.Set(r.cp, v1alpha1.ConditionAvailable, true, "Ready", fmt.Sprintf("%d replicas are ready", d.Status.ReadyReplicas))
	default:
		pods, err := r.Pods(ctx, r.cp.Namespace, shape.Selector(component, r.cp.Name))
		if err != nil {
			return err
		}
		holds, reason, message := round.PodsReady(*d, pods)
		if holds || reason == "Progressing" {
			reason, message = "NotReady", "no replica is ready yet"
		}
		round.Set(r.cp, v1alpha1.ConditionAvailable, false, reason, message)
	}
	return nil
}

// license answers a specification that has one.
func (r *pass) license() {
	s := &r.cp.Status
	if r.cp.Spec.LicenseSecretRef == nil {
		meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionLicenseApplied)
		return
	}
	round.Set(r.cp, v1alpha1.ConditionLicenseApplied, false, "NotSupported", "nothing needs a license here: every feature is free, and the license is left alone")
}

// starting says whether a server has yet to start with the token that it is given.
func starting(d *appsv1.Deployment, given string) bool {
	return given != "" && (d.Spec.Template.Annotations[annotationToken] != checksum(given) ||
		d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas == 0 || d.Status.UpdatedReplicas < d.Status.Replicas)
}

// probe asks the server whether it takes the operator's token, when that is
// not known or was long ago.
func (r *pass) probe(ctx context.Context, d *appsv1.Deployment, given string) {
	cp, s := r.cp, &r.cp.Status
	s.LicenseTier = "none"
	if cp.Spec.OperatorAccess.Disabled {
		round.Set(r.cp, v1alpha1.ConditionOperatorAccessReady, false, "Disabled", "the specification says so")
		return
	}
	if s.ReadyReplicas == 0 {
		s.OperatorAccessReady = false
		round.Set(r.cp, v1alpha1.ConditionOperatorAccessReady, false, "Waiting", "waits for a replica to be ready")
		return
	}
	if t := s.EntitlementsLastChecked; t != nil && s.OperatorAccessReady && r.Now().Sub(t.Time) < r.Idle {
		r.again = min(r.again, r.Idle-r.Now().Sub(t.Time))
		return
	}
	trust, err := r.Authorities(ctx, cp)
	var v remote.Server
	if err == nil {
		v, err = r.Sites.Probe(ctx, remote.Access{URL: s.URL, Token: r.token, Authorities: trust})
	}
	if v.Version != "" {
		s.Version = v.Version
	}
	if err != nil {
		s.OperatorAccessReady = false
		r.again = min(r.again, r.Pace(15*time.Second))
		reason, message := "Unreachable", err.Error()
		refused := coder.Is(err, coder.CodeUnauthenticated, coder.CodeForbidden)
		if refused && starting(d, given) {
			round.Unknown(cp, "a server to start with the operator's token", v1alpha1.ConditionOperatorAccessReady)
			return
		}
		if refused {
			reason = "TokenRefused"
			message = fmt.Sprintf("the server does not take the token of the Secret %s: put a token of an owner there, made with 'coder tokens create' (%s)", TokenSecretName(cp), message)
		}
		if wrong := (*tls.CertificateVerificationError)(nil); errors.As(err, &wrong) {
			reason = "CertificateRefused"
			message = fmt.Sprintf("the server's certificate is of nobody that is trusted, or for another name than that in its URL: put its authority's certificate into a Secret of spec.certs, or under ca.crt beside it in a Secret of spec.tls (%s)", message)
		}
		round.Set(r.cp, v1alpha1.ConditionOperatorAccessReady, false, reason, message)
		return
	}
	now := metav1.NewTime(r.Now().Truncate(time.Second))
	s.OperatorAccessReady, s.EntitlementsLastChecked, s.ExternalProvisionerDaemonsEntitlement = true, &now, v.ExternalProvisioners
	round.Set(r.cp, v1alpha1.ConditionOperatorAccessReady, true, "Ready", "the operator acts as "+v.Account)
}
