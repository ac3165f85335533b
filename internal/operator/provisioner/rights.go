package provisioner

import (
	"context"
	"slices"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/apply"
	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
	"github.com/seed-2a7f8fe7/coder/internal/operator/reconcile"
)

// rights applies the ServiceAccount and the permissions of templates, deletes
// those that are no longer requested or allowed, and records what is missing.
func (r *pass) rights(ctx context.Context) error {
	p := r.Provisioner
	grant, refusal, err := r.Grant(ctx, p.Namespace, Namespaces(p))
	if err != nil {
		return err
	}
	if len(Namespaces(p)) > 0 {
		r.again = min(r.again, r.Pace(reconcile.GrantAgain))
	}
	for _, o := range Rights(p, grant, r.Pods) {
		err := apply.Object(ctx, r.Client, r.Live, o)
		if apply.Refused(err) {
			refusal = reconcile.Refusal{Reason: "Refused", Message: err.Error()}
			r.again = min(r.again, r.Pace(time.Minute))
		} else if err != nil {
			return err
		}
	}
	if err := r.dropRights(ctx, grant); err != nil {
		return err
	}
	if err := r.dropAccounts(ctx); err != nil {
		return err
	}
	if refusal.Reason != "" {
		reconcile.Set(p, v1alpha1.ConditionRBACReady, false, refusal.Reason, refusal.Message)
		return nil
	}
	reconcile.Set(p, v1alpha1.ConditionRBACReady, true, "Ready", podspec.Granted(p.Namespace, grant, p.Spec.RBAC))
	return nil
}

// dropRights deletes Roles that the specification no longer requests or a
// namespace no longer allows.
func (r *pass) dropRights(ctx context.Context, grant podspec.Grant) error {
	s := &r.Provisioner.Status
	gone := slices.DeleteFunc(slices.Clone(s.WorkspaceNamespaces), func(n string) bool { return slices.Contains(grant.Namespaces, n) })
	if len(grant.Rules(r.Provisioner.Spec.RBAC)) == 0 {
		gone = append(gone, grant.Namespaces...)
	}
	if len(podspec.Rules(r.Provisioner.Spec.RBAC)) == 0 {
		if err := apply.DropOwnRights(ctx, r.Client, r.Live, podspec.OwnerOf(Kind, r.Provisioner), Name(r.Provisioner)); err != nil {
			return err
		}
	}
	if err := r.dropIn(ctx, gone); err != nil {
		return err
	}
	s.WorkspaceNamespaces = grant.Namespaces
	return nil
}

// dropAccounts deletes the pool's former ServiceAccounts once no pod uses them.
func (r *pass) dropAccounts(ctx context.Context) error {
	p, o := r.Provisioner, podspec.OwnerOf(Kind, r.Provisioner)
	account, _ := podspec.Account(o, Name(p), nil, p.Spec.ServiceAccount)
	if !podspec.Rolled(r.Deployment, account) {
		return nil
	}
	return apply.DropAccounts(ctx, r.Client, o, Selector(p), append(podspec.FormerAccounts(account, r.Pods), account))
}

func (r *pass) dropAllRights(ctx context.Context) error {
	return r.dropIn(ctx, append(slices.Clone(r.Provisioner.Status.WorkspaceNamespaces), Namespaces(r.Provisioner)...))
}

func (r *pass) dropIn(ctx context.Context, namespaces []string) error {
	return apply.DropRights(ctx, r.Client, r.Live, podspec.OwnerOf(Kind, r.Provisioner), Name(r.Provisioner), namespaces)
}
