// Package provisioner reconciles CoderProvisioners, pools of provisioners. It
// creates the pool's key at the server, stores it in a Secret, and runs `coder
// provisioner start` with it. A reconciliation gathers facts, decides with pure
// functions, and applies the result. It may be interrupted anywhere; the next
// one continues from the facts.
//
// A key that must change is replaced with an overlap. The server gets the new
// key while the old one stays valid, and the pods are rolled. The old key is
// deleted only when no pod and no connected provisioner uses it, so running
// builds finish.
package provisioner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/coderclient"
	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
)

// Kind of the resource.
const Kind = "CoderProvisioner"

// component is the name label of all pools.
const component = podspec.NameProvisioner

// Annotations of the Secret and of pods.
const (
	// AnnotationKeyID is the id of the key in the Secret, or of the key that a
	// pod was created for.
	AnnotationKeyID = "coder.com/provisioner-key-id"
	// annotationTags is the hash of its tags.
	annotationTags = "coder.com/provisioner-key-tags"
	// annotationChecksum rolls the pods when the key changes.
	annotationChecksum = "checksum/provisioner-key"
	// annotationAuthorities rolls the pods when the trusted CA certificates
	// change.
	annotationAuthorities = "checksum/authorities"
)

// Facts are the input of a reconciliation.
type Facts struct {
	Provisioner  *v1alpha1.CoderProvisioner
	ControlPlane *v1alpha1.CoderControlPlane // nil if it does not exist
	Token        string                      // "" if it does not exist yet
	Authorities  string                      // CA certificates for the server, as PEM
	View         *coderclient.View           // nil if the server could not be reached
	ViewErr      error                       // why View is nil
	Secret       *corev1.Secret              // nil if it does not exist
	Deployment   *appsv1.Deployment          // nil if it does not exist
	Pods         []corev1.Pod                // of the pool, including terminating ones
	Rivals       []Rival                     // that share the queue
	Refused      string                      // why the cluster refuses an object of the pool
}

// Access returns how to reach the server.
func (f Facts) Access() coderclient.Access {
	if f.ControlPlane == nil {
		return coderclient.Access{}
	}
	return coderclient.Access{URL: f.ControlPlane.Status.URL, Token: f.Token, Authorities: f.Authorities}
}

// Place returns the organization whose builds the pool runs.
func (f Facts) Place() coderclient.Place {
	return coderclient.Place{Access: f.Access(), Organization: organization(f.Provisioner.Spec.OrganizationName)}
}

// KeyName returns the name of the key at the server.
func KeyName(p *v1alpha1.CoderProvisioner) string {
	if p.Spec.Key.Name != "" {
		return p.Spec.Key.Name
	}
	return p.Name
}

// SecretRef returns where the key is stored.
func SecretRef(p *v1alpha1.CoderProvisioner) v1alpha1.SecretKeySelector {
	ref := v1alpha1.SecretKeySelector{Name: p.Spec.Key.SecretName, Key: p.Spec.Key.SecretKey}
	if ref.Name == "" {
		ref.Name = secretName(p.Name)
	}
	if ref.Key == "" {
		ref.Key = "key"
	}
	return ref
}

func secretName(name string) string {
	const suffix = "-provisioner-key"
	if len(name)+len(suffix) <= 253 {
		return name + suffix
	}
	return podspec.Name("", name)[:min(63, len(podspec.Name("", name)))] + suffix
}

// TagsHash returns a hash of a set of tags.
func TagsHash(tags map[string]string) string {
	if tags == nil {
		tags = map[string]string{}
	}
	b, _ := json.Marshal(tags) //nolint:errcheck // a map of strings is always JSON, its keys in order
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// KeyID returns the id of the key in the Secret, or "".
func (f Facts) KeyID() string {
	if f.Secret == nil || !f.SecretIsOurs() || len(f.Secret.Data[SecretRef(f.Provisioner).Key]) == 0 {
		return ""
	}
	return f.Secret.Annotations[AnnotationKeyID]
}

// SecretIsOurs reports whether the Secret was created for this resource.
func (f Facts) SecretIsOurs() bool {
	return f.Secret != nil && metav1.IsControlledBy(f.Secret, f.Provisioner)
}

// checksum identifies a secret without revealing it.
func checksum(secret []byte) string {
	sum := sha256.Sum256(secret)
	return hex.EncodeToString(sum[:])
}
