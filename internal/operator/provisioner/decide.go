package provisioner

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// KeyAction is what to do about the key.
type KeyAction int

// The actions.
const (
	KeyKeep   KeyAction = iota // the key is valid, or nothing can be done
	KeyClaim                   // record in the status that a key of this name will be ours
	KeyCreate                  // create the key
	KeyRotate                  // create a new key beside it
)

// String returns the name of the action.
func (a KeyAction) String() string {
	return [...]string{"keep", "claim", "create", "rotate"}[a]
}

// Decision is what a reconciliation does about the key, and why.
type Decision struct {
	Key     KeyAction
	Reason  string // a condition's reason
	Message string
	// Blocked reports that a user must change something first.
	Blocked bool
	// Retire are keys to delete later.
	Retire []v1alpha1.RetiringKey
	// Delete are keys that nothing uses.
	Delete []v1alpha1.RetiringKey
}

// Decide decides about the key of a pool whose server was reached.
func Decide(f Facts) Decision {
	if f.Secret != nil && !f.SecretIsOurs() {
		return Decision{Blocked: true, Reason: "SecretNotOwned", Message: fmt.Sprintf(
			"the Secret %s exists and was not created for this resource; delete it, or set spec.key.secretName", f.Secret.Name)}
	}
	d := decideKey(f)
	if d.Key == KeyClaim {
		d.Retire = retired(f)
	}
	d.Delete = deletable(f)
	return d
}

func decideKey(f Facts) Decision {
	p, name := f.Provisioner, KeyName(f.Provisioner)
	current := f.View.Current(name)
	claimed := claims(f)
	switch {
	case current == nil && !claimed:
		return Decision{Key: KeyClaim, Reason: "Creating", Message: fmt.Sprintf("creating the key %q", name)}
	case current == nil && p.Status.ProvisionerKeyID != "":
		// The claim drops the id of the missing key: a key that exists after a
		// crash is the one that was created.
		return Decision{Key: KeyClaim, Reason: "Recreating", Message: fmt.Sprintf("the key %q no longer exists at the server; creating it again", name)}
	case current == nil:
		return Decision{Key: KeyCreate, Reason: "Creating", Message: fmt.Sprintf("creating the key %q", name)}
	case current.ID.String() == f.KeyID() && !claimed:
		// The Secret proves that the key is ours although the status was lost.
		return Decision{Key: KeyClaim, Reason: "Ready", Message: fmt.Sprintf("the key %q is ours", name)}
	case !claimed && retiring(f, *current):
		return Decision{Key: KeyClaim, Reason: "Ready", Message: fmt.Sprintf("the key %q is ours again", name)}
	case !claimed, foreign(f, *current):
		return Decision{Blocked: true, Reason: "KeyNameTaken", Message: fmt.Sprintf(
			"the organization has a key %q that was not created for this resource; delete it, or set spec.key.name", name)}
	case f.KeyID() == "":
		return Decision{Key: KeyRotate, Reason: "SecretLost", Message: "the Secret with the key no longer exists; creating a new key"}
	case current.ID.String() != f.KeyID():
		return Decision{Key: KeyRotate, Reason: "SecretOutdated", Message: "the Secret contains an older key than the server; creating a new one"}
	case TagsHash(current.Tags) != TagsHash(p.Spec.Tags):
		return Decision{Key: KeyRotate, Reason: "TagsChanged", Message: "the tags changed; creating a new key"}
	}
	return Decision{Key: KeyKeep, Reason: "Ready", Message: fmt.Sprintf("the key %q is in use", name)}
}

// claims reports whether the status records the specified key as ours, at this
// server and in this organization.
func claims(f Facts) bool {
	s := f.Provisioner.Status
	return s.ProvisionerKeyName == KeyName(f.Provisioner) && s.OrganizationID == f.View.Organization.ID.String() &&
		s.ControlPlaneRefName == f.Provisioner.Spec.ControlPlaneRef.Name
}

// foreign reports whether a key of our name is not ours: it is neither the
// recorded key, nor the one in the Secret, nor a replacement of ours.
func foreign(f Facts, current codersdk.ProvisionerKey) bool {
	ours := f.Provisioner.Status.ProvisionerKeyID
	if ours == "" || current.ID.String() == ours || current.ID.String() == f.KeyID() {
		return false
	}
	return !slices.ContainsFunc(f.View.Replaced(current.Name), func(k codersdk.ProvisionerKey) bool { return k.ID.String() == ours })
}

