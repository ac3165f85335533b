// Package apply applies objects with server-side apply. Fields that the
// operator does not set keep their owners, and fields that it no longer sets
// are removed. An object that already matches costs no API call, so a resource
// at rest causes no traffic.
package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
)

// Manager is the field manager of the operator.
const Manager = "coder-operator"

// AnnotationHash is the hash of the last applied object.
const AnnotationHash = "coder.com/applied-hash"

// ErrNotOurs reports that an object of the name belongs to another owner.
var ErrNotOurs = errors.New("exists and was not created by the operator for this resource; delete it, or choose another name")

// Object applies one object. It returns ErrNotOurs for an existing object of
// another owner. live reads past the cache, for objects that the cache leaves
// out.
func Object(ctx context.Context, c client.Client, live client.Reader, want client.Object) error {
	u, hash, err := convert(want)
	if err != nil {
		return err
	}
	have := want.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of its original
	// Read an object that is new to the cache from the API server's own cache,
	// which is cheap.
	err = read(ctx, c, live, have, &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: "0"}})
	switch {
	case apierrors.IsNotFound(err) && rights(want):
		err := c.Create(ctx, u, client.FieldOwner(Manager))
		if apierrors.IsAlreadyExists(err) {
			return apierrors.NewConflict(schema.GroupResource{Group: rbacv1.GroupName, Resource: u.GetKind()}, u.GetName(), err)
		}
		return err
	case apierrors.IsNotFound(err):
	case err != nil:
		return err
	case !Ours(have, want):
		return fmt.Errorf("%s %s %w", u.GetKind(), client.ObjectKeyFromObject(want), ErrNotOurs)
	case have.GetAnnotations()[AnnotationHash] == hash:
		m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(have)
		if err != nil {
			return err
		}
		if within(u.Object, m) {
			return nil
		}
	}
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(Manager), client.ForceOwnership)
}

// rights reports whether an object is a Role or a RoleBinding. Applying a new
// one takes the API server twice as long as creating it. The result is the same,
// because all its lists are replaced as a whole.
func rights(o client.Object) bool {
	switch o.(type) {
	case *rbacv1.Role, *rbacv1.RoleBinding:
		return true
	}
	return false
}

// Refused reports whether the API server does not accept an object, so that
// only a user can help: another owner has it, it is invalid or forbidden, or
// its kind or namespace does not exist.
func Refused(err error) bool {
	if errors.Is(err, ErrNotOurs) || meta.IsNoMatchError(err) {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	s := status.Status()
	switch s.Code {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	}
	// The API server reports a doubled entry of a list as an internal error.
	return s.Code >= 400 && s.Code < 500 || strings.Contains(s.Message, "failed to create typed patch object")
}

// Check returns the error that Object would return, and changes nothing.
func Check(ctx context.Context, c client.Client, want client.Object) error {
	u, _, err := convert(want)
	if err != nil {
		return err
	}
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(Manager), client.ForceOwnership, client.DryRunAll)
}

// read reads an object from the cache, or past it if the cache leaves it out:
// objects without the operator's label, and namespaces that it does not watch.
func read(ctx context.Context, c, live client.Reader, o client.Object, opts ...client.GetOption) error {
	key := client.ObjectKeyFromObject(o)
	err := c.Get(ctx, key, o)
	if err == nil || meta.IsNoMatchError(err) || live == c {
		return err
	}
	return live.Get(ctx, key, o, opts...)
}

// Ours reports whether an existing object was created for the resource that
// want belongs to.
func Ours(have, want metav1.Object) bool {
	if refs := want.GetOwnerReferences(); len(refs) > 0 {
		for _, r := range have.GetOwnerReferences() {
			if r.UID == refs[0].UID {
				return true
			}
		}
		return false
	}
	uid := want.GetLabels()[podspec.LabelOwner]
	return uid != "" && have.GetLabels()[podspec.LabelOwner] == uid
}

// convert returns the object to apply, with its hash and without fields that
// only the cluster sets.
func convert(want client.Object) (*unstructured.Unstructured, string, error) {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		return nil, "", err
	}
	delete(m, "status")
	prune(m)
	b, err := json.Marshal(m)
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(b)
	hash := hex.EncodeToString(sum[:8])
	u := &unstructured.Unstructured{Object: m}
	a := u.GetAnnotations()
	if a == nil {
		a = map[string]string{}
	}
	a[AnnotationHash] = hash
	u.SetAnnotations(a)
	return u, hash, nil
}

// prune removes null values, such as the creation time of every Go object.
func prune(m map[string]any) {
	for k, v := range m {
		switch v := v.(type) {
		case nil:
			delete(m, k)
		case map[string]any:
			prune(v)
			if len(v) == 0 && (k == "strategy" || k == "resources" || k == "metadata" || k == "status") {
				delete(m, k)
			}
		case []any:
			for _, e := range v {
				if e, ok := e.(map[string]any); ok {
					prune(e)
				}
			}
		}
	}
}

// within reports whether have contains everything in want.
func within(want, have any) bool {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return len(w) == 0 && have == nil
		}
		for k, v := range w {
			if k == "apiVersion" || k == "kind" {
				continue // objects from a cache may lack them
			}
			if !within(v, h[k]) {
				return false
			}
		}
		return true
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) != len(w) {
			return len(w) == 0 && have == nil
		}
		for i := range w {
			if !within(w[i], h[i]) {
				return false
			}
		}
		return true
	default:
		return reflect.DeepEqual(want, have)
	}
}
