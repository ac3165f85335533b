// Package provisioner keeps pools of provisioners as their CoderProvisioners
// say: it makes the pool's key at the server, keeps it in a Secret, and runs
// `coder provisioner start` with it. A round gathers what is, decides by pure
// functions what should be, and brings the cluster there; each round may end
// anywhere and the next goes on from what it finds.
//
// A key that has to change is replaced with overlap: the server is given the
// new one while the old one stays good, the pods are rolled, and only when no
// pod and no connected provisioner has the old one any more is it deleted. So
// a build that runs meanwhile runs to its end.
package provisioner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/remote"
	"github.com/seed-2a7f8fe7/coder/internal/operator/shape"
)

// Kind of the resource.
const Kind = "CoderProvisioner"

// component is the name label of all pools.
const component = "coder-provisioner"

// Annotations of the Secret and of pods.
const (
	// AnnotationKeyID is the id of the key that the Secret holds, or that a pod
	// was made for.
	AnnotationKeyID = "coder.com/provisioner-key-id"
	// annotationTags is the tags' hash of it.
	annotationTags = "coder.com/provisioner-key-tags"
	// annotationChecksum rolls the pods when the key changes.
	annotationChecksum = "checksum/provisioner-key"
	// annotationAuthorities rolls them when the server may be known by others.
	annotationAuthorities = "checksum/authorities"
)

// Facts are what a round goes by.
type Facts struct {
	Provisioner  *v1alpha1.CoderProvisioner
	ControlPlane *v1alpha1.CoderControlPlane // nil when there is none
	Token        string                      // "" when there is none yet
	Authorities  string                      // that the server's certificate may be of, as PEM
	View         *remote.View                // nil when the server could not be asked
	ViewErr      error                       // why
	Secret       *corev1.Secret              // nil when there is none
	Deployment   *appsv1.Deployment          // nil when there is none
	Pods         []corev1.Pod                // of the pool, those that are ending too
	Refused      string                      // why the cluster does not take what the pool is made of
}

// Access is how the server is spoken to.
func (f Facts) Access() remote.Access {
	if f.ControlPlane == nil {
		return remote.Access{}
	}
	return remote.Access{URL: f.ControlPlane.Status.URL, Token: f.Token, Authorities: f.Authorities}
}

// Place is the organization whose builds are run.
func (f Facts) Place() remote.Place {
	return remote.Place{Access: f.Access(), Organization: organization(f.Provisioner.Spec.OrganizationName)}
}

// KeyName is the key's name at the server.
func KeyName(p *v1alpha1.CoderProvisioner) string {
	if p.Spec.Key.Name != "" {
		return p.Spec.Key.Name
	}
	return p.Name
}

// SecretRef is where the key is kept.
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
	return shape.Name("", name)[:min(63, len(shape.Name("", name)))] + suffix
}

// TagsHash names a set of tags.
func TagsHash(tags map[string]string) string {
	if tags == nil {
		tags = map[string]string{}
	}
	b, _ := json.Marshal(tags) //nolint:errcheck // a map of strings is always JSON, its keys in order
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// KeyID is the id of the key that the Secret holds; "" when it holds none.
func (f Facts) KeyID() string {
	if f.Secret == nil || !f.SecretIsOurs() || len(f.Secret.Data[SecretRef(f.Provisioner).Key]) == 0 {
		return ""
	}
	return f.Secret.Annotations[AnnotationKeyID]
}

// SecretIsOurs says whether the Secret was made for this resource.
func (f Facts) SecretIsOurs() bool {
	return f.Secret != nil && metav1.IsControlledBy(f.Secret, f.Provisioner)
}

// checksum names a secret without telling it.
func checksum(secret []byte) string {
	sum := sha256.Sum256(secret)
	return hex.EncodeToString(sum[:])
}
