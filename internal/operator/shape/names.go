// Package shape has what the pods of all custom resources have in common: their
// names, labels, environment, probes and rights. Everything here is a pure
// function from a specification to an object, so that what the operator makes
// can be read, and tested, without a cluster.
package shape

import (
	"fmt"
	"hash/fnv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
)

// Labels that everything the operator makes has.
const (
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelPartOf    = "app.kubernetes.io/part-of"
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// Manager is the value of LabelManagedBy.
	Manager = "coder-operator"
	// LabelOwner is the UID of the resource that something in another namespace
	// belongs to, where owner references do not reach.
	LabelOwner = "coder.com/owner-uid"
)

// Name gives prefix and name, joined by a dash and no longer than 63 bytes,
// the longest that is good for names and labels of every kind. What is too long
// is cut and ends in a hash of the whole, so that two names stay two.
func Name(prefix, name string) string { return Within(63, prefix, name) }

// Within is Name for another number of bytes, at least 10.
func Within(limit int, prefix, name string) string {
	s := name
	if prefix != "" {
		s = prefix + "-" + name
	}
	s = strings.ReplaceAll(s, ".", "-")
	if len(s) <= limit && !strings.Contains(name, ".") {
		return s
	}
	h := fnv.New32a()
	h.Write([]byte(prefix + "\x00" + name)) //nolint:errcheck // documented never to fail
	return fmt.Sprintf("%s-%08x", strings.TrimRight(s[:min(len(s), limit-9)], "-"), h.Sum32())
}

// Labels gives the labels of everything that is made for an instance of a kind.
func Labels(kind, instance string) map[string]string {
	return map[string]string{
		LabelName: kind, LabelInstance: Name("", instance), LabelPartOf: "coder", LabelManagedBy: Manager,
	}
}

// Selector gives the labels that pods of an instance are chosen by; these can
// never change.
func Selector(kind, instance string) map[string]string {
	return map[string]string{LabelName: kind, LabelInstance: Name("", instance)}
}

// Merge gives the entries of all maps; a later map wins.
func Merge(maps ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range maps {
		for k, v := range m {
			out[k] = v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// Owner is the resource that something is made for.
type Owner struct {
	Kind, Name, Namespace string
	UID                   string
	References            []metav1.OwnerReference
}

// OwnerOf gives the owner that obj is. kind is its kind's name.
func OwnerOf(kind string, obj metav1.Object) Owner {
	return Owner{
		Kind: kind, Name: obj.GetName(), Namespace: obj.GetNamespace(), UID: string(obj.GetUID()),
		References: []metav1.OwnerReference{*metav1.NewControllerRef(obj, v1alpha1.GroupVersion().WithKind(kind))},
	}
}

// Meta gives the metadata of an object in the owner's namespace, which ends
// with the owner.
func (o Owner) Meta(name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: o.Namespace, Labels: labels, OwnerReferences: o.References}
}

// Remote gives the metadata of an object in another namespace, which is found
// by its label when the owner ends.
func (o Owner) Remote(name, namespace string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: Merge(labels, map[string]string{LabelOwner: o.UID})}
}

// Environment gives the operator's own variables and then those of the
// specification; where both have a name, the specification's is taken.
func Environment(own []corev1.EnvVar, extra []corev1.EnvVar) []corev1.EnvVar {
	given := map[string]bool{}
	for _, e := range extra {
		given[e.Name] = true
	}
	out := make([]corev1.EnvVar, 0, len(own)+len(extra))
	for _, e := range own {
		if !given[e.Name] {
			out = append(out, e)
		}
	}
	return append(out, extra...)
}

// Has says whether the environment sets a variable.
func Has(env []corev1.EnvVar, name string) bool {
	for _, e := range env {
		if e.Name == name {
			return true
		}
	}
	return false
}

// FromSecret is a variable that is a key of a Secret.
func FromSecret(name, secret, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: key,
	}}}
}

// FromField is a variable that is a field of the pod.
func FromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
}
