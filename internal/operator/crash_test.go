package operator_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
)

// fuse lets a number of changes of the cluster and of the server through. The next
// one is made, but its response and all later requests are lost, as if the process
// was killed at that moment.
type fuse struct {
	left atomic.Int64
	dead chan struct{}
	stop func()
}

// never is how many changes an operator never makes.
const never = 1 << 40

var errKilled = errors.New("the process was killed")

// spare reports whether it was in time.
func (f *fuse) spare() bool {
	for {
		left := f.left.Load()
		if left < 0 || f.left.CompareAndSwap(left, never) {
			return left >= 0
		}
	}
}

type fused struct {
	*fuse
	next http.RoundTripper
}

func (f fused) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/events") {
		if f.left.Load() < 0 {
			return nil, errKilled
		}
		return f.next.RoundTrip(r)
	}
	left := f.left.Add(-1)
	if left < -1 {
		return nil, errKilled
	}
	resp, err := f.next.RoundTrip(r)
	if left == -1 {
		close(f.dead)
		if err == nil {
			resp.Body.Close()
		}
		return nil, errKilled
	}
	return resp, err
}

// killable runs an operator that can be killed.
func (w *town) killable(t *testing.T) *fuse {
	t.Helper()
	f := &fuse{dead: make(chan struct{})}
	f.left.Store(never)
	config := cluster.Operator()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return fused{f, next} })
	f.stop = w.run(t, config, &http.Client{Transport: fused{f, w.http().Transport}}, 18*time.Second)
	return f
}

// TestKilledAnywhere kills the operator after its first change, after its
// second, and so on through the making of a pool and the change of its tags.
// Whatever it was about, the next operator ends with one key, which works.
func TestKilledAnywhere(t *testing.T) {
	w := newTown(t, quiet)
	w.mayEnd = true
	f := w.killable(t)
	w.controlPlane(t)
	killed := true
	for n := int64(0); killed; n++ {
		killed = false
		name := fmt.Sprintf("pool-%d", n)
		for _, change := range []func(){
			func() {
				w.pool(t, name, func(s *v1alpha1.CoderProvisionerSpec) { s.Tags = map[string]string{"zone": "a"} })
			},
			func() {
				w.change(t, name, func(p *v1alpha1.CoderProvisioner) { p.Spec.Tags = map[string]string{"zone": "b"} })
			},
		} {
			f.left.Store(n)
			change()
			if w.killed(t, f, name) {
				f.stop()
				f, killed = w.killable(t), true
			}
			w.onlyKey(t, name)
		}
	}
}

// killed waits until an operator is killed, or until all is as it should be;
// then it is spared.
func (w *town) killed(t *testing.T, f *fuse, name string) bool {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(wait); time.Now().Before(deadline); {
		select {
		case <-f.dead:
			return true
		case <-tick.C:
			if w.settledOne(t.Context(), name) == "" && f.spare() {
				return false
			}
		}
	}
	t.Fatalf("killed after %d more changes or not at all, %s: %s", f.left.Load(), name, w.settledOne(t.Context(), name))
	return false
}

// settledOne states what a pool lacks: it is ready, its key, with the tags, is the
// only one of its name, and is in its Secret.
func (w *town) settledOne(ctx context.Context, name string) string {
	p, s := &v1alpha1.CoderProvisioner{}, &corev1.Secret{}
	if err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: name}, p); err != nil {
		return err.Error()
	}
	if err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: name + "-provisioner-key"}, s); err != nil {
		return err.Error()
	}
	keys, err := w.Client.ProvisionerKeys(ctx, "default")
	if err != nil {
		return err.Error()
	}
	keys = slices.DeleteFunc(keys, func(k codersdk.ProvisionerKey) bool { return k.Name != name })
	if len(keys) != 1 || keys[0].ID.String() != p.Status.ProvisionerKeyID || keys[0].ID.String() != s.Annotations["coder.com/provisioner-key-id"] || !maps.Equal(keys[0].Tags, p.Spec.Tags) {
		return fmt.Sprintf("keys %+v, status %s, Secret %v", keys, p.Status.ProvisionerKeyID, s.Annotations)
	}
	return ready(p)
}

func (w *town) onlyKey(t *testing.T, name string) {
	t.Helper()
	kubetest.Until(t, wait, func(ctx context.Context) string { return w.settledOne(ctx, name) })
}

