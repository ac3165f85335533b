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

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/apply"
	"github.com/seed-2a7f8fe7/coder/internal/operator/coderclient"
	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
	"github.com/seed-2a7f8fe7/coder/internal/operator/reconcile"
)

// Controller reconciles CoderControlPlanes. It is safe for concurrent use.
type Controller struct{ reconcile.Config }

// New returns a controller.
func New(c reconcile.Config) *Controller { return &Controller{c.Complete()} }

// Start registers the controller with a manager.
func (c *Controller) Start(m ctrl.Manager) error {
	list := func() client.ObjectList { return &v1alpha1.CoderControlPlaneList{} }
	elsewhere := c.Elsewhere(component, list)
	return ctrl.NewControllerManagedBy(m).Named("controlplane").
		For(&v1alpha1.CoderControlPlane{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Owns(&corev1.Secret{}).
		Owns(&corev1.ConfigMap{}).
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

// Reconcile reconciles one server.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	cp := &v1alpha1.CoderControlPlane{}
	if err := c.Client.Get(ctx, req.NamespacedName, cp); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !cp.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, c.finalize(ctx, cp)
	}
	if _, err := c.Hold(ctx, cp, v1alpha1.FinalizerWorkspaceRBAC); err != nil {
		return c.Finish(ctx, cp, cp, 0, err)
	}
	before := cp.DeepCopy()
	r := &pass{Controller: c, cp: cp, again: c.Idle}
	err := r.run(ctx)
	switch {
	case reconcile.Outdated(err):
	case err != nil:
		cp.Status.Phase = v1alpha1.PhasePending
		r.again, err = c.Fail(cp, v1alpha1.ConditionAvailable, apply.Refused(err), err)
	case r.applied:
		cp.Observe()
	default:
		cp.Status.Phase = v1alpha1.PhasePending
	}
	return c.Finish(ctx, before, cp, r.again, err)
}

// finalize deletes what the resource created outside its namespace.
func (c *Controller) finalize(ctx context.Context, cp *v1alpha1.CoderControlPlane) error {
	all := append(slices.Clone(cp.Status.WorkspaceNamespaces), Namespaces(cp)...)
	if err := apply.DropRights(ctx, c.Client, c.Live, podspec.OwnerOf(Kind, cp), RightsName(cp), all); err != nil {
		return err
	}
	return c.LetGo(ctx, cp, v1alpha1.FinalizerWorkspaceRBAC)
}

// pass is the reconciliation of one server.
type pass struct {
	*Controller
	cp     *v1alpha1.CoderControlPlane
	again  time.Duration
	token  string
	refuse []string // objects that the cluster refused, with reasons
	// applied reports whether the cluster has all objects of the specification.
	applied bool
}

func (r *pass) run(ctx context.Context) error {
	cp := r.cp
	given, err := r.tokenSecret(ctx)
	if err != nil {
		return err
	}
	if err := r.rights(ctx); err != nil {
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
	r.applied = len(r.refuse) == 0 && meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionRBACReady)
	s.LicenseTier = "none"
	if cp.Spec.OperatorAccess.Disabled {
		return r.revoke(ctx, d)
	}
	r.probe(ctx, d, given)
	return nil
}

// apply applies an object, or records why the cluster refuses it.
func (r *pass) apply(ctx context.Context, o client.Object) error {
	err := apply.Object(ctx, r.Client, r.Live, o)
	if apply.Refused(err) {
		r.refuse = append(r.refuse, err.Error())
		return nil
	}
	return err
}

// tokenSecret creates the Secret with the operator's token if it does not
// exist; an existing token is used unchanged. given is the token to start the
// server with, or "" if a user provided the token, which the server knows
// already.
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
		cp.Status.OperatorAccessReady = false // until a server has started with the token
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

// newToken returns a token in the form that servers accept: an id of ten
// characters, a dash, and a secret of 22 letters and digits, which has 113
// bits.
func newToken() string {
	text := rand.Text() + rand.Text() // 26 each
	return text[:10] + "-" + text[10:32]
}

// dropped deletes objects that the specification no longer requests.
func (r *pass) dropped(ctx context.Context) error {
	cp := r.cp
	if !hasDefaults(cp) {
		if err := apply.Absent(ctx, r.Client, r.Live, Defaults(cp)); err != nil {
			return err
		}
	}
	if cp.Spec.PodDisruptionBudget == nil {
		if err := apply.Absent(ctx, r.Client, r.Live, Budget(cp, v1alpha1.DisruptionSpec{})); err != nil {
			return err
		}
	}
	return r.hidden(ctx)
}

// hidden deletes an Ingress or HTTPRoute that the specification no longer
// requests.
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

// conditionRouted reports that an HTTPRoute may exist, which must be deleted
// later.
const conditionRouted = "Routed"

func (r *pass) routed(route *unstructured.Unstructured, made bool) {
	if made {
		reconcile.Set(r.cp, conditionRouted, true, "Ready", "HTTPRoute exists: "+route.GetName())
		return
	}
	message := r.refuse[len(r.refuse)-1] + "; if the cluster has no HTTPRoute kind, install the Gateway API or use expose.ingress"
	r.refuse[len(r.refuse)-1] = message
	reconcile.Set(r.cp, conditionRouted, false, "Refused", message)
}

// available records the state of the pods: whether one serves, and whether all are
// as the specification asks for.
func (r *pass) available(ctx context.Context, d *appsv1.Deployment) error {
	pods, err := r.Pods(ctx, r.cp.Namespace, podspec.Selector(component, r.cp.Name))
	if err != nil {
		return err
	}
	holds, reason, message := reconcile.PodsReady(*d, pods)
	reconcile.Set(r.cp, v1alpha1.ConditionDeploymentReady, holds, reason, message)
	switch {
	case len(r.refuse) > 0:
		r.again = min(r.again, r.Pace(time.Minute))
		reconcile.Set(r.cp, v1alpha1.ConditionAvailable, false, "Refused", strings.Join(r.refuse, "; "))
	case d.Status.ReadyReplicas > 0:
		reconcile.Set(r.cp, v1alpha1.ConditionAvailable, true, "Ready", fmt.Sprintf("%d replicas are ready", d.Status.ReadyReplicas))
	default:
		reconcile.Set(r.cp, v1alpha1.ConditionAvailable, false, "NotReady", "no replica is ready yet: "+message)
	}
	return nil
}

// license records the condition of a configured license.
func (r *pass) license() {
	s := &r.cp.Status
	if r.cp.Spec.LicenseSecretRef == nil {
		meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionLicenseApplied)
		return
	}
	reconcile.Set(r.cp, v1alpha1.ConditionLicenseApplied, false, "NotSupported", "every feature is included without a license; the license is ignored")
}

