package podspec

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
)

// Rules returns what templates may manage in a namespace: pods, persistent
// volume claims, Deployments, and what the specification adds.
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

// Account returns the ServiceAccount of an owner, or nil if an existing one is
// used.
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

// Grant describes the permissions of templates outside the namespace of their
// resource.
type Grant struct {
	// Namespaces are those that allow it; see LabelAllow.
	Namespaces []string
	// ExtraRules also grants the extra rules of the specification there. They
	// are otherwise limited to the namespace of the resource: users who can edit
	// the resource could read every Secret of the others.
	ExtraRules bool
}

// Rules returns the rules in other namespaces.
func (g Grant) Rules(s v1alpha1.RBACSpec) []rbacv1.PolicyRule {
	if !g.ExtraRules {
		s.ExtraRules = nil
	}
	return Rules(s)
}

// Rights returns the Role and RoleBinding of an account in the owner's
// namespace and in each of the granted ones, or nothing without rules.
func Rights(o Owner, name string, accounts []string, labels map[string]string, s v1alpha1.RBACSpec, g Grant) []client.Object {
	var out []client.Object
	var subjects []rbacv1.Subject
	for _, account := range accounts {
		subjects = append(subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: o.Namespace})
	}
	for _, ns := range append([]string{o.Namespace}, g.Namespaces...) {
		meta, called, rules := o.Meta(name, labels), name, Rules(s)
		if ns != o.Namespace {
			rules = g.Rules(s)
		}
		if len(rules) == 0 {
			continue
		}
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
				Subjects: subjects,
			},
		)
	}
	return out
}

// FormerAccounts returns the ServiceAccounts other than current that pods still
// run with. They keep their permissions until the builds of these pods end.
func FormerAccounts(current string, pods []corev1.Pod) []string {
	var out []string
	for _, p := range pods {
		if name := p.Spec.ServiceAccountName; name != "" && name != current {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Rolled reports whether a Deployment creates pods with an account only, and all
// others are gone or going.
func Rolled(d *appsv1.Deployment, account string) bool {
	return d != nil && d.Spec.Template.Spec.ServiceAccountName == account &&
		d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas >= d.Status.Replicas
}

// Readers returns the Role and RoleBinding with which an account, given as
// namespace/name, reads Secrets of the owner's namespace by their names.
func Readers(o Owner, name, account string, labels map[string]string, secrets []string) []client.Object {
	namespace, account, _ := strings.Cut(account, "/")
	meta := o.Meta(name, labels)
	return []client.Object{
		&rbacv1.Role{
			TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"}, ObjectMeta: meta,
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: secrets, Verbs: []string{"get"}}},
		},
		&rbacv1.RoleBinding{
			TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"}, ObjectMeta: *meta.DeepCopy(),
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: namespace}},
		},
	}
}

// Granted describes permissions that exist, for a condition.
func Granted(own string, g Grant, s v1alpha1.RBACSpec) string {
	out := "ServiceAccount, Roles and RoleBindings exist"
	if len(g.Namespaces) > 0 && len(s.ExtraRules) > 0 && !g.ExtraRules {
		out += fmt.Sprintf("; extraRules apply in namespace %s only, because the operator runs without --cross-namespace-rules=%s", own, own)
	}
	return out
}
