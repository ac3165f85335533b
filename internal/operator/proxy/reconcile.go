package proxy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/apply"
	"github.com/seed-2a7f8fe7/coder/internal/operator/coderclient"
	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
	"github.com/seed-2a7f8fe7/coder/internal/operator/reconcile"
)

// Controller reconciles CoderWorkspaceProxies. It is safe for concurrent use.
type Controller struct{ reconcile.Config }

// New returns a controller.
func New(c reconcile.Config) *Controller { return &Controller{c.Complete()} }

// Start registers the controller with a manager.
func (c *Controller) Start(m ctrl.Manager) error {
	list := func() client.ObjectList { return &v1alpha1.CoderWorkspaceProxyList{} }
	return ctrl.NewControllerManagedBy(m).Named("workspaceproxy").
		For(&v1alpha1.CoderWorkspaceProxy{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Owns(&corev1.Secret{}).
		Watches(&corev1.Pod{}, c.OfPod(component, list)).
		Complete(c)
}

// Reconcile reconciles one proxy.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &v1alpha1.CoderWorkspaceProxy{}
	if err := c.Client.Get(ctx, req.NamespacedName, p); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !p.DeletionTimestamp.IsZero() {
		return c.finalize(ctx, p)
	}
	if _, err := c.Hold(ctx, p, v1alpha1.FinalizerWorkspaceProxy); err != nil {
		return c.Finish(ctx, p, p, 0, err)
	}
	before := p.DeepCopy()
	r := &pass{Controller: c, p: p, again: c.Idle}
	err := r.run(ctx)
	switch {
	case reconcile.Outdated(err):
	case err != nil:
		p.Status.Phase = v1alpha1.PhasePending
		r.again, err = c.Fail(p, v1alpha1.ConditionDeploymentReady, apply.Refused(err), err)
	case r.applied:
		p.Observe()
	}
	return c.Finish(ctx, before, p, r.again, err)
}

// endPatience is how long the deletion of a resource waits for an unreachable
// server.
const endPatience = 30 * time.Second

// finalize deletes the registration, then removes the finalizer in any case.
func (c *Controller) finalize(ctx context.Context, p *v1alpha1.CoderWorkspaceProxy) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(p, v1alpha1.FinalizerWorkspaceProxy) {
		return ctrl.Result{}, nil
	}
	r := &pass{Controller: c, p: p}
	if p.Spec.Bootstrap != nil && p.Status.ProxyID != "" {
		a, err := r.access(ctx)
		if err == nil && a.Token == "" {
			a.Token = c.Sites.Token(a.URL)
		}
		if err == nil && a.Token != "" {
			err = c.Sites.DeleteProxy(ctx, a, p.Status.ProxyID)
		}
		if err != nil && c.Now().Sub(p.DeletionTimestamp.Time) < endPatience {
			return ctrl.Result{RequeueAfter: c.Pace(5 * time.Second)}, nil
		}
		if err != nil {
			log.FromContext(ctx).Info("workspace proxy remains at an unreachable server", "proxy", p.Status.ProxyID, "error", err)
		}
	}
	return ctrl.Result{}, c.LetGo(ctx, p, v1alpha1.FinalizerWorkspaceProxy)
}

// pass is the reconciliation of one proxy.
type pass struct {
	*Controller
	p     *v1alpha1.CoderWorkspaceProxy
	again time.Duration
	// applied reports whether the cluster has all objects of the specification.
	applied bool
}

func (r *pass) run(ctx context.Context) error {
	p := r.p
	ref := TokenRef(p)
	p.Status.ProxyTokenSecretRef = &ref
	secret, err := r.secret(ctx, ref.Name)
	if err != nil {
		return err
	}
	if p.Spec.ProxySessionTokenSecretRef == nil {
		if secret, err = r.register(ctx, secret); err != nil {
			return err
		}
	} else {
		p.Status.Registered = secret != nil
		reconcile.Set(r.p, v1alpha1.ConditionRegistered, true, "TokenGiven", "the specification contains the proxy's token, so the proxy is registered already")
	}
	if secret == nil || len(secret.Data[ref.Key]) == 0 {
		reconcile.Set(r.p, v1alpha1.ConditionProxyTokenReady, false, "NoToken",
			fmt.Sprintf("the Secret %s has no token under the key %q yet", ref.Name, ref.Key))
		r.again = min(r.again, r.Pace(30*time.Second))
		return r.conclude(ctx)
	}
	reconcile.Set(r.p, v1alpha1.ConditionProxyTokenReady, true, "Ready", "the token is stored in the Secret "+ref.Name)
	sum := sha256.Sum256(secret.Data[ref.Key])
	for _, o := range Objects(p, hex.EncodeToString(sum[:])) {
		if err := apply.Object(ctx, r.Client, r.Live, o); err != nil {
			return err
		}
	}
	r.applied = true
	return r.conclude(ctx)
}

// conclude records the state of the pods.
func (r *pass) conclude(ctx context.Context) error {
	d := &appsv1.Deployment{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.p.Namespace, Name: Name(r.p)}, d); client.IgnoreNotFound(err) != nil {
		return err
	}
	s := &r.p.Status
	s.ReadyReplicas, s.Phase = d.Status.ReadyReplicas, v1alpha1.PhasePending
	if s.ReadyReplicas > 0 {
		s.Phase = v1alpha1.PhaseReady
	}
	if d.Name == "" {
		reconcile.Set(r.p, v1alpha1.ConditionDeploymentReady, false, "NotMade", "no pods exist yet because the token is missing")
		return nil
	}
	pods, err := r.Pods(ctx, r.p.Namespace, podspec.Selector(component, r.p.Name))
	if err != nil {
		return err
	}
	holds, reason, message := reconcile.PodsReady(*d, pods)
	reconcile.Set(r.p, v1alpha1.ConditionDeploymentReady, holds, reason, message)
	return nil
}

