package shape

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
)

// Rules gives what templates may do in a namespace: pods and volume claims,
// deployments, and what the specification adds.
func Rules(s v1alpha1.RBACSpec) []rbacv1.PolicyRule {
	verbs := []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	var rules []rbacv1.PolicyRule
	if s.WorkspacePerms == nil || *s.WorkspacePerms {
		rules = append(rules,
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: verbs},
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"persistentvolumeclaims"}, Verbs: verbs},
		)
		if s.EnableDeployments == nil || *s.EnableDeployments {
			rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: verbs})
		}
	}
	return append(rules, s.ExtraRules...)
}

// Account gives the ServiceAccount of an owner; nil when another is used.
func Account(o Owner, fallback string, labels map[string]string, s v1alpha1.ServiceAccountSpec) (name string, account *corev1.ServiceAccount) {
	name = fallback
	if s.Name != "" {
		name = s.Name
	}
	if s.DisableCreate {
		return name, nil
	}
	a := &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: o.Meta(name, Merge(s.Labels, labels)),
	}
	a.Annotations = s.Annotations
	return name, a
}

// Rights gives Role and RoleBinding of an account in the owner's namespace and
// in each of the others; nothing when there are no rules.
func Rights(o Owner, name, account string, labels map[string]string, rules []rbacv1.PolicyRule, namespaces []string) []client.Object {
	if len(rules) == 0 {
		return nil
	}
	var out []client.Object
	for _, ns := range append([]string{o.Namespace}, namespaces...) {
		meta, called := o.Meta(name, labels), name
		if ns != o.Namespace {
			// Two owners of one name in different namespaces may serve the same one.
			called = Name(name, o.Namespace)
			meta = o.Remote(called, ns, labels)
		} else if len(out) > 0 {
			continue
		}
		out = append(out,
			&rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"}, ObjectMeta: meta, Rules: rules},
			&rbacv1.RoleBinding{
				TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"}, ObjectMeta: *meta.DeepCopy(),
				RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: called},
				Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: o.Namespace}},
			},
		)
	}
	return out
}
