package provisioner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/apply"
	"github.com/seed-2a7f8fe7/coder/internal/operator/remote"
	"github.com/seed-2a7f8fe7/coder/internal/operator/round"
	"github.com/seed-2a7f8fe7/coder/internal/operator/shape"
)

// key does what was decided about the key.
func (r *pass) key(ctx context.Context, d Decision) error {
	p := r.Provisioner
	if d.Key == KeyClaim {
		r.claim(d)
		// Whose key it will be is noted before it is made, so that a crash between
		// the two cannot make it look like somebody else's.
		if err := r.Client.Status().Update(ctx, p); err != nil {
			return err
		}
		d = Decide(r.Facts)
	}
	if d.Blocked {
		condition := v1alpha1.ConditionProvisionerKeyReady
		if d.Reason == "SecretNotOwned" {
			condition = v1alpha1.ConditionProvisionerKeySecretReady
			round.Unknown(p, "the Secret", v1alpha1.ConditionProvisionerKeyReady)
		}
		round.Set(p, condition, false, d.Reason, d.Message)
		r.again = min(r.again, r.Pace(staleAgain))
		return nil
	}
	switch d.Key {
	case KeyClaim: // the claim is to be seen in the status; it cannot be due again
		return round.ErrOutdated
	case KeyCreate, KeyRotate:
		round.Set(p, v1alpha1.ConditionProvisionerKeyReady, false, d.Reason, d.Message)
		if err := r.make(ctx, d); err != nil {
			return err
		}
	case KeyKeep:
		if err := r.keep(ctx); err != nil {
			return err
		}
	}
	round.Set(p, v1alpha1.ConditionProvisionerKeyReady, true, "Ready", "the server has the key, with the tags of the specification")
	round.Set(p, v1alpha1.ConditionProvisionerKeySecretReady, true, "Ready", "the key is in the Secret "+SecretRef(p).Name)
	return r.retire(ctx, d.Delete)
}

// claim notes whose key is ours, or will be.
func (r *pass) claim(d Decision) {
	p := r.Provisioner
	s := &p.Status
	for _, k := range d.Retire {
		if !slices.ContainsFunc(s.RetiringKeys, func(o v1alpha1.RetiringKey) bool { return o.ID == k.ID }) {
			s.RetiringKeys = append(s.RetiringKeys, k)
		}
	}
	s.OrganizationID, s.OrganizationName = r.View.Organization.ID.String(), r.View.Organization.Name
	s.ProvisionerKeyName, s.ProvisionerKeyID = KeyName(p), ""
	s.ControlPlaneRefName, s.ControlPlaneURL = p.Spec.ControlPlaneRef.Name, r.ControlPlane.Status.URL
	if current := r.View.Current(KeyName(p)); current != nil && current.ID.String() == r.KeyID() {
		s.ProvisionerKeyID = r.KeyID()
	}
	round.Set(p, v1alpha1.ConditionProvisionerKeyReady, false, d.Reason, d.Message)
}

// make makes a key and stores it.
func (r *pass) make(ctx context.Context, d Decision) error {
	p, replace := r.Provisioner, d.Key == KeyRotate
	secret, v, err := r.Sites.NewKey(ctx, r.Place(), *r.View, KeyName(p), p.Spec.Tags, replace, grace)
	if !replace && coder.Is(err, coder.CodeConflict) {
		// Somebody else has just made one of the name, which is not ours to take.
		p.Status.ProvisionerKeyName, p.Status.OrganizationID = "", ""
	}
	if err != nil {
		return err
	}
	r.View = &v
	k := *v.Current(KeyName(p))
	log.FromContext(ctx).Info("made a provisioner key", "key", k.Name, "id", k.ID, "replaces", replace)
	want := Secret(p, secret, k)
	if err := apply.Object(ctx, r.Client, r.Live, want); err != nil {
		return err
	}
	r.Secret = want
	r.noteKey(k)
	if replace {
		r.Tell(p, corev1.EventTypeNormal, "KeyRotated", d.Reason, fmt.Sprintf("made a new key %q (%s); the old one stays good until no pod has it", k.Name, d.Message))
	} else {
		r.Tell(p, corev1.EventTypeNormal, "KeyCreated", d.Reason, fmt.Sprintf("made the key %q in the organization %q", k.Name, r.View.Organization.Name))
	}
	return nil
}

// keep heals what is around a key that is as it should be.
func (r *pass) keep(ctx context.Context) error {
	p := r.Provisioner
	k := r.View.Current(KeyName(p))
	want := Secret(p, string(r.Secret.Data[SecretRef(p).Key]), *k)
	if err := apply.Object(ctx, r.Client, r.Live, want); err != nil {
		return err
	}
	r.noteKey(*k)
	return nil
}

func (r *pass) noteKey(k coder.ProvisionerKey) {
	s := &r.Provisioner.Status
	ref := SecretRef(r.Provisioner)
	s.ProvisionerKeyID, s.ProvisionerKeyName = k.ID.String(), KeyName(r.Provisioner)
	s.TagsHash, s.SecretRef = TagsHash(k.Tags), &ref
	s.OrganizationID, s.OrganizationName = r.View.Organization.ID.String(), r.View.Organization.Name
	s.ControlPlaneRefName, s.ControlPlaneURL = r.Provisioner.Spec.ControlPlaneRef.Name, r.ControlPlane.Status.URL
}

