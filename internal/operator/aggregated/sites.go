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

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	coderclient "github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/operator/remote"
	"github.com/seed-2a7f8fe7/coder/internal/operator/round"
)

// callTimeout bounds one call of a control plane. (OP-23)
const callTimeout = 30 * time.Second

// sites finds the control plane of a namespace. It is safe for concurrent use.
type sites struct {
	round.Config // Client has the control planes in memory; Live reads all else
	// namespaces are those that are looked at; none is all.
	namespaces []string
}

// site is the control plane of one namespace.
type site struct {
	namespace, name string
	*coderclient.Client
}

// errNone says that a namespace has no control plane, and so no objects.
var errNone = coder.Errorf(coder.CodeNotFound, "the namespace has no CoderControlPlane that the operator speaks to: workspaces and templates are in the namespace of their control plane")

// eligible says whether the operator speaks to a control plane.
func eligible(cp *v1alpha1.CoderControlPlane) bool {
	return cp.DeletionTimestamp.IsZero() && !cp.Spec.OperatorAccess.Disabled
}

// all gives the namespaces that have a control plane, sorted.
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

// of gives the control plane of a namespace. It is errNone when there is none,
// coder.CodeUnavailable while it cannot be spoken to, and coder.CodeConflict when
// there are several, as nothing says which of them is meant.
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
		return nil, coder.Errorf(coder.CodeConflict, "the namespace %s has several control planes (%s): keep one, or set operatorAccess.disabled on the others", namespace, strings.Join(names, ", "))
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

func (s *sites) access(ctx context.Context, cp *v1alpha1.CoderControlPlane) (remote.Access, error) {
	ref := cp.Status.OperatorTokenSecretRef
	if ref == nil || cp.Status.URL == "" {
		return remote.Access{}, coder.Errorf(coder.CodeUnavailable, "the control plane %s/%s is not ready yet: the operator has no access to it; see kubectl describe codercontrolplane -n %s %s", cp.Namespace, cp.Name, cp.Namespace, cp.Name)
	}
	secret := &corev1.Secret{}
	if err := s.Live.Get(ctx, client.ObjectKey{Namespace: cp.Namespace, Name: ref.Name}, secret); apierrors.IsNotFound(err) {
		return remote.Access{}, coder.Errorf(coder.CodeUnavailable, "the Secret %s/%s with the operator's token of the control plane is not there", cp.Namespace, ref.Name)
	} else if err != nil {
		return remote.Access{}, fmt.Errorf("read the operator's token: %w", err)
	}
	key := ref.Key
	if key == "" {
		key = "token"
	}
	token := string(secret.Data[key])
	if token == "" {
		return remote.Access{}, coder.Errorf(coder.CodeUnavailable, "the Secret %s/%s has no token under its key %s", cp.Namespace, ref.Name, key)
	}
	authorities, err := s.Authorities(ctx, cp)
	return remote.Access{URL: cp.Status.URL, Token: token, Authorities: authorities}, err
}

// ask speaks to the control plane, for as long as one call may take. A token
// that may not ask for no limit of its rate is used with the limit.
func (s *site) ask(ctx context.Context, call func(context.Context, *coderclient.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := call(ctx, s.Client)
	if coder.Is(err, coder.CodePrecondition) && s.Client.Header != nil {
		s.Client.Header = nil
		err = call(ctx, s.Client)
	}
	if err != nil {
		return &siteError{site: s, err: err}
	}
	return nil
}

// siteError is a failure to do something at a control plane.
type siteError struct {
	site *site
	err  error
}

func (e *siteError) Error() string {
	return fmt.Sprintf("control plane %s/%s: %s", e.site.namespace, e.site.name, e.err)
}

func (e *siteError) Unwrap() error { return e.err }
