package operator_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
)

// TestServerInNeed has a server that says 429, or that is not there: pools say
// so and end all the same.
func TestServerInNeed(t *testing.T) {
	cluster.Need(t)
	t.Parallel()
	for reason, far := range map[string]http.HandlerFunc{
		"RateLimited": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"message":"too many requests"}`)
		},
		"Unreachable": nil,
	} {
		t.Run(reason, func(t *testing.T) {
			w := &town{ns: cluster.Namespace(t), dir: t.TempDir()}
			s := httptest.NewServer(far)
			defer s.Close()
			w.far = s.Listener.Addr().String()
			if far == nil {
				s.Close()
			}
			ctx := t.Context()
			must(t, cluster.Client.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "main-operator-token", Namespace: w.ns}, StringData: map[string]string{"token": "abcdefghij-abcdefghijabcdefghijab"}}))
			must(t, cluster.Client.Create(ctx, &v1alpha1.CoderControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: w.ns}}))
			w.operate(t)
			p := w.pool(t, "patient", nil)
			w.become(t, "patient", condition(v1alpha1.ConditionControlPlaneReady, reason))
			must(t, cluster.Client.Delete(ctx, p))
			w.gone(t, p)
		})
	}
}

// TestTwoOperators has two of them: one leads, and when it ends the other does.
func TestTwoOperators(t *testing.T) {
	w := newTown(t, quiet)
	w.leader = "coder-operator" // where the operator's account can elect one
	first := w.run(t, cluster.Operator(), w.http(), 18*time.Second)
	holder := func(ctx context.Context) string {
		l := &coordinationv1.Lease{}
		if cluster.Client.Get(ctx, client.ObjectKey{Namespace: w.leader, Name: "coder-k8s-controller.coder.com"}, l) != nil || l.Spec.HolderIdentity == nil {
			return ""
		}
		return *l.Spec.HolderIdentity
	}
	kubetest.Until(t, wait, func(ctx context.Context) string {
		if holder(ctx) == "" {
			return "nobody leads"
		}
		return ""
	})
	led := holder(t.Context())
	w.run(t, cluster.Operator(), w.http(), 18*time.Second)
	w.controlPlane(t)
	w.pool(t, "one", nil)
	w.become(t, "one", ready)
	if now := holder(t.Context()); now != led {
		t.Errorf("%s led, now %s does", led, now)
	}
	first()
	w.pool(t, "two", nil)
	w.become(t, "two", ready)
	if now := holder(t.Context()); now == led || now == "" {
		t.Errorf("%q leads after the first has ended", now)
	}
	if keys := w.keys(t); len(keys) != 2 {
		t.Errorf("two pools have the keys %+v", keys)
	}
}

// TestNotConnected has pods whose provisioners do not connect: it is said, with
// what to do, and the pool is not ready; when they do, it is.
func TestNotConnected(t *testing.T) {
	w := newTown(t)
	w.controlPlane(t)
	w.mute.Store(true)
	w.pool(t, "lonely", nil)
	p := w.become(t, "lonely", condition(v1alpha1.ConditionProvisionersConnected, "NotConnected"))
	c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionProvisionersConnected)
	for _, want := range []string{p.Status.ControlPlaneURL, "kubectl logs -n " + w.ns + " provisioner-lonely-", "NetworkPolicy"} {
		if !strings.Contains(c.Message, want) {
			t.Errorf("the message lacks %q: %s", want, c.Message)
		}
	}
	if p.Status.Phase != v1alpha1.PhasePending || !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionDeploymentReady) {
		t.Errorf("the status is %+v", p.Status)
	}
	w.events(t, "lonely", "NotConnected")
	w.mute.Store(false)
	w.change(t, "lonely", func(p *v1alpha1.CoderProvisioner) { p.Spec.Image = "registry.example.com/other" })
	w.become(t, "lonely", condition(v1alpha1.ConditionProvisionersConnected, "Connected"))
	w.become(t, "lonely", ready)
}
