package provisioner

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
)

// KeyAction is what has to be done about the key.
type KeyAction int

// The actions.
const (
	KeyKeep   KeyAction = iota // it is as it should be, or nothing can be done
	KeyClaim                   // note in the status that a key of this name will be ours
	KeyCreate                  // make it
	KeyRotate                  // make a new one beside it
)

// String names the action.
func (a KeyAction) String() string {
	return [...]string{"keep", "claim", "create", "rotate"}[a]
}

// Decision is what a round does about the key, with the reason it gives.
type Decision struct {
	Key     KeyAction
	Reason  string // a condition's reason
	Message string
	// Blocked says that nothing can be done until a person changes something.
	Blocked bool
	// Retire are keys that go on the list of those to delete later.
	Retire []v1alpha1.RetiringKey
	// Delete are keys that nobody has any more.
	Delete []v1alpha1.RetiringKey
}

// Decide says what to do about the key, of a pool whose server was asked.
func Decide(f Facts) Decision {
	if f.Secret != nil && !f.SecretIsOurs() {
		return Decision{Blocked: true, Reason: "SecretNotOwned", Message: fmt.Sprintf(
			"the Secret %s exists and was not made for this resource; it is left alone: delete it, or name another in spec.key.secretName", f.Secret.Name)}
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
		return Decision{Key: KeyClaim, Reason: "Creating", Message: fmt.Sprintf("making the key %q", name)}
	case current == nil && p.Status.ProvisionerKeyID != "":
		// To claim forgets the id of the one that is gone: what is there after a
		// crash is the one that was made.
		return Decision{Key: KeyClaim, Reason: "Recreating", Message: fmt.Sprintf("the key %q is gone from the server; making it again", name)}
	case current == nil:
		return Decision{Key: KeyCreate, Reason: "Creating", Message: fmt.Sprintf("making the key %q", name)}
	case current.ID.String() == f.KeyID() && !claimed:
		// The Secret proves that it is ours, of a status that was lost.
		return Decision{Key: KeyClaim, Reason: "Ready", Message: fmt.Sprintf("the key %q is ours", name)}
	case !claimed, foreign(f, *current):
		return Decision{Blocked: true, Reason: "KeyNameTaken", Message: fmt.Sprintf(
			"the organization has a key %q that was not made for this resource; delete it there, or name another in spec.key.name", name)}
	case f.KeyID() == "":
		return Decision{Key: KeyRotate, Reason: "SecretLost", Message: "the Secret with the key is gone; making a new key"}
	case current.ID.String() != f.KeyID():
		return Decision{Key: KeyRotate, Reason: "SecretOutdated", Message: "the Secret holds an older key than the server has; making a new one"}
	case TagsHash(current.Tags) != TagsHash(p.Spec.Tags):
		return Decision{Key: KeyRotate, Reason: "TagsChanged", Message: "the tags have changed; making a new key"}
	}
	return Decision{Key: KeyKeep, Reason: "Ready", Message: fmt.Sprintf("the key %q is in use", name)}
}

// claims says whether the status notes that the key of the specification's name
// is ours, at this server and in this organization.
func claims(f Facts) bool {
	s := f.Provisioner.Status
	return s.ProvisionerKeyName == KeyName(f.Provisioner) && s.OrganizationID == f.View.Organization.ID.String() &&
		s.ControlPlaneRefName == f.Provisioner.Spec.ControlPlaneRef.Name
}

// foreign says whether a key of the name that is ours is not: it is neither the
// one that the status notes, nor the one in the Secret, nor one that took the
// place of ours.
func foreign(f Facts, current coder.ProvisionerKey) bool {
	ours := f.Provisioner.Status.ProvisionerKeyID
	if ours == "" || current.ID.String() == ours || current.ID.String() == f.KeyID() {
		return false
	}
	return !slices.ContainsFunc(f.View.Replaced(current.Name), func(k coder.ProvisionerKey) bool { return k.ID.String() == ours })
}

// retired gives the key that the status notes, when there is one and it is not
// the one of the specification any more.
func retired(f Facts) []v1alpha1.RetiringKey {
	s := f.Provisioner.Status
	if s.ProvisionerKeyID == "" || claims(f) {
		return nil
	}
	return []v1alpha1.RetiringKey{{
		ID: s.ProvisionerKeyID, Name: s.ProvisionerKeyName, OrganizationID: s.OrganizationID, ControlPlaneURL: s.ControlPlaneURL,
	}}
}

// deletable gives the replaced keys that no pod and no provisioner has any
// more, once the pods have the new one.
func deletable(f Facts) []v1alpha1.RetiringKey {
	if f.KeyID() == "" || !rolled(f) {
		return nil
	}
	candidates := slices.Clone(f.Provisioner.Status.RetiringKeys)
	if claims(f) {
		for _, k := range f.View.Replaced(KeyName(f.Provisioner)) {
			candidates = append(candidates, v1alpha1.RetiringKey{ID: k.ID.String(), Name: k.Name, OrganizationID: f.View.Organization.ID.String(), ControlPlaneURL: f.ControlPlane.Status.URL})
		}
	}
	return slices.DeleteFunc(candidates, func(k v1alpha1.RetiringKey) bool {
		return k.ID == f.KeyID() || inUse(f, k.ID)
	})
}

// rolled says whether every pod that there should be is one of the key in the
// Secret, and ready.
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

// inUse says whether a pod was made for a key, even one that is ending, or a
// provisioner is connected by it.
func inUse(f Facts, key string) bool {
	if slices.ContainsFunc(f.Pods, func(p corev1.Pod) bool { return p.Annotations[AnnotationKeyID] == key }) {
		return true
	}
	id, err := uuid.Parse(key)
	return err == nil && f.View != nil && len(f.View.Connected(id)) > 0
}

// Trouble says what a failure of the server means: the condition it belongs
// to, its reason, and after how long to look again. Zero is by back-off.
func Trouble(err error) (condition, reason string, again time.Duration) {
	switch coder.CodeOf(err) {
	case coder.CodeRateLimited:
		return v1alpha1.ConditionControlPlaneReady, "RateLimited", 0
	case coder.CodeUnauthenticated:
		return v1alpha1.ConditionOperatorAccessReady, "TokenRefused", 15 * time.Second
	case coder.CodeForbidden:
		return v1alpha1.ConditionOperatorAccessReady, "Forbidden", time.Minute
	case coder.CodeNotFound:
		return v1alpha1.ConditionProvisionerKeyReady, "OrganizationNotFound", 2 * time.Minute
	case coder.CodeInvalid, coder.CodeTooLarge, coder.CodePrecondition:
		return v1alpha1.ConditionProvisionerKeyReady, "Refused", 10 * time.Minute
	case coder.CodeConflict:
		return v1alpha1.ConditionProvisionerKeyReady, "Conflict", time.Minute
	}
	return v1alpha1.ConditionControlPlaneReady, "Unreachable", 0
}
