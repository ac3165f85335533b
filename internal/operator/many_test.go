package operator_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
)

// counter counts requests that are no watches.
type counter struct {
	n    atomic.Int64
	next http.RoundTripper
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.Contains(r.URL.RawQuery, "watch=true") && !strings.Contains(r.URL.Path, "/leases/") {
		c.n.Add(1)
	}
	return c.next.RoundTrip(r)
}

// manyPools is how many TestMany makes.
var manyPools = flag.Int("pools", 40, "how many pools TestMany makes")

// TestMany settles many pools, and counts what they cost once they rest.
func TestMany(t *testing.T) {
	pools := *manyPools
	w := newTown(t, quiet)
	kube := &counter{}
	config := rest.CopyConfig(cluster.Operator())
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		kube.next = next
		return kube
	})
	far := &counter{next: w.http().Transport}
	w.run(t, config, &http.Client{Transport: far}, 30*time.Minute)
	w.controlPlane(t)
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var group sync.WaitGroup
	for part := range 4 {
		group.Go(func() {
			for i := part; i < pools; i += 4 {
				p := &v1alpha1.CoderProvisioner{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pool-%03d", i), Namespace: w.ns}}
				p.Spec.ControlPlaneRef.Name, p.Spec.Replicas = "main", new(int32(0))
				if err := cluster.Client.Create(context.WithoutCancel(t.Context()), p); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	begun := time.Now()
	kubetest.Until(t, 5*time.Minute, func(ctx context.Context) string {
		var all v1alpha1.CoderProvisionerList
		if err := cluster.Client.List(ctx, &all, client.InNamespace(w.ns)); err != nil {
			return err.Error()
		}
		n := 0
		for i := range all.Items {
			if ready(&all.Items[i]) == "" {
				n++
			}
		}
		if n < pools {
			return fmt.Sprintf("%d of %d are ready", n, pools)
		}
		return ""
	})
	t.Logf("settled after %s with %d calls of the cluster and %d of the server", time.Since(begun).Round(time.Second), kube.n.Load(), far.n.Load())
	// At rest nothing is asked of anybody, for as long as somebody who loops
	// would need to ask a hundred times.
	quietly := func() int64 { return kube.n.Load() + far.n.Load() }
	kubetest.Until(t, time.Minute, func(ctx context.Context) string {
		n := quietly()
		select {
		case <-ctx.Done():
		case <-time.After(3 * time.Second):
		}
		if now := quietly(); now != n {
			return fmt.Sprintf("%d calls within three seconds", now-n)
		}
		return ""
	})
	var after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&after)
	t.Logf("at rest: no calls; the heap grew by %d MB, server and node in it", (int64(after.HeapAlloc)-int64(before.HeapAlloc))>>20)
}
