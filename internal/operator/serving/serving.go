// Package serving maintains the certificate of a server in the cluster: of the
// aggregated API server, whose APIService it makes trust the certificate, or of
// the MCP server. So no other program is needed for it.
//
// The certificate is self-signed and its own authority: no key exists that
// could sign another one. Long before it expires, the next one is created
// beside it. The APIService trusts both for an hour before the next one is
// served, so the served certificate is always trusted, in whatever order
// replicas and API servers notice the change. All replicas share one Secret;
// its resource version prevents concurrent changes.
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

// Intervals of checks of the Secret: short after a failure, long otherwise.
const (
	seldom = 10 * time.Minute
	soon   = 5 * time.Second
)

// Config describes the certificate.
type Config struct {
	// Client reads and writes past any cache.
	Client client.Client
	Log    *slog.Logger
	// Namespace and Service are the address of the server.
	// Secret, in the same namespace, stores the certificate.
	Namespace, Service, Secret string
	// APIService is the registration that trusts the certificate; "" means that
	// clients read the Secret.
	APIService string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Keeper maintains a certificate. It implements
// dynamiccertificates.CertKeyContentProvider, notifies its listeners of
// changes, and is safe for concurrent use.
type Keeper struct {
	Config

	mu        sync.Mutex
	shown     pair
	listeners []dynamiccertificates.Listener
}

// New returns a keeper; RunOnce loads its first certificate.
func New(c Config) *Keeper {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Keeper{Config: c}
}

// Name returns the name of the certificate in logs.
func (k *Keeper) Name() string { return "secret/" + k.Namespace + "/" + k.Secret }

// CurrentCertKeyContent returns the served certificate and its key as PEM.
func (k *Keeper) CurrentCertKeyContent() ([]byte, []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.shown.certificate, k.shown.key
}

// AddListener notifies l of every change.
func (k *Keeper) AddListener(l dynamiccertificates.Listener) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.listeners = append(k.listeners, l)
}

// Run maintains the certificate until ctx ends.
func (k *Keeper) Run(ctx context.Context, _ int) {
	for {
		wait := seldom
		if err := k.RunOnce(ctx); err != nil && ctx.Err() == nil {
			wait = soon
			k.Log.Warn("maintaining the serving certificate failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// RunOnce reads the Secret, takes the step that is due, and updates the trusted CA
// of the APIService. After an error the current certificate stays in use.
func (k *Keeper) RunOnce(ctx context.Context) error {
	now, err := k.state(ctx)
	if err != nil {
		return err
	}
	if k.APIService != "" {
		if err := k.expect(ctx, now.bundle()); err != nil {
			return err
		}
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

// state returns the content of the Secret after the step that is due.
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
		return k.state(ctx) // another replica was first; use its certificate
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
