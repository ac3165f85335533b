// Package podspec builds what the pods of all custom resources share: names,
// labels, environment, probes and permissions. Every function is pure, from a
// specification to an object, so that the operator's objects can be read and
// tested without a cluster.
package podspec

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
)

// Labels of all objects that the operator creates.
const (
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelPartOf    = "app.kubernetes.io/part-of"
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// Manager is the value of LabelManagedBy.
	Manager = "coder-operator"
	// LabelAllow, followed by a namespace, is the label by which another
	// namespace allows workspaces of that one's resources; its value is "true".
	LabelAllow = "workspaces.coder.com/"
	// LabelOwner is the UID of the resource that an object in another namespace
	// belongs to, where owner references do not work.
	LabelOwner = "coder.com/owner-uid"
)

// Values of LabelName of the objects of each kind.
const (
	NameControlPlane   = "coder-control-plane"
	NameProvisioner    = "coder-provisioner"
	NameWorkspaceProxy = "coder-workspace-proxy"
)

// Name joins prefix and name with a dash, in at most 63 bytes, the limit for
// names and labels of every kind. A longer name is cut and ends in a hash of
// the whole, so that different names stay different.
func Name(prefix, name string) string { return Within(63, prefix, name) }

// Within is Name with another limit in bytes, at least 10.
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

// Labels returns the labels of all objects that belong to an instance of a
// kind.
func Labels(kind, instance string) map[string]string {
	return map[string]string{
		LabelName: kind, LabelInstance: Name("", instance), LabelPartOf: "coder", LabelManagedBy: Manager,
	}
}

// Selector returns the labels that select the pods of an instance. They must
// never change.
func Selector(kind, instance string) map[string]string {
	return map[string]string{LabelName: kind, LabelInstance: Name("", instance)}
}

// Merge returns the entries of all maps; a later map wins.
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

// Owner is the resource that an object is created for.
type Owner struct {
	Kind, Name, Namespace string
	UID                   string
	References            []metav1.OwnerReference
}

// OwnerOf returns obj as an owner. kind is the name of its kind.
func OwnerOf(kind string, obj metav1.Object) Owner {
	return Owner{
		Kind: kind, Name: obj.GetName(), Namespace: obj.GetNamespace(), UID: string(obj.GetUID()),
		References: []metav1.OwnerReference{*metav1.NewControllerRef(obj, v1alpha1.GroupVersion().WithKind(kind))},
	}
}

// Meta returns the metadata of an object in the owner's namespace, which is
// deleted with the owner.
func (o Owner) Meta(name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: o.Namespace, Labels: labels, OwnerReferences: o.References}
}

// Remote returns the metadata of an object in another namespace, which is found
// by its label when the owner is deleted.
func (o Owner) Remote(name, namespace string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: Merge(labels, map[string]string{LabelOwner: o.UID})}
}

// Environment returns the operator's variables followed by those of the
// specification. The last variable of a name has effect, as in a pod;
// server-side apply accepts only one.
func Environment(own []corev1.EnvVar, extra []corev1.EnvVar) []corev1.EnvVar {
	return lastOf(append(slices.Clone(own), extra...), func(e corev1.EnvVar) string { return e.Name })
}

// lastOf returns the last item of each key, in the order of the list.
func lastOf[T any](list []T, key func(T) string) []T {
	last := map[string]int{}
	for i, item := range list {
		last[key(item)] = i
	}
	var out []T
	for i, item := range list {
		if last[key(item)] == i {
			out = append(out, item)
		}
	}
	return out
}

// Unique returns the items of a list without repetitions, in the order of the
// list.
func Unique[T comparable](list []T) []T {
	seen := map[T]bool{}
	var out []T
	for _, item := range list {
		if !seen[item] {
			out = append(out, item)
		}
		seen[item] = true
	}
	return out
}

// Has reports whether the environment sets a variable.
func Has(env []corev1.EnvVar, name string) bool {
	for _, e := range env {
		if e.Name == name {
			return true
		}
	}
	return false
}

// FromSecret returns a variable from a key of a Secret.
func FromSecret(name, secret, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: key,
	}}}
}

// FromField returns a variable from a field of the pod.
func FromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
}
