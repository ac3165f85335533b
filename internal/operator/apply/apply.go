// Package apply brings objects of the cluster to what they should be, by
// server-side apply: fields that the operator does not set stay whoever's they
// are, and a field that it ceases to set goes away. What is as it should be
// costs no call, so that a resource at rest is quiet.
package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/internal/operator/shape"
)

// Manager is the field manager of everything the operator sets.
const Manager = "coder-operator"

// AnnotationHash is the hash of what was applied last.
const AnnotationHash = "coder.com/applied-hash"

// ErrNotOurs says that an object of the name is somebody else's.
var ErrNotOurs = errors.New("exists and was not made by the operator for this resource; it is left alone: delete it, or choose another name")

// Object brings one object to what it should be. It refuses, with ErrNotOurs,
// to touch one that is there and belongs to somebody else. live
// reads past the cache, for objects that the cache leaves out.
func Object(ctx context.Context, c client.Client, live client.Reader, want client.Object) error {
	u, hash, err := convert(want)
	if err != nil {
		return err
	}
	have := want.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of its original
	// Whose an object is that has been there for a moment is asked of the API
	// server's own cache, which costs it little.
	err = read(ctx, c, live, have, &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: "0"}})
	switch {
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

// read reads an object from the cache, and past it what the cache leaves out:
// what has not our label, and namespaces that the operator does not watch.
func read(ctx context.Context, c, live client.Reader, o client.Object, opts ...client.GetOption) error {
	key := client.ObjectKeyFromObject(o)
	err := c.Get(ctx, key, o)
	if err == nil || meta.IsNoMatchError(err) || live == c {
		return err
	}
	return live.Get(ctx, key, o, opts...)
}

// Ours says whether an object that is there was made for the resource that want
// is made for.
func Ours(have, want metav1.Object) bool {
	if refs := want.GetOwnerReferences(); len(refs) > 0 {
		for _, r := range have.GetOwnerReferences() {
			if r.UID == refs[0].UID {
				return true
			}
		}
		return false
	}
	uid := want.GetLabels()[shape.LabelOwner]
	return uid != "" && have.GetLabels()[shape.LabelOwner] == uid
}

// convert gives what is applied: the object without what only the cluster sets,
// with the hash of it.
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

// prune removes nulls, such as the creation time that every object of Go has.
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

// within says whether everything of want is in have, which may have more.
func within(want, have any) bool {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return len(w) == 0 && have == nil
		}
		for k, v := range w {
			if k == "apiVersion" || k == "kind" {
				continue // what is read from a cache may lack them
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
