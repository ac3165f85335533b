package controlplane

import (
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/apply"
	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
	"github.com/seed-2a7f8fe7/coder/internal/operator/reconcile"
)

// rights applies the permissions of templates, deletes those that are no longer
// requested or allowed, and records what is missing.
func (r *pass) rights(ctx context.Context) error {
	cp, s, before := r.cp, &r.cp.Status, len(r.refuse)
	grant, refusal, err := r.Grant(ctx, cp.Namespace, Namespaces(cp))
	if err != nil {
		return err
	}
	if len(Namespaces(cp)) > 0 {
		r.again = min(r.again, r.Pace(reconcile.GrantAgain))
	}
	gone := slices.DeleteFunc(slices.Clone(s.WorkspaceNamespaces), func(n string) bool { return slices.Contains(grant.Namespaces, n) })
	if len(grant.Rules(cp.Spec.RBAC.RBACSpec)) == 0 {
		gone = append(gone, grant.Namespaces...)
	}
	o := podspec.OwnerOf(Kind, cp)
	if len(podspec.Rules(cp.Spec.RBAC.RBACSpec)) == 0 {
		if err := apply.DropOwnRights(ctx, r.Client, r.Live, o, RightsName(cp)); err != nil {
			return err
		}
	}
	if err := apply.DropRights(ctx, r.Client, r.Live, o, RightsName(cp), gone); err != nil {
		return err
	}
	s.WorkspaceNamespaces = grant.Namespaces
	if r.Aggregated == "" || cp.Spec.OperatorAccess.Disabled {
		for _, object := range Readers(cp, "") {
			if err := apply.Absent(ctx, r.Client, r.Live, object); err != nil {
				return err
			}
		}
	}
	pods, err := r.Pods(ctx, cp.Namespace, podspec.Selector(component, cp.Name))
	if err != nil {
		return err
	}
	if err := r.dropAccounts(ctx, pods); err != nil {
		return err
	}
	objects := Rights(cp, grant, pods)
	if r.Aggregated != "" && !cp.Spec.OperatorAccess.Disabled {
		objects = append(objects, Readers(cp, r.Aggregated)...)
	}
	for _, object := range objects {
		if err := r.apply(ctx, object); err != nil {
			return err
		}
	}
	switch {
	case len(r.refuse) > before:
		refusal = reconcile.Refusal{Reason: "Refused", Message: strings.Join(r.refuse[before:], "; ")}
	case refusal.Reason == "":
		reconcile.Set(cp, v1alpha1.ConditionRBACReady, true, "Ready", podspec.Granted(cp.Namespace, grant, cp.Spec.RBAC.RBACSpec))
		return nil
	}
	reconcile.Set(cp, v1alpha1.ConditionRBACReady, false, refusal.Reason, refusal.Message)
	return nil
}

// dropAccounts deletes the server's former ServiceAccounts once no pod uses
// them.
func (r *pass) dropAccounts(ctx context.Context, pods []corev1.Pod) error {
	o, d := podspec.OwnerOf(Kind, r.cp), &appsv1.Deployment{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.cp.Namespace, Name: Name(r.cp)}, d); err != nil {
		return client.IgnoreNotFound(err)
	}
	account, _ := podspec.Account(o, Name(r.cp), nil, r.cp.Spec.ServiceAccount)
	if !podspec.Rolled(d, account) {
		return nil
	}
	return apply.DropAccounts(ctx, r.Client, o, podspec.Selector(component, r.cp.Name), append(podspec.FormerAccounts(account, pods), account))
}
