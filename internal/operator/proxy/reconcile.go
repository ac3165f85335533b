package proxy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/apply"
	"github.com/seed-2a7f8fe7/coder/internal/operator/remote"
	"github.com/seed-2a7f8fe7/coder/internal/operator/round"
	"github.com/seed-2a7f8fe7/coder/internal/operator/shape"
)

// Controller keeps proxies. It is safe for concurrent use.
type Controller struct{ round.Config }

// New makes a controller.
func New(c round.Config) *Controller { return &Controller{c.Complete()} }

// Start lets a manager run the controller.
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

// Reconcile is one round of one proxy.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &v1alpha1.CoderWorkspaceProxy{}
	if err := c.Client.Get(ctx, req.NamespacedName, p); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !p.DeletionTimestamp.IsZero() {
		return c.end(ctx, p)
	}
	if _, err := c.Hold(ctx, p, v1alpha1.FinalizerWorkspaceProxy); err != nil {
		return c.Finish(ctx, p, p, 0, err)
	}
	before := p.DeepCopy()
	r := &pass{Controller: c, p: p, again: c.Idle}
	err := r.run(ctx)
	return c.Finish(ctx, before, p, r.again, err)
}

// endPatience is how long the end of a resource waits for a server that does
// not answer.
const endPatience = 30 * time.Second

// end takes the registration back, and lets the resource go whatever comes of
// it.
func (c *Controller) end(ctx context.Context, p *v1alpha1.CoderWorkspaceProxy) (ctrl.Result, error) {
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
			log.FromContext(ctx).Info("left a workspace proxy at a server that could not be asked to delete it", "proxy", p.Status.ProxyID, "error", err)
		}
	}
	return ctrl.Result{}, c.LetGo(ctx, p, v1alpha1.FinalizerWorkspaceProxy)
}

// pass is one look at one proxy.
type pass struct {
	*Controller
	p     *v1alpha1.CoderWorkspaceProxy
	again time.Duration
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
		round.Set(r.p, v1alpha1.ConditionRegistered, true, "TokenGiven", "the specification names the proxy's token, so it is registered already")
	}
	if secret == nil || len(secret.Data[ref.Key]) == 0 {
		round.Set(r.p, v1alpha1.ConditionProxyTokenReady, false, "NoToken", fmt.Sprintf("the Secret %s has no token under the key %q yet", ref.Name, ref.Key))
		r.again = min(r.again, r.Pace(30*time.Second))
		return r.conclude(ctx)
	}
	round.Set(r.p, v1alpha1.ConditionProxyTokenReady, true, "Ready", "the token is in the Secret "+ref.Name)
	sum := sha256.Sum256(secret.Data[ref.Key])
	for _, o := range Objects(p, hex.EncodeToString(sum[:])) {
		err := apply.Object(ctx, r.Client, r.Live, o)
		if errors.Is(err, apply.ErrNotOurs) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
			round.Set(r.p, v1alpha1.ConditionDeploymentReady, false, "Refused", err.Error())
			r.again = r.Pace(time.Minute)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return r.conclude(ctx)
}

// conclude notes how the pods do.
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
		round.Set(r.p, v1alpha1.ConditionDeploymentReady, false, "NotMade", "there are no pods yet, as there is no token for them")
		return nil
	}
	pods, err := r.Pods(ctx, r.p.Namespace, shape.Selector(component, r.p.Name))
	if err != nil {
		return err
	}
	holds, reason, message := round.PodsReady(*d, pods)
	round.Set(r.p, v1alpha1.ConditionDeploymentReady, holds, reason, message)
	return nil
}

func (r *pass) secret(ctx context.Context, name string) (*corev1.Secret, error) {
	s := &corev1.Secret{}
	err := r.Read(ctx, r.p.Namespace, name, s)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // none is an answer
	}
	return s, err
}

