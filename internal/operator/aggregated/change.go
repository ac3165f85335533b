package aggregated

import (
	"context"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/aggregation/v1alpha1"
)

// update is the input of an Update.
type update struct {
	info      rest.UpdatedObjectInfo
	create    rest.ValidateObjectFunc
	validate  rest.ValidateObjectUpdateFunc
	mayCreate bool
	options   *metav1.UpdateOptions
}

// wanted returns the object that an update produces from the current one; found
// is the error if there is none. If the update may create the object, create
// does so and made is not nil. An update must name the version that it is based
// on, so that users do not overwrite unseen changes. (OP-21)
func wanted[T object](ctx context.Context, s *store, now T, found error, u update,
	create func(context.Context, runtime.Object, rest.ValidateObjectFunc, *metav1.CreateOptions) (runtime.Object, error),
) (want T, made runtime.Object, err error) {
	if apierrors.IsNotFound(found) && u.mayCreate {
		o, err := u.info.UpdatedObject(ctx, s.New())
		if err != nil {
			return want, nil, err
		}
		made, err = create(ctx, o, u.create, &metav1.CreateOptions{DryRun: dryRun(u.options)})
		return want, made, err
	}
	if found != nil {
		return want, nil, found
	}
	o, err := u.info.UpdatedObject(ctx, now.DeepCopyObject())
	if err != nil {
		return want, nil, err
	}
	want, ok := o.(T)
	if !ok {
		return want, nil, apierrors.NewBadRequest("the object is not a " + s.kind)
	}
	return want, nil, s.updatable(ctx, want, now, u)
}

// updatable checks an update by its metadata.
func (s *store) updatable(ctx context.Context, want, now object, u update) error {
	if p := u.info.Preconditions(); p != nil {
		if err := s.precondition(now, p.UID, p.ResourceVersion); err != nil {
			return err
		}
	}
	switch want.GetResourceVersion() {
	case now.GetResourceVersion():
	case "":
		return apierrors.NewInvalid(v1alpha1.GroupVersion().WithKind(s.kind).GroupKind(), now.GetName(), field.ErrorList{
			field.Required(field.NewPath("metadata", "resourceVersion"), "an update must contain the resourceVersion that it is based on"),
		})
	default:
		return apierrors.NewConflict(s.GroupResource, now.GetName(), errOutdated)
	}
	if want.GetUID() != "" && want.GetUID() != now.GetUID() {
		return apierrors.NewConflict(s.GroupResource, now.GetName(), errOutdated)
	}
	if u.validate != nil {
		if err := u.validate(ctx, want.DeepCopyObject(), now.DeepCopyObject()); err != nil {
			return err
		}
	}
	unkept(ctx, want, now)
	return nil
}

// errOutdated reports that an object changed since the client read it.
var errOutdated = outdated{}

type outdated struct{}

func (outdated) Error() string {
	return "the object has been modified; please apply your changes to the latest version and try again"
}

func (s *store) precondition(now object, uid *types.UID, version *string) error {
	if uid != nil && *uid != now.GetUID() || version != nil && *version != now.GetResourceVersion() {
		return apierrors.NewConflict(s.GroupResource, now.GetName(), errOutdated)
	}
	return nil
}

// deletable checks a deletion.
func (s *store) deletable(ctx context.Context, now object, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) error {
	if options != nil && options.Preconditions != nil {
		if err := s.precondition(now, options.Preconditions.UID, options.Preconditions.ResourceVersion); err != nil {
			return err
		}
	}
	if validate == nil {
		return nil
	}
	return validate(ctx, now.DeepCopyObject())
}

// stays refuses deletions in a terminating namespace. Kubernetes then deletes
// all objects in it, and users' workspaces must not be deleted because of where
// they are shown.
func (s *store) stays(ctx context.Context, name string) error {
	n := &corev1.Namespace{}
	err := s.sites.Live.Get(ctx, client.ObjectKey{Name: genericapirequest.NamespaceValue(ctx)}, n)
	if apierrors.IsNotFound(err) || err == nil && !n.DeletionTimestamp.IsZero() {
		return apierrors.NewNotFound(s.GroupResource, name)
	}
	return err
}

func dryRun(o *metav1.UpdateOptions) []string {
	if o == nil {
		return nil
	}
	return o.DryRun
}

// note logs which user changes what: the control plane's audit log knows only
// the operator.
func (s *store) note(ctx context.Context, verb, namespace, name string) {
	who := ""
	if u, ok := genericapirequest.UserFrom(ctx); ok {
		who = u.GetName()
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "changed through Kubernetes", slog.String("verb", verb), slog.String("resource", s.Resource),
		slog.String("namespace", namespace), slog.String("name", name), slog.String("user", who))
}
