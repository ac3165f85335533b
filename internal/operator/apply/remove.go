package apply

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/internal/operator/shape"
)

// Absent deletes an object that is there and was made for the resource that
// unwanted is made for. One of somebody else's stays.
func Absent(ctx context.Context, c client.Client, live client.Reader, unwanted client.Object) error {
	have := unwanted.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of its original
	if len(unwanted.GetOwnerReferences()) > 0 {
		live = c // what we made in the owner's namespace is in the cache
	}
	err := read(ctx, c, live, have)
	if err == nil && Ours(have, unwanted) {
		uid := have.GetUID()
		err = c.Delete(ctx, have, client.Preconditions{UID: &uid})
	}
	if meta.IsNoMatchError(err) {
		return nil // there is no such kind, and so no such object
	}
	return client.IgnoreNotFound(err)
}

// DropRights deletes the roles and bindings that an owner has in other
// namespaces.
func DropRights(ctx context.Context, c client.Client, live client.Reader, o shape.Owner, name string, namespaces []string) error {
	for _, ns := range namespaces {
		if ns == o.Namespace {
			continue
		}
		m := o.Remote(shape.Name(name, o.Namespace), ns, nil)
		for _, obj := range []client.Object{&rbacv1.RoleBinding{ObjectMeta: m}, &rbacv1.Role{ObjectMeta: m}} {
			if err := Absent(ctx, c, live, obj); err != nil {
				return err
			}
		}
	}
	return nil
}

// DropOwnRights deletes the role and binding that an owner has in its own
// namespace.
func DropOwnRights(ctx context.Context, c client.Client, live client.Reader, o shape.Owner, name string) error {
	m := o.Meta(name, nil)
	for _, obj := range []client.Object{&rbacv1.RoleBinding{ObjectMeta: m}, &rbacv1.Role{ObjectMeta: m}} {
		if err := Absent(ctx, c, live, obj); err != nil {
			return err
		}
	}
	return nil
}
