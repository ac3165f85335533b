package provisioner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/coderclient"
)

// ownKeys returns the keys of the name in the status that are the pool's. An
// operator that was killed may have created or rotated a key without recording
// it, so a recorded key, or the one in the Secret, makes every key of the name
// the pool's: they replaced each other. A claim without a recorded key was
// made when no key had the name, so the key that has it now is the pool's. The
// keys that prove it are last: they must be deleted last.
func ownKeys(keys []codersdk.ProvisionerKey, s v1alpha1.CoderProvisionerStatus, inSecret string) []codersdk.ProvisionerKey {
	var out []codersdk.ProvisionerKey
	ours := s.ProvisionerKeyID == ""
	for _, k := range keys {
		if strings.EqualFold(k.Name, s.ProvisionerKeyName) {
			out = append(out, k)
			id := k.ID.String()
			ours = ours || id == s.ProvisionerKeyID || id == inSecret
		}
	}
	if s.ProvisionerKeyName == "" || !ours {
		return nil
	}
	proof := func(k codersdk.ProvisionerKey) int {
		return slices.Index([]string{inSecret, s.ProvisionerKeyID}, k.ID.String())
	}
	slices.SortStableFunc(out, func(a, b codersdk.ProvisionerKey) int { return proof(a) - proof(b) })
	return out
}

// left returns the keys that the pool leaves at its former server, organization
// or name, nil if it leaves none of these.
func (r *pass) left(ctx context.Context) ([]v1alpha1.RetiringKey, error) {
	s := r.Provisioner.Status
	if s.ProvisionerKeyName == "" || claims(r.Facts) {
		return nil, nil
	}
	keys, _, err := r.recordedKeys(ctx)
	if codersdk.Is(err, codersdk.CodeNotFound) || err != nil && s.ControlPlaneRefName != r.Provisioner.Spec.ControlPlaneRef.Name {
		// The organization is gone, or the pool leaves a server that does not
		// respond: the recorded key is all that is known.
		log.FromContext(ctx).Info("could not list the provisioner keys that the pool leaves", "key", s.ProvisionerKeyName, "error", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []v1alpha1.RetiringKey
	for _, k := range keys {
		out = append(out, v1alpha1.RetiringKey{
			ID: k.ID.String(), Name: k.Name, OrganizationID: s.OrganizationID, ControlPlaneURL: s.ControlPlaneURL, ControlPlaneRefName: s.ControlPlaneRefName,
		})
	}
	return out, nil
}

// recordedKeys returns the pool's keys at the server and in the organization of
// the status, as they are now, and the access to that server. Without a server
// there are none.
func (r *pass) recordedKeys(ctx context.Context) ([]codersdk.ProvisionerKey, coderclient.Access, error) {
	s := r.Provisioner.Status
	a, _, err := r.server(ctx, s.ControlPlaneRefName, s.ControlPlaneURL)
	if err != nil || a.URL == "" || a.Token == "" || s.OrganizationID == "" {
		return nil, a, err
	}
	keys, err := r.Sites.KeysOf(ctx, a, s.OrganizationID)
	if err != nil {
		return nil, a, err
	}
	inSecret := ""
	if r.SecretIsOurs() {
		inSecret = r.Secret.Annotations[AnnotationKeyID]
	}
	return ownKeys(keys, s, inSecret), a, nil
}

// server returns the access to a control plane that the pool uses or has left,
// and whether its resource exists. Without the resource, or without its token,
// it is the last known access; its token is "" if there was none.
func (r *pass) server(ctx context.Context, name, url string) (a coderclient.Access, exists bool, err error) {
	cp := r.ControlPlane
	if cp == nil || cp.Name != name && name != "" {
		cp = &v1alpha1.CoderControlPlane{}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Provisioner.Namespace, Name: name}, cp)
		if name == "" || apierrors.IsNotFound(err) {
			return coderclient.Access{URL: url, Token: r.Sites.Token(url)}, false, nil
		} else if err != nil {
			return a, true, err
		}
	}
	a.URL = cp.Status.URL
	if a.URL == "" {
		a.URL = url
	}
	if a.Authorities, err = r.Controller.Authorities(ctx, cp); err != nil {
		return a, true, err
	}
	if a.Token, err = r.Controller.token(ctx, cp); a.Token == "" {
		a.Token = r.Sites.Token(a.URL)
	}
	return a, true, err
}

