package controlplane

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/coderclient"
	"github.com/seed-2a7f8fe7/coder/internal/operator/reconcile"
)

// revoke revokes the operator's token at a server whose operatorAccess is
// disabled, then deletes its Secret. A Secret of a user stays.
func (r *pass) revoke(ctx context.Context, d *appsv1.Deployment) error {
	cp := r.cp
	s := &corev1.Secret{}
	err := r.Read(ctx, cp.Namespace, TokenSecretName(cp), s)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err != nil || !metav1.IsControlledBy(s, cp) {
		reconcile.Set(cp, v1alpha1.ConditionOperatorAccessReady, false, "Disabled", "spec.operatorAccess.disabled is set")
		return nil
	}
	wait := func(message string) error {
		r.again = min(r.again, r.Pace(15*time.Second))
		reconcile.Set(cp, v1alpha1.ConditionOperatorAccessReady, false, "Revoking", message)
		return nil
	}
	switch {
	case holdsToken(d):
		// A server that restarts with the token would register it again.
		return wait("waiting for the servers that started with the operator's token to stop")
	case d.Status.ReadyReplicas == 0:
		return wait("waiting for a ready replica, to revoke the operator's token")
	}
	authorities, err := r.Authorities(ctx, cp)
	if err != nil {
		return err
	}
	err = r.Sites.Revoke(ctx, coderclient.Access{URL: cp.Status.URL, Token: string(s.Data[TokenKey]), Authorities: authorities})
	if err != nil {
		return wait(fmt.Sprintf("the operator's token could not be revoked: %v", err))
	}
	uid := s.UID
	if err := r.Client.Delete(ctx, s, client.Preconditions{UID: &uid}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	reconcile.Set(cp, v1alpha1.ConditionOperatorAccessReady, false, "Disabled", "spec.operatorAccess.disabled is set; the operator's token is revoked")
	return nil
}

// holdsToken reports whether a pod of the server may have the operator's token.
func holdsToken(d *appsv1.Deployment) bool {
	return d.Spec.Template.Annotations[annotationToken] != "" || d.Status.ObservedGeneration < d.Generation || d.Status.Replicas > d.Status.UpdatedReplicas
}