func (r *pass) secret(ctx context.Context, name string) (*corev1.Secret, error) {
	s := &corev1.Secret{}
	err := r.Read(ctx, r.p.Namespace, name, s)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // nil is a valid result
	}
	return s, err
}

// access returns the server to register at; its token is "" if there is none.
func (r *pass) access(ctx context.Context) (coderclient.Access, error) {
	b := r.p.Spec.Bootstrap
	a := coderclient.Access{URL: b.CoderURL}
	s, err := r.secret(ctx, b.CredentialsSecretRef.Name)
	if err != nil || s == nil {
		return a, err
	}
	key := b.CredentialsSecretRef.Key
	if key == "" {
		key = tokenKey
	}
	a.Token = string(s.Data[key])
	return a, nil
}

// register registers the proxy and returns the Secret with its token, or nil
// while there is none.
func (r *pass) register(ctx context.Context, secret *corev1.Secret) (*corev1.Secret, error) {
	p := r.p
	if secret != nil && !metav1.IsControlledBy(secret, p) {
		reconcile.Set(r.p, v1alpha1.ConditionRegistered, false, "SecretNotOwned",
			fmt.Sprintf("the Secret %s exists and was not created for this resource; delete it, or set spec.bootstrap.generatedTokenSecretName", secret.Name))
		return nil, nil //nolint:nilnil // nil is a valid result
	}
	if secret != nil && len(secret.Data[tokenKey]) > 0 && secret.Annotations[annotationProxy] != "" {
		p.Status.Registered, p.Status.ProxyID = true, secret.Annotations[annotationProxy]
		reconcile.Set(r.p, v1alpha1.ConditionRegistered, true, "Ready", "the proxy is registered")
		return secret, apply.Object(ctx, r.Client, r.Live, Secret(p, p.Status.ProxyID, string(secret.Data[tokenKey])))
	}
	p.Status.Registered = false
	a, err := r.access(ctx)
	if err != nil {
		return nil, err
	}
	if a.Token == "" {
		reconcile.Set(r.p, v1alpha1.ConditionRegistered, false, "NoCredentials",
			fmt.Sprintf("the Secret %s has no token to register with", p.Spec.Bootstrap.CredentialsSecretRef.Name))
		r.again = min(r.again, r.Pace(30*time.Second))
		return nil, nil //nolint:nilnil // nil is a valid result
	}
	id, token, err := r.registration(ctx, a)
	if err != nil || token == "" {
		return nil, r.refused(err)
	}
	p.Status.ProxyID, p.Status.Registered = id, true
	reconcile.Set(r.p, v1alpha1.ConditionRegistered, true, "Ready", "the proxy is registered")
	made := Secret(p, id, token)
	return made, apply.Object(ctx, r.Client, r.Live, made)
}

// registering is the reason that records, before the server is called, that a
// proxy of the name will be ours.
const registering = "Registering"

// registration registers the proxy, or renews the token of a registered one.
func (r *pass) registration(ctx context.Context, a coderclient.Access) (id, token string, err error) {
	p, b := r.p, r.p.Spec.Bootstrap
	want := coderclient.Proxy{Name: b.ProxyName, DisplayName: b.DisplayName, IconURL: b.Icon}
	if want.Name == "" {
		want.Name = p.Name
	}
	all, err := r.Sites.Proxies(ctx, a)
	if err != nil {
		return "", "", err
	}
	condition := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionRegistered)
	claimed := condition != nil && condition.Reason == registering
	for _, have := range all {
		if have.Name != want.Name {
			continue
		}
		if have.ID.String() != p.Status.ProxyID && !claimed {
			reconcile.Set(r.p, v1alpha1.ConditionRegistered, false, "NameTaken",
				fmt.Sprintf("the server has a proxy %q that was not created for this resource; delete it there, or set spec.bootstrap.proxyName", want.Name))
			r.again = min(r.again, r.Pace(time.Minute))
			return "", "", nil
		}
		want.ID = have.ID
		token, err = r.Sites.NewProxyToken(ctx, a, want)
		return have.ID.String(), token, err
	}
	if !claimed {
		reconcile.Set(r.p, v1alpha1.ConditionRegistered, false, registering, fmt.Sprintf("registering the proxy %q", want.Name))
		r.again = time.Millisecond
		return "", "", nil
	}
	made, token, err := r.Sites.NewProxy(ctx, a, want)
	return made.String(), token, err
}

// refused records why a server does not register the proxy.
func (r *pass) refused(err error) error {
	if err == nil {
		return nil
	}
	reason, message := "Unreachable", err.Error()
	switch codersdk.CodeOf(err) {
	case codersdk.CodeNotFound:
		reason, message = "NotSupported", "the server does not support workspace proxies; use a server that does"
	case codersdk.CodeUnauthenticated, codersdk.CodeForbidden:
		reason = "CredentialsRefused"
	case codersdk.CodeInvalid, codersdk.CodeConflict:
		reason = "Refused"
	case codersdk.CodeRateLimited:
		reason = "RateLimited"
	}
	r.again = min(r.again, r.Pace(time.Minute))
	reconcile.Set(r.p, v1alpha1.ConditionRegistered, false, reason, message)
	return nil
}