// retire deletes replaced keys that nothing uses.
func (r *pass) retire(ctx context.Context, keys []v1alpha1.RetiringKey) error {
	p := r.Provisioner
	s := &p.Status
	if len(keys) > 0 && r.recorded != s.ProvisionerKeyID {
		// The recorded key proves which keys are the pool's: record the new one
		// before that proof is deleted.
		if err := r.Client.Status().Update(ctx, p); err != nil {
			return err
		}
		r.recorded = s.ProvisionerKeyID
	}
	for _, k := range keys {
		a, exists, err := r.server(ctx, k.ControlPlaneRefName, k.ControlPlaneURL)
		if err != nil {
			return err
		}
		if exists && a.Token == "" {
			continue // until the operator has access again
		}
		err = r.Sites.DeleteKey(ctx, a, k.OrganizationID, k.ID)
		if err != nil && exists && !codersdk.Is(err, codersdk.CodeForbidden) {
			return err
		}
		// A server without a resource may be gone, and its keys with it.
		log.FromContext(ctx).Info("deleted an unused provisioner key", "key", k.Name, "id", k.ID, "error", err)
		r.RecordEvent(p, corev1.EventTypeNormal, "KeyDeleted", "Retire", fmt.Sprintf("deleted the replaced key %q, which is no longer used", k.Name))
		s.RetiringKeys = slices.DeleteFunc(s.RetiringKeys, func(o v1alpha1.RetiringKey) bool { return o.ID == k.ID })
	}
	if len(keys) > 0 {
		r.Sites.Forget(r.Place())
	}
	if len(s.RetiringKeys) > 0 || len(r.View.Replaced(KeyName(p))) > len(keys) {
		r.again = min(r.again, r.Pace(busyAgain))
	}
	if len(s.RetiringKeys) == 0 {
		s.RetiringKeys = nil
	}
	return nil
}

// endPatience is how long the deletion of a resource waits for an unreachable
// server.
const endPatience = 30 * time.Second

// finalize deletes what the resource created outside its namespace, and removes the
// finalizer. Keys at an unreachable server are left behind after endPatience.
func (c *Controller) finalize(ctx context.Context, p *v1alpha1.CoderProvisioner) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(p, v1alpha1.FinalizerProvisionerKey) {
		return ctrl.Result{}, nil
	}
	f, err := c.gather(ctx, p)
	if err != nil && !apierrors.IsForbidden(err) {
		return ctrl.Result{}, err
	}
	r := &pass{Controller: c, Facts: f}
	if err := r.dropAllRights(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.deleteKeys(ctx); err != nil {
		ns := &corev1.Namespace{}
		ending := c.Live.Get(ctx, client.ObjectKey{Name: p.Namespace}, ns) != nil || !ns.DeletionTimestamp.IsZero()
		if !ending && c.Now().Sub(p.DeletionTimestamp.Time) < endPatience {
			return ctrl.Result{RequeueAfter: c.Pace(c.backoff.next(client.ObjectKeyFromObject(p)))}, nil
		}
		log.FromContext(ctx).Info("provisioner keys remain at an unreachable server", "key", p.Status.ProvisionerKeyName, "error", err)
		c.RecordEvent(p, corev1.EventTypeWarning, "KeysLeft", "Finalize",
			fmt.Sprintf("the key %q remains at the server, which is unreachable; delete it there: %v", p.Status.ProvisionerKeyName, err))
	}
	c.backoff.forget(client.ObjectKeyFromObject(p))
	if err := c.LetGo(ctx, p, v1alpha1.FinalizerProvisionerKey); err != nil {
		return c.Finish(ctx, p, p, 0, err)
	}
	return ctrl.Result{}, nil
}

// deleteKeys deletes the pool's keys at all its servers. Without a server or a
// token it does nothing.
func (r *pass) deleteKeys(ctx context.Context) error {
	s := r.Provisioner.Status
	var failed error
	for _, k := range s.RetiringKeys {
		a, exists, err := r.server(ctx, k.ControlPlaneRefName, k.ControlPlaneURL)
		if err == nil && a.Token != "" {
			err = r.Sites.DeleteKey(ctx, a, k.OrganizationID, k.ID)
		}
		if exists {
			failed = errors.Join(failed, err)
		}
	}
	keys, a, err := r.recordedKeys(ctx)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		err = nil // the organization is gone, and its keys with it
	}
	failed = errors.Join(failed, err)
	for _, k := range keys {
		failed = errors.Join(failed, r.Sites.DeleteKey(ctx, a, s.OrganizationID, k.ID.String()))
	}
	r.Sites.Forget(coderclient.Place{Access: a, Organization: r.Place().Organization})
	return failed
}