// events waits until a resource has an event of each reason.
func (w *town) events(t *testing.T, name string, reasons ...string) {
	t.Helper()
	kubetest.Until(t, wait, func(ctx context.Context) string {
		var all eventsv1.EventList
		if err := cluster.Client.List(ctx, &all, client.InNamespace(w.ns)); err != nil {
			return err.Error()
		}
		have := map[string]bool{}
		for _, e := range all.Items {
			if e.Regarding.Name == name {
				have[e.Reason] = true
			}
		}
		for _, r := range reasons {
			if !have[r] {
				return fmt.Sprintf("%s has no event %s, only %v", name, r, have)
			}
		}
		return ""
	})
}

// TestSecretLost: a key cannot be read again, so a lost Secret means a new one,
// under the old name; the old key ends when no pod has it. The same is so of a
// key that a user deletes at the server, and a Secret that a user edits is
// put right, with an event.
func TestSecretLost(t *testing.T) {
	w := newTown(t)
	w.controlPlane(t)
	w.pool(t, "pool", nil)
	first := w.become(t, "pool", ready).Status.ProvisionerKeyID
	secret := &corev1.Secret{}
	w.get(t, "pool-provisioner-key", secret)
	value := string(secret.Data["key"])

	secret.Labels, secret.Annotations = nil, nil
	must(t, cluster.Client.Update(t.Context(), secret))
	kubetest.Until(t, wait, func(ctx context.Context) string {
		must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret))
		if secret.Labels["app.kubernetes.io/managed-by"] != "coder-operator" || secret.Annotations["coder.com/provisioner-key-id"] == "" {
			return fmt.Sprintf("the Secret should be put right: %v %v", secret.Labels, secret.Annotations)
		}
		return ""
	})
	w.become(t, "pool", ready)

	must(t, cluster.Client.Delete(t.Context(), secret))
	kubetest.Until(t, wait, func(ctx context.Context) string {
		s := &corev1.Secret{}
		if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(secret), s); err != nil {
			return err.Error()
		}
		if string(s.Data["key"]) == value {
			return "the Secret has the old key"
		}
		return ""
	})
	w.onlyKey(t, "pool")
	second := w.become(t, "pool", ready).Status.ProvisionerKeyID
	if second == first {
		t.Error("the key should be another")
	}

	must(t, w.Client.DeleteProvisionerKey(t.Context(), "default", "pool"))
	w.become(t, "pool", func(p *v1alpha1.CoderProvisioner) string {
		if p.Status.ProvisionerKeyID == second {
			return "the key that was deleted at the server should be created again"
		}
		return ready(p)
	})
	w.onlyKey(t, "pool")
	w.events(t, "pool", "KeyCreated", "KeyRotated", "KeyDeleted")

}

// TestTokenLost has the operator's own token deleted, and changed by a user:
// the server is started with the new one, and pools go on.
func TestTokenLost(t *testing.T) {
	w := newTown(t)
	w.controlPlane(t)
	w.pool(t, "pool", nil)
	w.become(t, "pool", ready)
	secret := &corev1.Secret{}
	for i, change := range []func(){
		func() { must(t, cluster.Client.Delete(t.Context(), secret)) },
		func() {
			secret.Data["token"] = []byte("abcdefghij-abcdefghijabcdefghijab")
			must(t, cluster.Client.Update(t.Context(), secret))
		},
	} {
		w.get(t, "main-operator-token", secret)
		before := secret.DeepCopy()
		change()
		kubetest.Until(t, wait, func(ctx context.Context) string {
			now := &corev1.Secret{}
			if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(secret), now); err != nil {
				return err.Error()
			}
			if now.UID == before.UID && string(now.Data["token"]) == string(before.Data["token"]) {
				return "the Secret is the old one"
			}
			return ""
		})
		// A key is made by it.
		tags := map[string]string{"turn": fmt.Sprint(i)}
		w.change(t, "pool", func(p *v1alpha1.CoderProvisioner) { p.Spec.Tags = tags })
		w.become(t, "pool", hasTags(tags))
		w.onlyKey(t, "pool")
	}
}

// TestImage has an image that cannot be fetched, of a pool and of a server: each
// says so, in words to act on, and goes on when it can be.
func TestImage(t *testing.T) {
	w := newTown(t)
	w.controlPlane(t)
	w.pool(t, "pool", func(s *v1alpha1.CoderProvisionerSpec) { s.Image = kubetest.Broken })
	p := w.become(t, "pool", condition(v1alpha1.ConditionDeploymentReady, "ImagePullBackOff"))
	for _, c := range p.Status.Conditions {
		if c.Type == v1alpha1.ConditionDeploymentReady && !strings.Contains(c.Message, "imagePullSecrets") {
			t.Errorf("what to do is not said: %s", c.Message)
		}
	}
	w.events(t, "pool", "ImagePullBackOff")
	w.change(t, "pool", func(p *v1alpha1.CoderProvisioner) { p.Spec.Image = "registry.example.com/good" })
	w.become(t, "pool", ready)
	second := &v1alpha1.CoderControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "second", Namespace: w.ns}}
	second.Spec.Image = kubetest.Broken
	must(t, cluster.Client.Create(t.Context(), second))
	w.events(t, "second", "ImagePullBackOff")
}

