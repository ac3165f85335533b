package operator_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
)

// counter counts requests that are no watches.
type counter struct {
	n    atomic.Int64
	next http.RoundTripper
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.Contains(r.URL.RawQuery, "watch=true") && !strings.Contains(r.URL.Path, "/leases/") && r.Header.Get("Upgrade") == "" {
		c.n.Add(1)
	}
	return c.next.RoundTrip(r)
}

// client returns an HTTP client that counts.
func (c *counter) client() *http.Client { return &http.Client{Transport: c} }

// counted returns what counts the requests of an operator to the cluster, by the
// configuration, and to the server.
func (w *town) counted() (kube *counter, config *rest.Config, far *counter) {
	kube, config = &counter{}, cluster.Operator()
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		kube.next = next
		return kube
	})
	return kube, config, &counter{next: w.http().Transport}
}

// TestMany settles many pools, and counts what they cost once they rest; make
// bench-operator does so with five hundred.
func TestMany(t *testing.T) {
	const pools = 40
	w := newTown(t, quiet)
	kube, config, far := w.counted()
	w.run(t, config, far.client(), 30*time.Minute)
	w.controlPlane(t)
	each(t, pools, func(i int) error {
		p := &v1alpha1.CoderProvisioner{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pool-%03d", i), Namespace: w.ns}}
		p.Spec.ControlPlaneRef.Name, p.Spec.Replicas = "main", new(int32(0))
		return cluster.Client.Create(t.Context(), p)
	})
	w.settled(t, w.cached(t), pools, 2*time.Minute)
	t.Logf("settled with %d calls of the cluster and %d of the server", kube.n.Load(), far.n.Load())
	// At rest it sends no request, for as long as a loop
	// would need to ask a hundred times.
	quietly := func() int64 { return kube.n.Load() + far.n.Load() }
	kubetest.Until(t, time.Minute, func(context.Context) string {
		n := quietly()
		pause(t, 3*time.Second)
		if now := quietly(); now != n {
			return fmt.Sprintf("%d calls within three seconds", now-n)
		}
		return ""
	})
}
