// Package serving keeps the certificate that the aggregated API server shows to
// the cluster's API server, and tells the latter what to expect, so that nothing
// between the two is taken on trust and no other program is needed for it.
//
// The certificate signs itself and is its own authority: there is no key that
// could sign another. Long before it ends, the next one is made beside it; the
// APIService names both for an hour, and only then the next one is shown. So
// there is no moment at which what is shown is not expected, whatever order
// replicas and API servers hear of it in. All replicas share one Secret, which
// its version keeps them from changing at once.
package serving

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// How often the Secret is looked at: soon after something failed, and seldom
// otherwise.
const (
	seldom = 10 * time.Minute
	soon   = 5 * time.Second
)

// Config says whose certificate is kept.
type Config struct {
	// Client reads and writes past any cache.
	Client client.Client
	Log    *slog.Logger
	// Namespace and Service are where the API server finds us; Secret, in the same
	// namespace, is where the certificate is kept.
	Namespace, Service, Secret string
	// APIService is the registration that is told what to expect.
	APIService string
	// Now is the time; nil is time.Now.
	Now func() time.Time
}

// Keeper keeps a certificate. It is a dynamiccertificates.CertKeyContentProvider
// that tells its listeners of changes, and is safe for concurrent use.
type Keeper struct {
	Config

	mu        sync.Mutex
	shown     pair
	listeners []dynamiccertificates.Listener
}

// New makes a keeper; RunOnce gives it a certificate.
func New(c Config) *Keeper {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Keeper{Config: c}
}

// Name says what certificate it is, in logs.
func (k *Keeper) Name() string { return "secret/" + k.Namespace + "/" + k.Secret }

// CurrentCertKeyContent gives the certificate to show, and its key, as PEM.
func (k *Keeper) CurrentCertKeyContent() ([]byte, []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.shown.certificate, k.shown.key
}

// AddListener has l told of every change.
func (k *Keeper) AddListener(l dynamiccertificates.Listener) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.listeners = append(k.listeners, l)
}

// Run keeps the certificate until ctx ends.
func (k *Keeper) Run(ctx context.Context, _ int) {
	for {
		wait := seldom
		if err := k.RunOnce(ctx); err != nil && ctx.Err() == nil {
			wait = soon
			k.Log.Warn("the serving certificate cannot be kept", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// RunOnce looks at the Secret, takes the step that is due, and sees to it that
// the APIService expects what is shown. After an error what was shown is shown
// on.
func (k *Keeper) RunOnce(ctx context.Context) error {
	now, err := k.state(ctx)
	if err != nil {
		return err
	}
	if err := k.expect(ctx, now.bundle()); err != nil {
		return err
	}
	k.mu.Lock()
	changed := !bytes.Equal(k.shown.certificate, now.current.certificate)
	k.shown = now.current
	listeners := slices.Clone(k.listeners)
	k.mu.Unlock()
	if changed {
		for _, l := range listeners {
			l.Enqueue()
		}
	}
	return nil
}

// state gives what is in the Secret, after the step that is due.
func (k *Keeper) state(ctx context.Context) (state, error) {
	s := &corev1.Secret{}
	err := k.Client.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: k.Secret}, s)
	absent := apierrors.IsNotFound(err)
	if err != nil && !absent {
		return state{}, fmt.Errorf("read the Secret with the certificate: %w", err)
	}
	had := stateOf(s.Data)
	want, err := plan(had, k.hosts(), k.Now())
	if err != nil {
		return state{}, err
	}
	if !absent && want.equal(had) {
		return want, nil
	}
	s.Data = want.data()
	if absent {
		s.ObjectMeta = metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Secret}
		s.Type = corev1.SecretTypeTLS
		err = k.Client.Create(ctx, s)
	} else {
		err = k.Client.Update(ctx, s)
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return k.state(ctx) // another replica was first; its certificate is as good
	}
	if err != nil {
		return state{}, fmt.Errorf("store the certificate: %w", err)
	}
	return want, nil
}

func (k *Keeper) hosts() []string {
	return []string{k.Service + "." + k.Namespace + ".svc", k.Service + "." + k.Namespace + ".svc.cluster.local"}
}

// expect has the APIService expect certificates.
func (k *Keeper) expect(ctx context.Context, bundle []byte) error {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	if err := k.Client.Get(ctx, client.ObjectKey{Name: k.APIService}, o); err != nil {
		return fmt.Errorf("read the APIService that the certificate is for: %w", err)
	}
	want := base64.StdEncoding.EncodeToString(bundle)
	if have, _, _ := unstructured.NestedString(o.Object, "spec", "caBundle"); have == want { //nolint:errcheck // another type is another value
		return nil
	}
	patch := fmt.Appendf(nil, `{"spec":{"caBundle":%q,"insecureSkipTLSVerify":false}}`, want)
	if err := k.Client.Patch(ctx, o, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		return fmt.Errorf("tell the APIService of the certificate: %w", err)
	}
	k.Log.Info("the API server expects the certificate", "apiService", k.APIService)
	return nil
}
