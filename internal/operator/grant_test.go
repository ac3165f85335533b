package operator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
)

// allow has a namespace allow workspaces of the town's.
func (w *town) allow(t *testing.T, name string) { w.label(t, name, `"true"`) }

// label sets a namespace's label for the town's; null removes it.
func (w *town) label(t *testing.T, name, value string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, podspec.LabelAllow+w.ns, value)
	must(t, cluster.Client.Patch(t.Context(), ns, client.RawPatch("application/merge-patch+json", []byte(patch))))
}

// readSecrets are rules that a user may not have in other namespaces.
var readSecrets = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list"}}}

// rulesIn returns the rules that an owner has in another namespace, nil for
// none.
func rulesIn(ctx context.Context, t *testing.T, namespace string, owner client.Object) []rbacv1.PolicyRule {
	t.Helper()
	var roles rbacv1.RoleList
	must(t, cluster.Client.List(ctx, &roles, client.InNamespace(namespace), client.MatchingLabels{podspec.LabelOwner: string(owner.GetUID())}))
	if len(roles.Items) == 0 {
		return nil
	}
	return roles.Items[0].Rules
}

func readsSecrets(rules []rbacv1.PolicyRule) bool {
	for _, r := range rules {
		for _, resource := range r.Resources {
			if resource == "secrets" {
				return true
			}
		}
	}
	return false
}

// TestNotAllowed has a control plane and a pool ask for permissions in a
// namespace of others, with rules that read its Secrets. They have none until
// that namespace allows it by a label that names theirs, then only those of
// workspaces, and none again once the label is removed.
func TestNotAllowed(t *testing.T) {
	victim := cluster.Namespace(t)
	w := newTown(t, victim)
	ctx := t.Context()
	cp := w.controlPlane(t)
	kubetest.Until(t, wait, func(ctx context.Context) string {
		must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(cp), cp))
		cp.Spec.RBAC.WorkspaceNamespaces, cp.Spec.RBAC.ExtraRules = []string{victim}, readSecrets
		if err := cluster.Client.Update(ctx, cp); err != nil {
			return err.Error()
		}
		return ""
	})
	pool := w.pool(t, "far", func(s *v1alpha1.CoderProvisionerSpec) {
		s.WorkspaceNamespaces, s.RBAC.ExtraRules = []string{victim}, readSecrets
	})
	owners := map[string]client.Object{"control plane": cp, "pool": pool}
	for what, o := range owners {
		if _, _, phase := w.state(t, o, v1alpha1.ConditionRBACReady, "NotAllowed"); phase != v1alpha1.PhasePending && what == "control plane" {
			t.Errorf("%s: the phase is %s", what, phase)
		}
		if rules := rulesIn(ctx, t, victim, o); rules != nil {
			t.Errorf("%s: it has the rules %v", what, rules)
		}
	}
	c := meta.FindStatusCondition(pool.Status.Conditions, v1alpha1.ConditionRBACReady)
	if want := fmt.Sprintf("kubectl label namespace %s workspaces.coder.com/%s=true", victim, w.ns); !strings.Contains(c.Message, want) {
		t.Errorf("the message lacks %q: %s", want, c.Message)
	}
	own := &rbacv1.Role{}
	w.get(t, "main-workspace-perms", own)
	if !readsSecrets(own.Rules) {
		t.Errorf("in its own namespace it has the rules %v", own.Rules)
	}

	// The label of another namespace allows nothing.
	other := &town{ns: "elsewhere"}
	other.allow(t, victim)
	w.allow(t, victim)
	for what, o := range owners {
		kubetest.Until(t, wait, func(ctx context.Context) string {
			rules := rulesIn(ctx, t, victim, o)
			if rules == nil {
				return what + " has no rules yet"
			}
			if readsSecrets(rules) {
				t.Errorf("%s: it reads the Secrets of others: %v", what, rules)
			}
			return ""
		})
		w.state(t, o, v1alpha1.ConditionRBACReady, "Ready")
	}
	w.label(t, victim, "null")
	for what, o := range owners {
		kubetest.Until(t, wait, func(ctx context.Context) string {
			if rules := rulesIn(ctx, t, victim, o); rules != nil {
				return fmt.Sprintf("%s still has the rules %v", what, rules)
			}
			return ""
		})
	}
}

// TestCrossRules has an operator that grants the extra rules of the town's
// namespace in others that allow it.
func TestCrossRules(t *testing.T) {
	other := cluster.Namespace(t)
	w := newTown(t, quiet)
	w.cross = true
	w.operate(t, other)
	w.allow(t, other)
	cp := &v1alpha1.CoderControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: w.ns}}
	cp.Spec.RBAC.WorkspaceNamespaces, cp.Spec.RBAC.ExtraRules = []string{other}, readSecrets
	must(t, cluster.Client.Create(t.Context(), cp))
	kubetest.Until(t, wait, func(ctx context.Context) string {
		if !readsSecrets(rulesIn(ctx, t, other, cp)) {
			return "the extra rules are missing"
		}
		return ""
	})
}