// retire deletes keys that nobody has any more.
func (r *pass) retire(ctx context.Context, keys []v1alpha1.RetiringKey) error {
	s := &r.Provisioner.Status
	for _, k := range keys {
		a := r.Access()
		if k.ControlPlaneURL != "" {
			a.URL = k.ControlPlaneURL
		}
		err := r.Sites.DeleteKey(ctx, a, k.OrganizationID, k.ID)
		if err != nil && a.URL == r.Access().URL && !coder.Is(err, coder.CodeForbidden) {
			return err
		}
		// A server that the pool has left may be gone, and its keys with it.
		log.FromContext(ctx).Info("deleted a provisioner key that nobody has any more", "key", k.Name, "id", k.ID, "error", err)
		r.Tell(r.Provisioner, corev1.EventTypeNormal, "KeyDeleted", "Retire", fmt.Sprintf("deleted a replaced key %q, which nobody has any more", k.Name))
		s.RetiringKeys = slices.DeleteFunc(s.RetiringKeys, func(o v1alpha1.RetiringKey) bool { return o.ID == k.ID })
	}
	if len(keys) > 0 {
		r.Sites.Forget(r.Place())
	}
	if len(s.RetiringKeys) > 0 || len(r.View.Replaced(KeyName(r.Provisioner))) > len(keys) {
		r.again = min(r.again, r.Pace(busyAgain))
	}
	if len(s.RetiringKeys) == 0 {
		s.RetiringKeys = nil
	}
	return nil
}

// endPatience is how long the end of a resource waits for a server that does
// not answer.
const endPatience = 30 * time.Second

// end takes back what the resource made beyond its namespace, and lets it go.
// Keys at a server that does not answer are left behind after a while.
func (c *Controller) end(ctx context.Context, p *v1alpha1.CoderProvisioner) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(p, v1alpha1.FinalizerProvisionerKey) {
		return ctrl.Result{}, nil
	}
	f, err := c.gather(ctx, p)
	if err != nil && !apierrors.IsForbidden(err) {
		return ctrl.Result{}, err
	}
	r := &pass{Controller: c, Facts: f}
	if err := r.dropAllRights(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.deleteKeys(ctx); err != nil {
		ns := &corev1.Namespace{}
		ending := c.Live.Get(ctx, client.ObjectKey{Name: p.Namespace}, ns) != nil || !ns.DeletionTimestamp.IsZero()
		if !ending && c.Now().Sub(p.DeletionTimestamp.Time) < endPatience {
			return ctrl.Result{RequeueAfter: c.Pace(c.backoff.next(client.ObjectKeyFromObject(p)))}, nil
		}
		log.FromContext(ctx).Info("left provisioner keys at a server that could not be asked to delete them", "key", p.Status.ProvisionerKeyName, "error", err)
		c.Tell(p, corev1.EventTypeWarning, "KeysLeft", "Finalize", fmt.Sprintf("left the key %q at the server, which could not be asked to delete it; delete it there: %v", p.Status.ProvisionerKeyName, err))
	}
	c.backoff.forget(client.ObjectKeyFromObject(p))
	if err := c.LetGo(ctx, p, v1alpha1.FinalizerProvisionerKey); err != nil {
		return c.Finish(ctx, p, p, 0, err)
	}
	return ctrl.Result{}, nil
}

// deleteKeys deletes the resource's keys at the server, by what the status
// notes. Without a server or a token there is nobody to ask, which is no error.
func (r *pass) deleteKeys(ctx context.Context) error {
	s := r.Provisioner.Status
	a := r.Access()
	if a.URL == "" || a.Token == "" {
		a = r.lastAccess(a)
	}
	if a.URL == "" || a.Token == "" || s.OrganizationID == "" {
		return nil
	}
	var failed error
	for _, k := range s.RetiringKeys {
		failed = errors.Join(failed, r.Sites.DeleteKey(ctx, a, k.OrganizationID, k.ID))
	}
	if s.ProvisionerKeyID != "" {
		// By its name: that ends those that it replaced too.
		failed = errors.Join(failed, r.Sites.DeleteKey(ctx, a, s.OrganizationID, s.ProvisionerKeyName))
	}
	r.Sites.Forget(remote.Place{Access: a, Organization: r.Place().Organization})
	return failed
}

func (r *pass) lastAccess(a remote.Access) remote.Access {
	if a.URL == "" {
		a.URL = r.Provisioner.Status.ControlPlaneURL
	}
	if a.Token == "" {
		a.Token = r.Sites.Token(a.URL)
	}
	return a
}

// dropRights deletes roles in namespaces that the specification names no more.
func (r *pass) dropRights(ctx context.Context) error {
	want := Namespaces(r.Provisioner)
	gone := slices.DeleteFunc(slices.Clone(r.Provisioner.Status.WorkspaceNamespaces), func(n string) bool { return slices.Contains(want, n) })
	r.Provisioner.Status.WorkspaceNamespaces = want
	if len(shape.Rules(r.Provisioner.Spec.RBAC)) == 0 {
		gone = append(gone, want...)
		if err := apply.DropOwnRights(ctx, r.Client, r.Live, shape.OwnerOf(Kind, r.Provisioner), Name(r.Provisioner)); err != nil {
			return err
		}
	}
	return r.dropIn(ctx, gone)
}

func (r *pass) dropAllRights(ctx context.Context) error {
	return r.dropIn(ctx, append(slices.Clone(r.Provisioner.Status.WorkspaceNamespaces), Namespaces(r.Provisioner)...))
}

func (r *pass) dropIn(ctx context.Context, namespaces []string) error {
	return apply.DropRights(ctx, r.Client, r.Live, shape.OwnerOf(Kind, r.Provisioner), Name(r.Provisioner), namespaces)
}