// retiring reports whether a key is recorded as one that the pool has left.
func retiring(f Facts, k codersdk.ProvisionerKey) bool {
	return slices.ContainsFunc(f.Provisioner.Status.RetiringKeys, func(r v1alpha1.RetiringKey) bool { return r.ID == k.ID.String() })
}

// retired returns the recorded key if it is no longer the specified one.
func retired(f Facts) []v1alpha1.RetiringKey {
	s := f.Provisioner.Status
	if s.ProvisionerKeyID == "" || claims(f) {
		return nil
	}
	return []v1alpha1.RetiringKey{{
		ID: s.ProvisionerKeyID, Name: s.ProvisionerKeyName, OrganizationID: s.OrganizationID, ControlPlaneURL: s.ControlPlaneURL,
		ControlPlaneRefName: s.ControlPlaneRefName,
	}}
}

// manyRetiring is the number of retiring keys from which unused ones are deleted
// before the pods have the new key: the status has room for 32.
const manyRetiring = 16

// deletable returns the replaced keys that no pod and no provisioner uses, once
// the pods have the new key.
func deletable(f Facts) []v1alpha1.RetiringKey {
	if f.KeyID() == "" || !rolled(f) && len(f.Provisioner.Status.RetiringKeys) < manyRetiring {
		return nil
	}
	candidates := slices.Clone(f.Provisioner.Status.RetiringKeys)
	if claims(f) {
		for _, k := range f.View.Replaced(KeyName(f.Provisioner)) {
			candidates = append(candidates, v1alpha1.RetiringKey{
				ID:              k.ID.String(),
				Name:            k.Name,
				OrganizationID:  f.View.Organization.ID.String(),
				ControlPlaneURL: f.ControlPlane.Status.URL, ControlPlaneRefName: f.ControlPlane.Name,
			})
		}
	}
	return slices.DeleteFunc(candidates, func(k v1alpha1.RetiringKey) bool {
		return k.ID == f.KeyID() || inUse(f, k.ID)
	})
}

// rolled reports whether all desired pods are ready and use the key in the
// Secret.
func rolled(f Facts) bool {
	d := f.Deployment
	if d == nil || d.Spec.Template.Annotations[AnnotationKeyID] != f.KeyID() || d.Status.ObservedGeneration < d.Generation {
		return false
	}
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	return d.Status.UpdatedReplicas >= want && d.Status.ReadyReplicas >= want && d.Status.Replicas <= d.Status.UpdatedReplicas
}

// inUse reports whether a pod, even a terminating one, was created for the key,
// or a provisioner is connected with it.
func inUse(f Facts, key string) bool {
	if slices.ContainsFunc(f.Pods, func(p corev1.Pod) bool { return p.Annotations[AnnotationKeyID] == key }) {
		return true
	}
	id, err := uuid.Parse(key)
	return err == nil && f.View != nil && len(f.View.Connected(id)) > 0
}

const organizationNotFound = "OrganizationNotFound"

// Trouble maps a failure of the server to the condition that it belongs to, its
// reason, and the time until the next attempt. Zero means back-off.
func Trouble(err error) (condition, reason string, again time.Duration) {
	switch codersdk.CodeOf(err) {
	case codersdk.CodeRateLimited:
		return v1alpha1.ConditionControlPlaneReady, "RateLimited", 0
	case codersdk.CodeUnauthenticated:
		return v1alpha1.ConditionOperatorAccessReady, "TokenRefused", 15 * time.Second
	case codersdk.CodeForbidden:
		return v1alpha1.ConditionOperatorAccessReady, "Forbidden", time.Minute
	case codersdk.CodeNotFound:
		return v1alpha1.ConditionProvisionerKeyReady, organizationNotFound, 2 * time.Minute
	case codersdk.CodeInvalid, codersdk.CodeTooLarge, codersdk.CodePrecondition:
		return v1alpha1.ConditionProvisionerKeyReady, "Refused", 10 * time.Minute
	case codersdk.CodeConflict:
		return v1alpha1.ConditionProvisionerKeyReady, "Conflict", time.Minute
	}
	return v1alpha1.ConditionControlPlaneReady, "Unreachable", 0
}
