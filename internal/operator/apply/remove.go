package apply

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
)

// Absent deletes an existing object that was created for the resource that
// unwanted belongs to. Objects of other owners stay.
func Absent(ctx context.Context, c client.Client, live client.Reader, unwanted client.Object) error {
	have := unwanted.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of its original
	if len(unwanted.GetOwnerReferences()) > 0 {
		live = c // objects in the owner's namespace are in the cache
	}
	err := read(ctx, c, live, have)
	if err == nil && Ours(have, unwanted) {
		uid := have.GetUID()
		err = c.Delete(ctx, have, client.Preconditions{UID: &uid})
	}
	if meta.IsNoMatchError(err) {
		return nil // the cluster does not have the kind
	}
	return client.IgnoreNotFound(err)
}

// DropRights deletes the Roles and RoleBindings of an owner in other
// namespaces.
func DropRights(ctx context.Context, c client.Client, live client.Reader, o podspec.Owner, name string, namespaces []string) error {
	for _, ns := range namespaces {
		if ns == o.Namespace {
			continue
		}
		m := o.Remote(podspec.Name(name, o.Namespace), ns, nil)
		for _, obj := range []client.Object{&rbacv1.RoleBinding{ObjectMeta: m}, &rbacv1.Role{ObjectMeta: m}} {
			if err := Absent(ctx, c, live, obj); err != nil {
				return err
			}
		}
	}
	return nil
}

// DropOwnRights deletes the Role and RoleBinding of an owner in its own
// namespace.
func DropOwnRights(ctx context.Context, c client.Client, live client.Reader, o podspec.Owner, name string) error {
	m := o.Meta(name, nil)
	for _, obj := range []client.Object{&rbacv1.RoleBinding{ObjectMeta: m}, &rbacv1.Role{ObjectMeta: m}} {
		if err := Absent(ctx, c, live, obj); err != nil {
			return err
		}
	}
	return nil
}

// DropAccounts deletes the ServiceAccounts with the selector's labels that were
// created for an owner, except those to keep.
func DropAccounts(ctx context.Context, c client.Client, o podspec.Owner, selector map[string]string, keep []string) error {
	var all corev1.ServiceAccountList
	if err := c.List(ctx, &all, client.InNamespace(o.Namespace), client.MatchingLabels(selector)); err != nil {
		return err
	}
	for i := range all.Items {
		name := all.Items[i].Name
		if slices.Contains(keep, name) {
			continue
		}
		if err := Absent(ctx, c, c, &corev1.ServiceAccount{ObjectMeta: o.Meta(name, nil)}); err != nil {
			return err
		}
	}
	return nil
}