// starting reports whether no server has started with the current token yet.
func starting(d *appsv1.Deployment, given string) bool {
	return given != "" && (d.Spec.Template.Annotations[annotationToken] != checksum(given) ||
		d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas == 0 || d.Status.UpdatedReplicas < d.Status.Replicas)
}

// fresh is how long the network of the cluster can take, after the first pod is
// ready, to lead connections to it.
const fresh = 30 * time.Second

// probe checks whether the server accepts the operator's token, unless that was
// checked recently.
func (r *pass) probe(ctx context.Context, d *appsv1.Deployment, given string) {
	cp, s := r.cp, &r.cp.Status
	if s.ReadyReplicas == 0 {
		s.OperatorAccessReady = false
		reconcile.Set(r.cp, v1alpha1.ConditionOperatorAccessReady, false, "Waiting", "waiting for a ready replica")
		return
	}
	if t := s.EntitlementsLastChecked; t != nil && s.OperatorAccessReady && r.Now().Sub(t.Time) < r.Idle {
		r.again = min(r.again, r.Idle-r.Now().Sub(t.Time))
		return
	}
	trust, err := r.Authorities(ctx, cp)
	var v coderclient.Server
	if err == nil {
		v, err = r.Sites.Probe(ctx, coderclient.Access{URL: s.URL, Token: r.token, Authorities: trust})
	}
	if v.Version != "" {
		s.Version = v.Version
	}
	if err != nil {
		s.OperatorAccessReady = false
		r.again = min(r.again, r.Pace(15*time.Second))
		reason, message := "Unreachable", err.Error()
		if available := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionAvailable); r.Now().Sub(available.LastTransitionTime.Time) < r.Pace(fresh) {
			reason, r.again = "Connecting", min(r.again, r.Pace(2*time.Second))
		}
		refused := codersdk.Is(err, codersdk.CodeUnauthenticated, codersdk.CodeForbidden)
		if refused && starting(d, given) {
			reconcile.Unknown(cp, "a server to start with the operator's token", v1alpha1.ConditionOperatorAccessReady)
			return
		}
		if refused {
			reason = "TokenRefused"
			message = fmt.Sprintf("the server rejects the token in the Secret %s; store the token of an owner there, created with 'coder tokens create' (%s)",
				TokenSecretName(cp), message)
		}
		if wrong := (*tls.CertificateVerificationError)(nil); errors.As(err, &wrong) {
			reason = "CertificateRefused"
			message = fmt.Sprintf(
				"the server's certificate is not trusted, or is for another host name; add the CA certificate to a Secret in spec.certs, or as ca.crt to a Secret in spec.tls (%s)",
				message,
			)
		}
		reconcile.Set(r.cp, v1alpha1.ConditionOperatorAccessReady, false, reason, message)
		return
	}
	now := metav1.NewTime(r.Now().Truncate(time.Second))
	s.OperatorAccessReady, s.EntitlementsLastChecked, s.ExternalProvisionerDaemonsEntitlement = true, &now, v.ExternalProvisioners
	reconcile.Set(r.cp, v1alpha1.ConditionOperatorAccessReady, true, "Ready", "the operator is signed in as "+v.Account)
}
