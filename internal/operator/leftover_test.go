package operator_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
)

// TestNoKeyLeft renames the key of a pool and deletes its Secret, one right after
// the other and in both orders, then deletes the pool, while the operator is
// killed after its first change, after its second, and so on. No key is left at
// the server.
func TestNoKeyLeft(t *testing.T) {
	for order, first := range map[string]bool{"renamed": true, "lost": false} {
		t.Run(order, func(t *testing.T) {
			w := newTown(t, quiet)
			w.mayEnd = true
			f := w.killable(t)
			w.controlPlane(t)
			killed := true
			for n := int64(0); killed; n++ {
				name := fmt.Sprintf("pool-%d", n)
				p := w.pool(t, name, nil)
				w.become(t, name, ready)
				rename := func(to string) {
					w.change(t, name, func(p *v1alpha1.CoderProvisioner) { p.Spec.Key.Name = to })
				}
				lose := func() {
					must(t, client.IgnoreNotFound(cluster.Client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name + "-provisioner-key", Namespace: w.ns}})))
				}
				f.left.Store(n)
				if first {
					rename(name + "-b")
					lose()
				} else {
					lose()
					rename(name + "-b")
				}
				again := func() { f = w.afterKill(t, f, &killed) }
				killed = false
				settled := func(ctx context.Context) string {
					if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
						return err.Error()
					}
					if p.Status.ProvisionerKeyName != p.Spec.Key.Name {
						return "the key has its old name"
					}
					return ready(p)
				}
				w.untilKilled(t, f, settled, again)
				// Back and forth, before the old keys are gone.
				f.left.Store(n)
				rename(name)
				lose()
				rename(name + "-c")
				w.untilKilled(t, f, settled, again)
				f.left.Store(n)
				must(t, cluster.Client.Delete(t.Context(), p))
				w.untilKilled(t, f, func(ctx context.Context) string {
					if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(p), p); err == nil {
						return "the pool is there"
					}
					return ""
				}, again)
				if keys := w.keys(t); len(keys) != 0 {
					t.Fatalf("killed after %d changes, keys are left: %+v", n, keys)
				}
			}
		})
	}
}

// afterKill runs another operator in place of one that was killed.
func (w *town) afterKill(t *testing.T, f *fuse, killed *bool) *fuse {
	t.Helper()
	f.stop()
	*killed = true
	return w.killable(t)
}

// untilKilled waits until check returns "" and the operator is spared, or runs
// another one after it was killed.
func (w *town) untilKilled(t *testing.T, f *fuse, check func(context.Context) string, again func()) {
	t.Helper()
	dead := f.dead
	kubetest.Until(t, wait, func(ctx context.Context) string {
		select {
		case <-dead:
			again()
			dead = nil // the next operator is not killed
		default:
		}
		if s := check(ctx); s != "" {
			return s
		}
		if dead != nil && !f.spare() {
			return "the operator is being killed"
		}
		return ""
	})
}
