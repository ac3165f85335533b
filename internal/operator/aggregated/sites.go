package aggregated

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/coderclient"
	"github.com/seed-2a7f8fe7/coder/internal/operator/reconcile"
)

// callTimeout bounds one call of a control plane. (OP-23)
const callTimeout = 30 * time.Second

// sites finds the control plane of a namespace. It is safe for concurrent use.
type sites struct {
	reconcile.Config // Client caches the control planes; Live reads everything else
	// namespaces are the watched namespaces; none means all.
	namespaces []string
}

// site is the control plane of one namespace.
type site struct {
	namespace, name string
	*codersdk.Client
}

// errNone reports that a namespace has no control plane, and so no objects.
var errNone = codersdk.Errorf(codersdk.CodeNotFound,
	"the namespace has no CoderControlPlane that the operator has access to; workspaces and templates are in the namespace of their control plane")

// eligible reports whether the operator may call a control plane.
func eligible(cp *v1alpha1.CoderControlPlane) bool {
	return cp.DeletionTimestamp.IsZero() && !cp.Spec.OperatorAccess.Disabled
}

// all returns the namespaces with a control plane, sorted.
func (s *sites) all(ctx context.Context) ([]string, error) {
	var list v1alpha1.CoderControlPlaneList
	if err := s.Client.List(ctx, &list); err != nil {
		return nil, err
	}
	var out []string
	for i := range list.Items {
		if eligible(&list.Items[i]) && s.looksAt(list.Items[i].Namespace) {
			out = append(out, list.Items[i].Namespace)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func (s *sites) looksAt(namespace string) bool {
	return len(s.namespaces) == 0 || slices.Contains(s.namespaces, namespace)
}

// of returns the control plane of a namespace. The error is errNone without
// one, CodeUnavailable while it cannot be called, and CodeConflict if there are
// several.
func (s *sites) of(ctx context.Context, namespace string) (*site, error) {
	if !s.looksAt(namespace) {
		return nil, errNone
	}
	n := &corev1.Namespace{}
	if err := s.Client.Get(ctx, client.ObjectKey{Name: namespace}, n); apierrors.IsNotFound(err) || err == nil && !n.DeletionTimestamp.IsZero() {
		return nil, errNone // see store.stays
	} else if err != nil {
		return nil, err
	}
	var list v1alpha1.CoderControlPlaneList
	if err := s.Client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(list.Items, func(cp v1alpha1.CoderControlPlane) bool { return !eligible(&cp) })
	switch {
	case len(found) == 0:
		return nil, errNone
	case len(found) > 1:
		var names []string
		for _, cp := range found {
			names = append(names, cp.Name)
		}
		return nil, codersdk.Errorf(codersdk.CodeConflict,
			"the namespace %s has several control planes (%s); keep one, or set operatorAccess.disabled on the others", namespace, strings.Join(names, ", "))
	}
	cp := &found[0]
	a, err := s.access(ctx, cp)
	if err != nil {
		return nil, err
	}
	c, err := s.Sites.Client(a)
	if err != nil {
		return nil, err
	}
	return &site{namespace: namespace, name: cp.Name, Client: c}, nil
}

func (s *sites) access(ctx context.Context, cp *v1alpha1.CoderControlPlane) (coderclient.Access, error) {
	ref := cp.Status.OperatorTokenSecretRef
	if ref == nil || cp.Status.URL == "" {
		return coderclient.Access{}, codersdk.Errorf(
			codersdk.CodeUnavailable,
			"the control plane %s/%s is not ready yet, so the operator has no access to it; check kubectl describe codercontrolplane -n %s %s",
			cp.Namespace,
			cp.Name,
			cp.Namespace,
			cp.Name,
		)
	}
	secret := &corev1.Secret{}
	if err := s.Live.Get(ctx, client.ObjectKey{Namespace: cp.Namespace, Name: ref.Name}, secret); apierrors.IsNotFound(err) {
		return coderclient.Access{}, codersdk.Errorf(codersdk.CodeUnavailable,
			"the Secret %s/%s with the operator's token for the control plane does not exist", cp.Namespace, ref.Name)
	} else if apierrors.IsForbidden(err) { // not the caller, who would take it for their own rights
		return coderclient.Access{}, codersdk.Errorf(codersdk.CodeUnavailable,
			"the operator has not granted the aggregated API server the Secret %s/%s yet; it does so when it runs with --aggregated-account", cp.Namespace, ref.Name)
	} else if err != nil {
		return coderclient.Access{}, fmt.Errorf("read the operator's token: %w", err)
	}
	key := ref.Key
	if key == "" {
		key = "token"
	}
	token := string(secret.Data[key])
	if token == "" {
		return coderclient.Access{}, codersdk.Errorf(codersdk.CodeUnavailable, "the Secret %s/%s has no token under its key %s", cp.Namespace, ref.Name, key)
	}
	authorities, err := s.Authorities(ctx, cp)
	return coderclient.Access{URL: cp.Status.URL, Token: token, Authorities: authorities}, err
}

// ask calls the control plane within the timeout of one call. A token that may
// not bypass the rate limit is used with the limit.
func (s *site) ask(ctx context.Context, call func(context.Context, *codersdk.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := call(ctx, s.Client)
	if codersdk.Is(err, codersdk.CodePrecondition) && s.Client.Header != nil {
		s.Client.Header = nil
		err = call(ctx, s.Client)
	}
	if err != nil {
		return &siteError{site: s, err: err}
	}
	return nil
}

// siteError is a failed call of a control plane.
type siteError struct {
	site *site
	err  error
}

func (e *siteError) Error() string {
	return fmt.Sprintf("control plane %s/%s: %s", e.site.namespace, e.site.name, e.err)
}

func (e *siteError) Unwrap() error { return e.err }
