package provisioner

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/apply"
	"github.com/seed-2a7f8fe7/coder/internal/operator/coderclient"
	"github.com/seed-2a7f8fe7/coder/internal/operator/reconcile"
)

// key carries out the decision about the key.
func (r *pass) key(ctx context.Context, d Decision) error {
	p := r.Provisioner
	if d.Key == KeyClaim {
		left, err := r.left(ctx)
		if err != nil {
			return err
		}
		d.Retire = append(d.Retire, left...)
		r.claim(d)
		// Record the key before it is created, so that after a crash between
		// the two it is known as ours.
		if err := r.Client.Status().Update(ctx, p); err != nil {
			return err
		}
		r.recorded = p.Status.ProvisionerKeyID
		d = Decide(r.Facts)
	}
	if d.Blocked {
		condition := v1alpha1.ConditionProvisionerKeyReady
		if d.Reason == "SecretNotOwned" {
			condition = v1alpha1.ConditionProvisionerKeySecretReady
			reconcile.Unknown(p, "the Secret", v1alpha1.ConditionProvisionerKeyReady)
		}
		reconcile.Set(p, condition, false, d.Reason, d.Message)
		r.again = min(r.again, r.Pace(staleAgain))
		return nil
	}
	switch d.Key {
	case KeyClaim: // the status contains the claim; it cannot be due again
		return reconcile.ErrOutdated
	case KeyCreate, KeyRotate:
		if stored, err := r.storable(ctx); !stored {
			return err
		}
		reconcile.Set(p, v1alpha1.ConditionProvisionerKeyReady, false, d.Reason, d.Message)
		if err := r.make(ctx, d); err != nil {
			return r.unstored(err)
		}
	case KeyKeep:
		if err := r.repairSecret(ctx); err != nil {
			return err
		}
	}
	reconcile.Set(p, v1alpha1.ConditionProvisionerKeyReady, true, "Ready", "the server has the key with the specified tags")
	reconcile.Set(p, v1alpha1.ConditionProvisionerKeySecretReady, true, "Ready", "the key is stored in the Secret "+SecretRef(p).Name)
	r.keyed = true
	return r.retire(ctx, d.Delete)
}

// storable reports whether a key can be stored. It asks the API server only
// after a refusal: every key that cannot be stored is one more at the server.
func (r *pass) storable(ctx context.Context) (bool, error) {
	p := r.Provisioner
	c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionProvisionerKeySecretReady)
	if c == nil || c.Reason != "Refused" {
		return true, nil
	}
	err := apply.Check(ctx, r.Client, Secret(p, "", codersdk.ProvisionerKey{}))
	if err != nil {
		return false, r.unstored(err)
	}
	return true, nil
}

// unstored records that the API server does not accept the Secret of the key.
// It returns other errors.
func (r *pass) unstored(err error) error {
	if !apply.Refused(err) {
		return err
	}
	reconcile.Set(r.Provisioner, v1alpha1.ConditionProvisionerKeySecretReady, false, "Refused", err.Error())
	r.again = min(r.again, r.Pace(time.Minute))
	return nil
}

// claim records the key that is, or will be, ours.
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
	if current := r.View.Current(KeyName(p)); current != nil && (current.ID.String() == r.KeyID() || retiring(r.Facts, *current)) {
		s.ProvisionerKeyID = current.ID.String()
		s.RetiringKeys = slices.DeleteFunc(s.RetiringKeys, func(k v1alpha1.RetiringKey) bool { return k.ID == s.ProvisionerKeyID })
	}
	reconcile.Set(p, v1alpha1.ConditionProvisionerKeyReady, false, d.Reason, d.Message)
}

// make creates a key and stores it.
func (r *pass) make(ctx context.Context, d Decision) error {
	p, replace := r.Provisioner, d.Key == KeyRotate
	secret, v, err := r.Sites.NewKey(ctx, r.Place(), *r.View, coderclient.KeyRequest{Name: KeyName(p), Tags: p.Spec.Tags, Replace: replace, Grace: grace})
	if !replace && codersdk.Is(err, codersdk.CodeConflict) {
		// Another client has just created a key of the name, which is not ours.
		p.Status.ProvisionerKeyName, p.Status.OrganizationID = "", ""
	}
	if err != nil {
		return err
	}
	r.View = &v
	k := *v.Current(KeyName(p))
	log.FromContext(ctx).Info("created a provisioner key", "key", k.Name, "id", k.ID, "replaces", replace)
	want := Secret(p, secret, k)
	if err := apply.Object(ctx, r.Client, r.Live, want); err != nil {
		return err
	}
	r.Secret = want
	r.noteKey(k)
	if replace {
		r.RecordEvent(p, corev1.EventTypeNormal, "KeyRotated", d.Reason,
			fmt.Sprintf("created a new key %q (%s); the old one stays valid until no pod uses it", k.Name, d.Message))
	} else {
		r.RecordEvent(p, corev1.EventTypeNormal, "KeyCreated", d.Reason, fmt.Sprintf("created the key %q in the organization %q", k.Name, r.View.Organization.Name))
	}
	return nil
}

// repairSecret repairs the Secret and the status of a valid key.
func (r *pass) repairSecret(ctx context.Context) error {
	p := r.Provisioner
	k := r.View.Current(KeyName(p))
	want := Secret(p, string(r.Secret.Data[SecretRef(p).Key]), *k)
	if err := apply.Object(ctx, r.Client, r.Live, want); err != nil {
		return err
	}
	r.noteKey(*k)
	return nil
}

func (r *pass) noteKey(k codersdk.ProvisionerKey) {
	s := &r.Provisioner.Status
	ref := SecretRef(r.Provisioner)
	s.ProvisionerKeyID, s.ProvisionerKeyName = k.ID.String(), KeyName(r.Provisioner)
	s.TagsHash, s.SecretRef = TagsHash(k.Tags), &ref
	s.OrganizationID, s.OrganizationName = r.View.Organization.ID.String(), r.View.Organization.Name
	s.ControlPlaneRefName, s.ControlPlaneURL = r.Provisioner.Spec.ControlPlaneRef.Name, r.ControlPlane.Status.URL
}