// TestStuckRollout changes the image of each kind to one that cannot be pulled:
// the old pods go on, and the condition Ready reports why the new ones do not.
func TestStuckRollout(t *testing.T) {
	w := newTown(t)
	cp := w.controlPlane(t)
	w.state(t, cp, v1alpha1.ConditionReady, "Ready")
	w.pool(t, "pool", nil)
	pool := w.become(t, "pool", ready)
	proxy := w.proxyWithToken(t, "sydney", v1alpha1.ContainerOptions{})
	w.state(t, proxy, v1alpha1.ConditionReady, "Ready")
	for _, c := range []struct {
		object client.Object
		image  *string
		phase  string // while the new pods do not start
	}{
		{pool, &pool.Spec.Image, v1alpha1.PhasePending},
		{proxy, &proxy.Spec.Image, v1alpha1.PhaseReady},
		{cp, &cp.Spec.Image, v1alpha1.PhaseReady},
	} {
		set := func(image string) {
			t.Helper()
			kubetest.Until(t, wait, func(ctx context.Context) string {
				must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(c.object), c.object))
				*c.image = image
				if err := cluster.Client.Update(ctx, c.object); err != nil {
					return err.Error()
				}
				return ""
			})
		}
		set(kubetest.Broken)
		generation, observed, phase := w.state(t, c.object, v1alpha1.ConditionReady, "ImagePullBackOff")
		if observed != generation || phase != c.phase {
			t.Errorf("%s: of the generation %d, %d is observed, and the phase is %s", c.object.GetName(), generation, observed, phase)
		}
		w.events(t, c.object.GetName(), "ImagePullBackOff")
		set("registry.example.com/good")
		w.state(t, c.object, v1alpha1.ConditionReady, "Ready")
	}
}

// TestServerComesBack has a server that says 429 for a while, and one that is
// not there for a while: pools go on as soon as it answers.
func TestServerComesBack(t *testing.T) {
	w := newTown(t, quiet)
	var bad atomic.Int64 // a status, or 1 for no answer at all
	g := newGate(t, w.AccessURL().String(), nil)
	far := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch n := bad.Load(); n {
		case 0:
			g.Config.Handler.ServeHTTP(rw, r)
		case 1:
			panic(http.ErrAbortHandler)
		default:
			rw.WriteHeader(int(n))
			fmt.Fprint(rw, `{"message":"too many requests"}`)
		}
	}))
	t.Cleanup(far.CloseClientConnections)
	w.far = far.Listener.Addr().String()
	w.operate(t)
	w.controlPlane(t)
	w.pool(t, "there", nil)
	w.become(t, "there", ready)
	for reason, n := range map[string]int64{"RateLimited": http.StatusTooManyRequests, "Unreachable": 1} {
		bad.Store(n)
		far.CloseClientConnections()
		name := strings.ToLower(reason)
		w.pool(t, name, func(s *v1alpha1.CoderProvisionerSpec) { s.OrganizationName = "default" })
		w.change(t, "there", func(p *v1alpha1.CoderProvisioner) { p.Spec.Tags = map[string]string{"reason": name} })
		w.become(t, "there", condition(v1alpha1.ConditionControlPlaneReady, reason))
		w.become(t, name, condition(v1alpha1.ConditionControlPlaneReady, reason))
		bad.Store(0)
		w.become(t, name, ready)
		w.become(t, "there", ready)
	}
	w.events(t, "there", "RateLimited", "Unreachable", "Ready")

	// A server that answers again, and refuses the token, is no longer unreachable.
	bad.Store(1)
	far.CloseClientConnections()
	w.change(t, "there", func(p *v1alpha1.CoderProvisioner) { p.Spec.Tags = map[string]string{"reason": "both"} })
	w.become(t, "there", condition(v1alpha1.ConditionReady, "Unreachable"))
	bad.Store(http.StatusUnauthorized)
	p := w.become(t, "there", condition(v1alpha1.ConditionReady, "TokenRefused"))
	if !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionControlPlaneReady) {
		t.Errorf("the server answers, and yet: %+v", p.Status.Conditions)
	}
	bad.Store(0)
	w.become(t, "there", ready)
}