// access is the server to register at; its token is "" while there is none.
func (r *pass) access(ctx context.Context) (remote.Access, error) {
	b := r.p.Spec.Bootstrap
	a := remote.Access{URL: b.CoderURL}
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

// register brings the registration and its token about, and gives the Secret
// with it; nil while there is none.
func (r *pass) register(ctx context.Context, secret *corev1.Secret) (*corev1.Secret, error) {
	p := r.p
	if secret != nil && !metav1.IsControlledBy(secret, p) {
		round.Set(r.p, v1alpha1.ConditionRegistered, false, "SecretNotOwned", fmt.Sprintf("the Secret %s exists and was not made for this resource; delete it, or name another in spec.bootstrap.generatedTokenSecretName", secret.Name))
		return nil, nil //nolint:nilnil // none is an answer
	}
	if secret != nil && len(secret.Data[tokenKey]) > 0 && secret.Annotations[annotationProxy] != "" {
		p.Status.Registered, p.Status.ProxyID = true, secret.Annotations[annotationProxy]
		round.Set(r.p, v1alpha1.ConditionRegistered, true, "Ready", "the server knows the proxy")
		return secret, apply.Object(ctx, r.Client, r.Live, Secret(p, p.Status.ProxyID, string(secret.Data[tokenKey])))
	}
	p.Status.Registered = false
	a, err := r.access(ctx)
	if err != nil {
		return nil, err
	}
	if a.Token == "" {
		round.Set(r.p, v1alpha1.ConditionRegistered, false, "NoCredentials", fmt.Sprintf("the Secret %s has no token to register with", p.Spec.Bootstrap.CredentialsSecretRef.Name))
		r.again = min(r.again, r.Pace(30*time.Second))
		return nil, nil //nolint:nilnil // none is an answer
	}
	id, token, err := r.registration(ctx, a)
	if err != nil || token == "" {
		return nil, r.refused(err)
	}
	p.Status.ProxyID, p.Status.Registered = id, true
	round.Set(r.p, v1alpha1.ConditionRegistered, true, "Ready", "the server knows the proxy")
	made := Secret(p, id, token)
	return made, apply.Object(ctx, r.Client, r.Live, made)
}

// registering is the reason that notes, before the server is asked, that a
// proxy of the name will be ours.
const registering = "Registering"

// registration registers the proxy, or gives one of ours a new token.
func (r *pass) registration(ctx context.Context, a remote.Access) (id, token string, err error) {
	p, b := r.p, r.p.Spec.Bootstrap
	want := remote.Proxy{Name: b.ProxyName, DisplayName: b.DisplayName, IconURL: b.Icon}
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
			round.Set(r.p, v1alpha1.ConditionRegistered, false, "NameTaken", fmt.Sprintf("the server has a proxy %q that was not made for this resource; delete it there, or name another in spec.bootstrap.proxyName", want.Name))
			r.again = min(r.again, r.Pace(time.Minute))
			return "", "", nil
		}
		want.ID = have.ID
		token, err = r.Sites.NewProxyToken(ctx, a, want)
		return have.ID.String(), token, err
	}
	if !claimed {
		round.Set(r.p, v1alpha1.ConditionRegistered, false, registering, fmt.Sprintf("registering the proxy %q", want.Name))
		r.again = time.Millisecond
		return "", "", nil
	}
	made, token, err := r.Sites.NewProxy(ctx, a, want)
	return made.String(), token, err
}

// refused notes why a server does not register the proxy.
func (r *pass) refused(err error) error {
	if err == nil {
		return nil
	}
	reason, message := "Unreachable", err.Error()
	switch coder.CodeOf(err) {
	case coder.CodeNotFound:
		reason, message = "NotSupported", "the server cannot register proxies; use one that can"
	case coder.CodeUnauthenticated, coder.CodeForbidden:
		reason = "CredentialsRefused"
	case coder.CodeInvalid, coder.CodeConflict:
		reason = "Refused"
	case coder.CodeRateLimited:
		reason = "RateLimited"
	}
	r.again = min(r.again, r.Pace(time.Minute))
	round.Set(r.p, v1alpha1.ConditionRegistered, false, reason, message)
	return nil
}
